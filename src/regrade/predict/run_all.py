"""Many models on many test sets, one pair after another; a model that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path

from regrade.core import ExecutorError, ImageSourceError, RegradeError, StoreError, TestSet
from regrade.executors import RayCluster
from regrade.models import load_model
from regrade.models.interrupts import noticing_control_c
from regrade.predict.cluster import NamedModel, predict_on
from regrade.predict.engine import EngineOptions
from regrade.predict.result import Failure, ModelRun, Run
from regrade.predict.run import ProgressCallback, predict, unwatched
from regrade.store import Store


def predict_all(
    store: Store,
    models: Sequence[NamedModel],
    test_sets: Sequence[TestSet],
    how: EngineOptions,
    *,
    cluster: RayCluster | None = None,
    watch: ProgressCallback = unwatched,
) -> Run:
    """Every model on every test set, here or on a cluster.

    What is wrong with a model is told at the end, and so are test sets whose images are gone, which other models then
    pass over; a disk that refuses or a cluster that is gone ends the run.
    """
    store = Store(store.root.absolute(), store.config)  # a model may change the working folder
    pairs: list[ModelRun] = []
    failures: list[Failure] = []
    without_images: dict[str, Failure] = {}
    for model in models:
        try:
            with noticing_control_c(), chdir(Path.cwd()):
                one = _here(store, model, how, watch) if cluster is None else _there(cluster, store, model, how, watch)
                for test_set in test_sets:
                    if test_set.name in without_images:
                        continue
                    with _noting(without_images, model, test_set, alone=len(models) == len(test_sets) == 1):
                        pairs.append(one(test_set))
        except (StoreError, ExecutorError):
            raise
        except RegradeError as error:
            if len(models) == 1:
                raise
            failures.append(Failure(model.name, str(error)))
    return Run(tuple(pairs), (*failures, *without_images.values()))


@contextmanager
def _noting(without_images: dict[str, Failure], model: NamedModel, test_set: TestSet, *, alone: bool) -> Iterator[None]:
    """Around one pair: note a test set whose images are gone, unless there is nothing else to go on with."""
    try:
        yield
    except ImageSourceError as error:
        if alone:
            raise
        without_images[test_set.name] = Failure(model.name, str(error))


def _here(
    store: Store, model: NamedModel, how: EngineOptions, watch: ProgressCallback
) -> Callable[[TestSet], ModelRun]:
    loaded = load_model(model.name, model.settings)
    return lambda test_set: predict(store, loaded, test_set, how, watch=watch)


def _there(
    cluster: RayCluster, store: Store, model: NamedModel, how: EngineOptions, watch: ProgressCallback
) -> Callable[[TestSet], ModelRun]:
    return lambda test_set: predict_on(cluster, model, store, test_set, how, watch=watch)
