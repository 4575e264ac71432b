"""One model on one test set, from pictures to stored predictions: what is missing, and nothing twice."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version

from regrade.core import AlreadyStored, InputError, PictureSource, Predictions, TestSet
from regrade.models import Model, ModelCard
from regrade.predict.engine import STORED_K, How, Progress
from regrade.predict.prepare import check_place
from regrade.predict.result import Pair
from regrade.predict.workforce import ThisProcess, Workforce
from regrade.store import Manifest, Part, PartialPredictions, Source, Store

Watch = Callable[[str, int], Progress]
"""Given what is running and how many examples are left, shows how far it is."""


def unwatched(what: str, left: int) -> Progress:  # noqa: ARG001
    """Show nothing."""
    return lambda _: None


def predict(store: Store, model: Model, test_set: TestSet, how: How, *, watch: Watch = unwatched) -> Pair:
    """Predict what is missing of one pair and store it; a pair that is stored already is left alone.

    A run that was stopped goes on where it was, provided that the model, its recipe and the pictures are the same.
    """

    def this_process(source: PictureSource) -> Workforce:
        return ThisProcess(model, test_set.ids, source, how)

    return predict_by(this_process, model.card, store, test_set, how, watch=watch)


def predict_by(
    workforce: Callable[[PictureSource], Workforce],
    known: ModelCard,
    store: Store,
    test_set: TestSet,
    how: How,
    *,
    watch: Watch = unwatched,
) -> Pair:
    """As `predict`, by whoever computes; ``known`` is what the model says of itself before anything is computed."""
    _check_before(store, known, how)
    if pair := _stored(store, known, test_set, how):
        store.partial_predictions(test_set, pair.model, part_size=how.part_size, plan={}).remove()
        return pair
    source = store.pictures(test_set)
    check_place(source)
    job = _Job(store, workforce(source), test_set, source, how)
    partial = store.partial_predictions(test_set, known.spec.name, part_size=how.part_size, plan=job.plan)
    with partial.alone():
        pair = _stored(store, known, test_set, how) or job.done(partial, watch)
        partial.remove()
    return pair


def _check_before(store: Store, known: ModelCard, how: How) -> None:
    """Refuse before any work what could not be stored after it."""
    if min(1 if how.batch is None else how.batch, how.workers, how.part_size) < 1:
        raise InputError("batch and workers must be at least 1")
    space = known.class_space
    if space.name in store.class_space_names() and store.class_space(space.name).digest != space.digest:
        raise AlreadyStored(
            f"{known.spec.name} predicts classes {space.name!r}, but a class space of this name with other classes "
            "exists: choose another name"
        )


def _stored(store: Store, known: ModelCard, test_set: TestSet, how: How) -> Pair | None:
    """The pair if it is stored already; other predictions under the model's name raise."""
    name = known.spec.name
    if name not in store.model_names(test_set.name):
        return None
    manifest = store.manifest(test_set, name)
    differs = {
        "another version of the test set": manifest.test_set_digest != test_set.digest,
        "other weights": manifest.model.weights_hash != known.spec.weights_hash,
        "another recipe": manifest.model.preprocessing != known.spec.preprocessing,
        "other classes": manifest.class_space_digest != known.class_space.digest,
        "only the best classes": how.keep_scores and not manifest.full_scores,
        "no features": how.keep_features and not manifest.features and len(manifest.unreadable) < manifest.examples,
    }
    if any(differs.values()):
        reasons = ", ".join(reason for reason, true in differs.items() if true)
        folder = store.prediction_folder(test_set.name, name)
        raise AlreadyStored(
            f"predictions of {name} on {test_set.name} are stored with {reasons}: remove {folder} first"
        )
    size = len(test_set)
    return Pair(name, test_set.name, size, size, 0.0, manifest.unreadable, manifest.runtime, already=True)


@dataclass(frozen=True)
class _Job:
    """One pair that is not stored yet."""

    store: Store
    workforce: Workforce
    test_set: TestSet
    source: PictureSource
    how: How

    @property
    def plan(self) -> dict[str, object]:
        """Everything the answers depend on."""
        card = self.workforce.card
        return {
            "model": card.spec.name,
            "weights_hash": card.spec.weights_hash,
            "preprocessing": repr(card.preprocessing),
            "class_space": card.class_space.digest,
            "runtime": card.runtime,
            "pictures": _digest(self.source),
            "keep_scores": self.how.keep_scores,
            "keep_features": self.how.keep_features,
            "k": STORED_K,
        }

    def done(self, partial: PartialPredictions, watch: Watch) -> Pair:
        """Compute what is missing, and store the pair."""
        started = time.perf_counter()
        name, size = self.workforce.card.spec.name, len(self.test_set)
        partial.begin()
        missing = partial.missing()
        left = sum(len(positions) for positions in missing)
        progress = watch(f"{name} on {self.test_set.name}", left)
        if missing:
            batch = self.how.batch or partial.batch(self.workforce.find_batch)
            for part in self.workforce.parts(missing, batch=batch, progress=progress):
                partial.add(part)
        answers = partial.finished()
        unreadable = {self.test_set.ids[position]: reason for position, reason in sorted(answers.unreadable.items())}
        self._keep(answers, unreadable)
        seconds = time.perf_counter() - started
        return Pair(name, self.test_set.name, size, size - left, seconds, unreadable, self.workforce.card.runtime)

    def _keep(self, answers: Part, unreadable: dict[str, str]) -> None:
        card = self.workforce.card
        predictions = Predictions(
            card.spec.name,
            self.test_set.name,
            card.class_space.name,
            answers.classes,
            answers.scores,
            answers.full_scores,
            card.score_kind,
            answers.features,
        )
        manifest = Manifest(
            model=card.spec,
            test_set=self.test_set.name,
            test_set_digest=self.test_set.digest,
            class_space=card.class_space.name,
            class_space_digest=card.class_space.digest,
            examples=len(predictions),
            k=predictions.k,
            digest=predictions.digest,
            score_kind=card.score_kind.value,
            full_scores=predictions.full_scores is not None,
            features=predictions.features is not None,
            source=Source(),
            regrade=version("regrade"),
            runtime=card.runtime,
            runtime_note=self.workforce.note,
            unreadable=unreadable,
        )
        self.store.add_predictions(self.test_set, [(predictions, manifest)], card.class_space)


def _digest(source: PictureSource) -> str:
    """A hash of where the pictures are and how they are read."""
    state = hashlib.sha256(repr(replace(source, locations=())).encode())
    for location in source.locations:
        state.update(f"{location}\n".encode())
    return state.hexdigest()
