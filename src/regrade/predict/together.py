"""Run several models on one test set in one pass: each image is read and decoded once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace

from regrade.core import ExecutorError, ImageSourceError, RegradeError, StoreError, TestSet
from regrade.core.amounts import amount
from regrade.models import Model
from regrade.predict.engine import Engine, EngineOptions, PredictionInput, Share
from regrade.predict.job import BegunJob, Job, ProgressCallback
from regrade.predict.predictor import LocalPredictor
from regrade.predict.prepare import check_source_exists
from regrade.predict.result import Failure, ModelRun, Run
from regrade.predict.run import check_options, no_progress, predict
from regrade.predict.stored_pair import stored_pair
from regrade.store import Store
from regrade.testsets import open_images


@dataclass(frozen=True)
class _Member:
    """A model of the pass."""

    engine: Engine
    run: BegunJob


def predict_together(
    store: Store,
    models: Sequence[Model],
    test_set: TestSet,
    options: EngineOptions,
    *,
    progress: ProgressCallback = no_progress,
) -> Run:
    """As `predict` for each model; those whose predictions are not stored yet share one pass through the images.

    A model that fails leaves the pass and is reported in the result; what concerns all models is raised.
    """
    pairs: list[ModelRun] = []
    failures: list[Failure] = []
    members: list[_Member] = []
    stored = store.predictions.model_names(test_set.name)
    by_name = {model.spec.name: model for model in models}
    shared = replace(options, models=sum(name not in stored for name in by_name))
    with ExitStack() as locks:
        for name, model in by_name.items():
            with recording(failures, name):
                if name in stored:
                    pairs.append(predict(store, model, test_set, options, progress=progress))
                    continue
                member = _begun(store, model, test_set, shared, locks)
                if isinstance(member, ModelRun):
                    pairs.append(member)
                else:
                    members.append(member)
        passes = _compute(members, test_set, failures, progress)
        for run in (member.run for member in members if member.run.complete):
            seconds, together = passes.get(run.job.name, (0.0, 1))
            pairs.append(replace(run.stored(), seconds=seconds, together=together))
            run.partial.remove()
    pairs.sort(key=lambda pair: list(by_name).index(pair.model))
    return Run(tuple(pairs), tuple(failures))


@contextmanager
def recording(failures: list[Failure], model: str) -> Iterator[None]:
    """Around work for one model: record its error; what concerns all models is raised."""
    try:
        yield
    except (StoreError, ExecutorError, ImageSourceError):
        raise
    except RegradeError as error:
        failures.append(Failure(model, str(error)))


def _begun(
    store: Store, model: Model, test_set: TestSet, options: EngineOptions, locks: ExitStack
) -> _Member | ModelRun:
    """A model that takes part in the pass, or its predictions if another process has just stored them."""
    check_options(store, model.metadata, options)
    source = store.images.read(test_set)
    check_source_exists(source)
    predictor = LocalPredictor(model, test_set.ids, source, options)
    job = Job(store, predictor, test_set, source, options)
    partial = job.partial()
    locks.enter_context(partial.locked())
    pair = stored_pair(store, model.metadata, test_set, options)
    if pair is not None:
        partial.remove()
        return pair
    return _Member(predictor.engine, job.begun(partial))


def _compute(
    members: Sequence[_Member], test_set: TestSet, failures: list[Failure], progress: ProgressCallback
) -> dict[str, tuple[float, int]]:
    """Compute and keep the parts that the models lack, in one pass for each kind of engine.

    Returns the seconds that the pass of each model took, and the number of models in it.
    """
    passes: dict[str, tuple[float, int]] = {}
    with ExitStack() as writers:
        for member in members:
            writers.enter_context(member.run)
        for kind in dict.fromkeys(type(member.engine) for member in members):
            lacking = [member for member in members if type(member.engine) is kind and member.run.missing]
            if lacking:
                started, names = time.perf_counter(), [member.run.job.name for member in lacking]
                with recording(failures, ", ".join(names)):
                    _run_pass(lacking, test_set, failures, progress)
                passes |= dict.fromkeys(names, (time.perf_counter() - started, len(names)))
    return passes


def _run_pass(
    members: Sequence[_Member], test_set: TestSet, failures: list[Failure], progress: ProgressCallback
) -> None:
    engine, first = members[0].engine, members[0].run.job
    images = sum(map(len, {positions for member in members for positions in member.run.missing}))
    name = first.name if len(members) == 1 else amount(len(members), "model")
    advance = progress(f"{name} on {test_set.name}", images)
    inputs = PredictionInput(test_set.ids, first.source, open_images(first.source))
    shares = [Share(member.engine, member.run.missing, member.run.batch()) for member in members]
    with closing(engine.together(shares, inputs, progress=advance)) as outcomes:
        for number, outcome in outcomes:
            run = members[number].run
            if isinstance(outcome, RegradeError):
                failures.append(Failure(run.job.name, str(outcome)))
            else:
                run.take(outcome)
