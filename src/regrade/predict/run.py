"""One model on one test set, from images to stored predictions: what is missing, and nothing twice."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version

import numpy as np

from regrade.core import (
    NO_ANSWER,
    AlreadyStored,
    Images,
    ImageSource,
    InputError,
    Predictions,
    StoreError,
    TestSet,
)
from regrade.core.amounts import amount
from regrade.models import Model, ModelMetadata
from regrade.predict.engine import STORED_K, EngineOptions, Progress
from regrade.predict.image_check import changed_images, is_readable
from regrade.predict.prepare import check_place
from regrade.predict.result import ModelRun
from regrade.predict.stored_pair import keeping_as_stored, stored_pair
from regrade.predict.unreadable import Tolerance
from regrade.predict.workforce import ThisProcess, Workforce
from regrade.store import Manifest, Part, PartialPredictions, PredictionSource, Store, with_replaced_rows
from regrade.testsets import open_images

ProgressCallback = Callable[[str, int], Progress]
"""Given what is running and how many examples are left, shows how far it is."""


def unwatched(what: str, left: int) -> Progress:  # noqa: ARG001
    """Show nothing."""
    return lambda _: None


def predict(
    store: Store, model: Model, test_set: TestSet, how: EngineOptions, *, watch: ProgressCallback = unwatched
) -> ModelRun:
    """Predict what is missing of one pair and store it; a pair that is stored already is left alone.

    A run that was stopped goes on where it was, provided that the model, its recipe and the images are the same.
    """
    how = keeping_as_stored(store, test_set, model.spec.name, how)

    def this_process(source: ImageSource) -> Workforce:
        return ThisProcess(model, test_set.ids, source, how)

    return predict_by(this_process, model.card, store, test_set, how, watch=watch)


def predict_by(
    workforce: Callable[[ImageSource], Workforce],
    known: ModelMetadata,
    store: Store,
    test_set: TestSet,
    how: EngineOptions,
    *,
    watch: ProgressCallback = unwatched,
) -> ModelRun:
    """As `predict`, by whoever computes; ``known`` is what the model says of itself before anything is computed."""
    _check_before(store, known, how)
    pair = stored_pair(store, known, test_set, how)
    if pair is not None and not (how.retry_unreadable and pair.unreadable):
        store.partial_predictions(test_set, pair.model, part_size=how.part_size, plan={}).remove()
        return pair
    source = store.images(test_set)
    check_place(source)
    job = _Job(store, workforce(source), test_set, source, how)
    partial = store.partial_predictions(test_set, known.spec.name, part_size=how.part_size, plan=job.plan)
    with partial.locked():
        pair = stored_pair(store, known, test_set, how)
        if pair is None:
            pair = job.done(partial, watch)
        elif how.retry_unreadable and pair.unreadable:
            pair = job.retried(pair, watch)
        partial.remove()
    return pair


def _check_before(store: Store, known: ModelMetadata, how: EngineOptions) -> None:
    """Refuse before any work what could not be stored after it."""
    if min(1 if how.batch is None else how.batch, how.workers, how.part_size) < 1:
        raise InputError("batch and workers must be at least 1")
    if how.allow_unreadable is not None and not 0 <= how.allow_unreadable <= 1:
        raise InputError(f"the share of images that may be unreadable is 0 to 1, got {how.allow_unreadable:g}")
    space = known.class_space
    if space.name in store.class_space_names() and store.class_space(space.name).digest != space.digest:
        raise AlreadyStored(
            f"{known.spec.name} predicts classes {space.name!r}, but a class space of this name with other classes "
            "exists: choose another name"
        )


@dataclass(frozen=True)
class _Job:
    """One pair that is not stored yet, or of which some images were unreadable."""

    store: Store
    workforce: Workforce
    test_set: TestSet
    source: ImageSource
    how: EngineOptions

    @property
    def plan(self) -> dict[str, object]:
        """Everything the answers depend on."""
        card = self.workforce.card
        return {
            "model": card.spec.name,
            "weights_hash": card.spec.weights_hash,
            "code_hash": card.spec.code_hash,
            "preprocessing": repr(card.preprocessing),
            "class_space": card.class_space.digest,
            "runtime": card.runtime,
            "images": _digest(self.source),
            "keep_scores": self.how.keep_scores,
            "keep_features": self.how.keep_features,
            "k": STORED_K,
        }

    def done(self, partial: PartialPredictions, watch: ProgressCallback) -> ModelRun:
        """Compute what is missing, and store the pair."""
        started = time.perf_counter()
        name, size = self.workforce.card.spec.name, len(self.test_set)
        unreadable = self._taken_over(partial)
        missing = partial.missing()
        left = sum(len(positions) for positions in missing)
        progress = watch(f"{name} on {self.test_set.name}", left)
        if missing:
            batch = self.how.batch or partial.batch(self.workforce.find_batch)
            self._compute(partial, missing, unreadable, batch=batch, progress=progress)
        answers = partial.finished()
        self._keep(answers, self._by_example(answers.unreadable))
        seconds = time.perf_counter() - started
        return ModelRun(
            name, self.test_set.name, size, size - left, seconds, self._by_example(answers.unreadable),
            self.workforce.card.runtime,
        )  # fmt: skip

    def _compute(
        self,
        partial: PartialPredictions,
        missing: Sequence[range],
        unreadable: dict[int, str],
        *,
        batch: int,
        progress: Progress,
    ) -> None:
        """Compute and keep the missing parts; too many unreadable images among all parts so far raise."""
        tolerance = Tolerance(self.test_set, self.source, self.how.allow_unreadable)
        done = len(self.test_set) - sum(len(positions) for positions in missing)
        with closing(self.workforce.parts(missing, batch=batch, progress=progress)) as parts:
            for part in parts:
                partial.add(part)
                unreadable.update(part.unreadable)
                done += len(part)
                tolerance.check(unreadable, done)

    def _taken_over(self, partial: PartialPredictions) -> dict[int, str]:
        """Check the parts of an earlier run, and return which of their images are unreadable still."""
        earlier = _EarlierParts(self._images, self.source, self.how.workers)
        partial.begin(earlier.keeps)
        if changed := earlier.changed:
            raise StoreError(
                f"{amount(len(changed), 'image')} of {self.test_set.name} changed after the run that was stopped, for "
                f"instance {self.test_set.ids[changed[0]]!r}: put the old ones back, or remove "
                f"{partial.folder} to begin again with the images as they are now"
            )
        return earlier.unreadable

    def retried(self, pair: ModelRun, watch: ProgressCallback) -> ModelRun:
        """Compute images that were unreadable, and store the pair again if some of them can be read now."""
        started = time.perf_counter()
        stored = self.store.predictions(self.test_set, pair.model)
        positions = np.flatnonzero(stored.top1 == NO_ANSWER).tolist()
        progress = watch(f"{pair.model} on {self.test_set.name}, unreadable images", len(positions))
        batch = self.how.batch or self.workforce.find_batch()
        with closing(self.workforce.parts(list(_runs(positions)), batch=batch, progress=progress)) as computed:
            parts = list(computed)
        unreadable = self._by_example({p: reason for part in parts for p, reason in part.unreadable.items()})
        recovered = len(positions) - len(unreadable)
        if recovered:
            self._amend(with_replaced_rows(stored, parts), unreadable, recovered)
        seconds = time.perf_counter() - started
        resumed = pair.examples - len(positions)
        return replace(
            pair, resumed=resumed, seconds=seconds, unreadable=unreadable, already=False, recovered=recovered
        )

    def _amend(self, predictions: Predictions, unreadable: dict[str, str], recovered: int) -> None:
        """Store predictions in place of the old ones; their manifest keeps its provenance and notes what was added."""
        before = self.store.manifest(self.test_set, predictions.model)
        note = (
            f"{datetime.now(UTC).isoformat(timespec='seconds')}: {recovered} of {recovered + len(unreadable)} images "
            f"that had been unreadable were computed, by {self.workforce.card.runtime}"
        )
        manifest = replace(before, digest=predictions.digest, unreadable=unreadable, retries=(*before.retries, note))
        self.store.replace_predictions(self.test_set, predictions, manifest)

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
            fingerprints=answers.fingerprints,
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
            fingerprints=predictions.fingerprints is not None,
            source=PredictionSource(),
            regrade=version("regrade"),
            runtime=card.runtime,
            runtime_note=self.workforce.note,
            unreadable=unreadable,
        )
        self.store.add_predictions(self.test_set, [(predictions, manifest)], card.class_space)

    def _by_example(self, unreadable: dict[int, str]) -> dict[str, str]:
        return {self.test_set.ids[position]: reason for position, reason in sorted(unreadable.items())}

    @cached_property
    def _images(self) -> Images:
        return open_images(self.source)


@dataclass(frozen=True)
class _EarlierParts:
    """What the parts of an earlier run hold: images that are still unreadable, and images that have changed since."""

    images: Images
    source: ImageSource
    workers: int
    unreadable: dict[int, str] = field(default_factory=dict)
    changed: list[int] = field(default_factory=list)

    def keeps(self, part: Part) -> bool:
        """Whether a part is kept: not where an image that was unreadable can be read now."""
        if any(is_readable(self.images, self.source, position) for position in part.unreadable):
            return False
        self.unreadable.update(part.unreadable)
        readable = np.setdiff1d(np.arange(part.start, part.start + len(part)), list(part.unreadable))
        changed = changed_images(self.images, part.fingerprints, readable, first=part.start, workers=self.workers)
        self.changed.extend(changed)
        return True


def _runs(positions: Sequence[int]) -> Iterator[range]:
    """Ascending positions as ranges of those that follow one another."""
    start = 0
    for place, position in enumerate(positions):
        if place + 1 == len(positions) or positions[place + 1] != position + 1:
            yield range(positions[start], position + 1)
            start = place + 1


def _digest(source: ImageSource) -> str:
    """A hash of where the images are and how they are read."""
    state = hashlib.sha256(repr(replace(source, locations=())).encode())
    for location in source.locations:
        state.update(f"{location}\n".encode())
    return state.hexdigest()
