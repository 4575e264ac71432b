"""One model on one test set, from pictures to stored predictions: what is missing, and nothing twice."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

from regrade.core import AlreadyStored, InputError, PictureSource, Predictions, TestSet
from regrade.models import Model
from regrade.predict.engine import STORED_K, Engine, How, Progress
from regrade.predict.fastest import fastest
from regrade.predict.prepare import check_place
from regrade.predict.result import Pair
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
    _check_before(store, model, how)
    if pair := _stored(store, model, test_set, how):
        store.partial_predictions(test_set, pair.model, part_size=how.part_size, plan={}).remove()
        return pair
    source = store.pictures(test_set)
    check_place(source)
    job = _Job(store, fastest(model, source), test_set, source, how)
    partial = store.partial_predictions(test_set, model.spec.name, part_size=how.part_size, plan=job.plan)
    with partial.alone():
        pair = _stored(store, model, test_set, how) or job.done(partial, watch)
        partial.remove()
    return pair


def _check_before(store: Store, model: Model, how: How) -> None:
    """Refuse before any work what could not be stored after it."""
    if min(how.batch, how.workers, how.part_size) < 1:
        raise InputError("batch and workers must be at least 1")
    space = model.class_space
    if space.name in store.class_space_names() and store.class_space(space.name).digest != space.digest:
        raise AlreadyStored(
            f"{model.spec.name} predicts classes {space.name!r}, but a class space of this name with other classes "
            "exists: choose another name"
        )


def _stored(store: Store, model: Model, test_set: TestSet, how: How) -> Pair | None:
    """The pair if it is stored already; other predictions under the model's name raise."""
    name = model.spec.name
    if name not in store.model_names(test_set.name):
        return None
    manifest = store.manifest(test_set, name)
    differs = {
        "another version of the test set": manifest.test_set_digest != test_set.digest,
        "other weights": manifest.model.weights_hash != model.spec.weights_hash,
        "another recipe": manifest.model.preprocessing != model.spec.preprocessing,
        "other classes": manifest.class_space_digest != model.class_space.digest,
        "only the best classes": how.keep_scores and not manifest.full_scores,
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
    model: Model
    test_set: TestSet
    source: PictureSource
    how: How

    @property
    def plan(self) -> dict[str, object]:
        """Everything the answers depend on."""
        return {
            "model": self.model.spec.name,
            "weights_hash": self.model.spec.weights_hash,
            "preprocessing": repr(self.model.preprocessing),
            "class_space": self.model.class_space.digest,
            "runtime": self.model.runtime,
            "pictures": hashlib.sha256(repr(self.source).encode()).hexdigest(),
            "keep_scores": self.how.keep_scores,
            "k": STORED_K,
        }

    def done(self, partial: PartialPredictions, watch: Watch) -> Pair:
        """Compute what is missing, and store the pair."""
        started = time.perf_counter()
        name, size = self.model.spec.name, len(self.test_set)
        partial.begin()
        left = sum(len(positions) for positions in partial.missing())
        progress = watch(f"{name} on {self.test_set.name}", left)
        Engine(self.model, self.how).run(self.test_set.ids, self.source, partial, progress=progress)
        answers = partial.finished()
        unreadable = {self.test_set.ids[position]: reason for position, reason in sorted(answers.unreadable.items())}
        self._keep(answers, unreadable)
        seconds = time.perf_counter() - started
        return Pair(name, self.test_set.name, size, size - left, seconds, unreadable, self.model.runtime)

    def _keep(self, answers: Part, unreadable: dict[str, str]) -> None:
        predictions = Predictions(
            self.model.spec.name,
            self.test_set.name,
            self.model.class_space.name,
            answers.classes,
            answers.scores,
            answers.full_scores,
            self.model.score_kind,
        )
        manifest = Manifest(
            model=self.model.spec,
            test_set=self.test_set.name,
            test_set_digest=self.test_set.digest,
            class_space=self.model.class_space.name,
            class_space_digest=self.model.class_space.digest,
            examples=len(predictions),
            k=predictions.k,
            digest=predictions.digest,
            score_kind=self.model.score_kind.value,
            full_scores=predictions.full_scores is not None,
            source=Source(),
            regrade=version("regrade"),
            runtime=self.model.runtime,
            unreadable=unreadable,
        )
        self.store.add_predictions(self.test_set, [(predictions, manifest)], self.model.class_space)
