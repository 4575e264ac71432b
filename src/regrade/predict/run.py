"""Run one model on one test set, from images to stored predictions; what is already there is not computed again."""

from __future__ import annotations

from collections.abc import Callable

from regrade.core import AlreadyStored, ImageSource, InputError, TestSet
from regrade.models import Model, ModelMetadata
from regrade.predict.engine import EngineOptions
from regrade.predict.job import Job, ProgressCallback
from regrade.predict.predictor import LocalPredictor, Predictor
from regrade.predict.prepare import check_source_exists
from regrade.predict.result import ModelRun
from regrade.predict.shared_pass import Progress
from regrade.predict.stored_pair import match_stored_options, stored_pair
from regrade.store import Store


def no_progress(what: str, left: int) -> Progress:  # noqa: ARG001
    """Report no progress."""
    return lambda _: None


def predict(
    store: Store, model: Model, test_set: TestSet, options: EngineOptions, *, progress: ProgressCallback = no_progress
) -> ModelRun:
    """Predict the missing examples of a test set and store them; predictions that are stored already are reused.

    An interrupted run is resumed, provided that the model, its preprocessing and the images are the same.
    """
    options = match_stored_options(store, test_set, model.spec.name, options)

    def local_predictor(source: ImageSource) -> Predictor:
        return LocalPredictor(model, test_set.ids, source, options)

    return predict_with(local_predictor, model.metadata, store, test_set, options, progress=progress)


def predict_with(
    make_predictor: Callable[[ImageSource], Predictor],
    model: ModelMetadata,
    store: Store,
    test_set: TestSet,
    options: EngineOptions,
    *,
    progress: ProgressCallback = no_progress,
) -> ModelRun:
    """As `predict`, by any predictor, which is made only if something must be computed."""
    check_options(store, model, options)
    pair = stored_pair(store, model, test_set, options)
    if pair is not None and not (options.retry_unreadable and pair.unreadable):
        store.partial_predictions(test_set, pair.model, part_size=options.part_size, plan={}).remove()
        return pair
    source = store.images.read(test_set)
    check_source_exists(source)
    job = Job(store, make_predictor(source), test_set, source, options)
    partial = job.partial()
    with partial.locked():
        pair = stored_pair(store, model, test_set, options)
        if pair is None:
            pair = job.run(partial, progress)
        elif options.retry_unreadable and pair.unreadable:
            pair = job.retry(pair, progress)
        partial.remove()
    return pair


def check_options(store: Store, model: ModelMetadata, options: EngineOptions) -> None:
    """Raise before any work if its results could not be stored."""
    if min(1 if options.batch is None else options.batch, options.workers, options.part_size) < 1:
        raise InputError("batch and workers must be at least 1")
    if options.allow_unreadable is not None and not 0 <= options.allow_unreadable <= 1:
        raise InputError(f"the share of images that may be unreadable is 0 to 1, got {options.allow_unreadable:g}")
    space = model.class_space
    if space.name in store.class_spaces.names() and store.class_spaces.read(space.name).digest != space.digest:
        raise AlreadyStored(
            f"{model.spec.name} predicts classes {space.name!r}, but a class space of this name with other classes "
            "exists: choose another name"
        )
