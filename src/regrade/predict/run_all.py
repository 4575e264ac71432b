"""Run many models on many test sets, one after another or together; a model that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from regrade.core import ExecutorError, ImageSourceError, InputError, ModelError, RegradeError, StoreError, TestSet
from regrade.executors import RayCluster
from regrade.models import Device, Model, load_model
from regrade.models.failures import is_shortage, tracking_control_c
from regrade.predict.cluster import NamedModel, predict_on
from regrade.predict.engine import EngineOptions
from regrade.predict.job import ProgressCallback
from regrade.predict.outputs import ALONE
from regrade.predict.result import Failure, ModelRun, Run
from regrade.predict.run import no_progress, predict
from regrade.predict.together import predict_together, recording
from regrade.predict.warm_up import warmed_up
from regrade.store import Store


def predict_all(
    store: Store,
    models: Sequence[NamedModel],
    test_sets: Sequence[TestSet],
    options: EngineOptions,
    *,
    cluster: RayCluster | None = None,
    together: bool = False,
    progress: ProgressCallback = no_progress,
) -> Run:
    """Run every model on every test set, in this process or on a cluster.

    Models that run ``together`` are in memory at once, and each image is decoded once for all of them. Models that fail
    are reported at the end, and so are test sets whose images are missing, which the remaining models skip. Errors of
    the store or of the cluster end the run.
    """
    if together and cluster is not None:
        raise InputError("--together is for models on this machine: leave it out with --on ray")
    store = Store(store.root.absolute(), store.config)  # a model may change the working directory
    on_gpu = cluster is None and any(model.settings.device is Device.CUDA for model in models)
    with warmed_up(options, sum(map(len, test_sets))) if on_gpu else nullcontext():
        if together and len(models) > 1:
            return _all_together(store, models, test_sets, options, progress)
        return _every_pair(store, models, test_sets, options, cluster=cluster, progress=progress)


def _every_pair(
    store: Store,
    models: Sequence[NamedModel],
    test_sets: Sequence[TestSet],
    options: EngineOptions,
    *,
    cluster: RayCluster | None,
    progress: ProgressCallback,
) -> Run:
    pairs: list[ModelRun] = []
    failures: list[Failure] = []
    without_images: dict[str, Failure] = {}
    for model in models:
        try:
            with tracking_control_c(), chdir(Path.cwd()):
                if cluster is None:
                    run = _locally(store, model, options, progress)
                else:
                    run = _on_cluster(cluster, store, model, options, progress)
                for test_set in test_sets:
                    if test_set.name in without_images:
                        continue
                    only_pair = len(models) == len(test_sets) == 1
                    with _recording_missing_images(without_images, model, test_set, only_pair=only_pair):
                        pairs.append(run(test_set))
        except (StoreError, ExecutorError):
            raise
        except RegradeError as error:
            if len(models) == 1:
                raise
            failures.append(Failure(model.name, str(error)))
    return Run(tuple(pairs), (*failures, *without_images.values()))


def _all_together(
    store: Store,
    models: Sequence[NamedModel],
    test_sets: Sequence[TestSet],
    options: EngineOptions,
    progress: ProgressCallback,
) -> Run:
    """All models on one test set after another."""
    pairs: list[ModelRun] = []
    failures: list[Failure] = []
    without_images: dict[str, Failure] = {}
    loaded: list[Model] = []
    with tracking_control_c():
        for model in models:
            with recording(failures, model.name), chdir(Path.cwd()):
                loaded.append(_loaded_with_others(model))
        for test_set in test_sets:
            with _recording_missing_images(without_images, models[0], test_set, only_pair=False), chdir(Path.cwd()):
                run = predict_together(store, loaded, test_set, options, progress=progress)
                pairs += run.pairs
                failures += run.failures
                successful = {pair.model for pair in run.pairs}
                loaded = [model for model in loaded if model.spec.name in successful]
            if test_set.name in without_images:
                stored = store.predictions.model_names(test_set.name)
                as_stored = replace(options, retry_unreadable=False)
                pairs += [predict(store, model, test_set, as_stored) for model in loaded if model.spec.name in stored]
    order = {model: number for number, model in enumerate(dict.fromkeys(pair.model for pair in pairs))}
    pairs.sort(key=lambda pair: order[pair.model])
    return Run(tuple(pairs), (*failures, *without_images.values()))


def _loaded_with_others(model: NamedModel) -> Model:
    """A model while others are in memory, too."""
    try:
        return load_model(model.name, model.settings)
    except RegradeError as error:
        if isinstance(error.__cause__, Exception) and is_shortage(error.__cause__):
            raise ModelError(f"{error}; {ALONE}") from error
        raise


@contextmanager
def _recording_missing_images(
    without_images: dict[str, Failure], model: NamedModel, test_set: TestSet, *, only_pair: bool
) -> Iterator[None]:
    """Around one pair: record a test set whose images are missing, or raise if there is no other pair."""
    try:
        yield
    except ImageSourceError as error:
        if only_pair:
            raise
        without_images[test_set.name] = Failure(model.name, str(error))


def _locally(
    store: Store, model: NamedModel, options: EngineOptions, progress: ProgressCallback
) -> Callable[[TestSet], ModelRun]:
    loaded = load_model(model.name, model.settings)
    return lambda test_set: predict(store, loaded, test_set, options, progress=progress)


def _on_cluster(
    cluster: RayCluster, store: Store, model: NamedModel, options: EngineOptions, progress: ProgressCallback
) -> Callable[[TestSet], ModelRun]:
    return lambda test_set: predict_on(cluster, model, store, test_set, options, progress=progress)
