"""One model on one test set whose predictions are computed and stored; finished parts of earlier runs are kept."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Self

import numpy as np

from regrade.core import (
    NO_ANSWER,
    Images,
    ImageSource,
    ImageSourceError,
    Predictions,
    StoreError,
    TestSet,
)
from regrade.core.amounts import amount
from regrade.core.predictions import STORED_K
from regrade.predict.engine import EngineOptions, Progress
from regrade.predict.predictor import Predictor
from regrade.predict.prepare import changed_images, is_readable
from regrade.predict.result import ModelRun
from regrade.store import (
    Part,
    PartialPredictions,
    PredictionSource,
    Store,
    manifest_of,
    tied_images,
    with_replaced_rows,
)
from regrade.testsets import open_images

ProgressCallback = Callable[[str, int], Progress]
"""Called with a description of the work and the number of examples left; returns the callback for finished examples."""

_MIN_LIMIT = 10  # damaged images allowed in a small test set
_SHARE = 0.05  # of a test set, if that is more


class _Writer:
    """Keeps parts on the disk in order, each while the next one is computed."""

    def __init__(self, partial: PartialPredictions) -> None:
        self._partial = partial
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="write")
        self._last: Future[None] | None = None

    def add(self, part: Part) -> None:
        """Begin to keep a part, once the one before it is kept."""
        if self._last is not None:
            self._last.result()
        self._last = self._thread.submit(self._partial.add, part)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(wait=True)
        if self._last is not None:
            self._last.result()


@dataclass(frozen=True)
class Job:
    """A model and a test set whose predictions are not stored yet, or of which some images were unreadable."""

    store: Store
    predictor: Predictor
    test_set: TestSet
    source: ImageSource
    options: EngineOptions

    def plan(self) -> dict[str, object]:
        """Everything that the predictions depend on."""
        metadata = self.predictor.metadata
        return {
            "model": metadata.spec.name,
            "weights_hash": metadata.spec.weights_hash,
            "code_hash": metadata.spec.code_hash,
            "preprocessing": repr(metadata.preprocessing),
            "class_space": metadata.class_space.digest,
            "runtime": metadata.runtime,
            "images": _digest(self.source),
            "keep_scores": self.options.keep_scores,
            "keep_features": self.options.keep_features,
            "k": STORED_K,
        }

    def run(self, partial: PartialPredictions, progress: ProgressCallback) -> ModelRun:
        """Compute the missing examples, and store the predictions."""
        started = time.perf_counter()
        name, size = self.predictor.metadata.spec.name, len(self.test_set)
        unreadable = self._check_earlier_parts(partial)
        missing = partial.missing()
        left = sum(len(positions) for positions in missing)
        advance = progress(f"{name} on {self.test_set.name}", left)
        if missing:
            batch = self.options.batch or partial.batch(self.predictor.find_batch_size)
            self._compute(partial, missing, unreadable, batch=batch, progress=advance)
        finished = partial.finished()
        self._store(finished, self._by_example(finished.unreadable))
        seconds = time.perf_counter() - started
        return ModelRun(
            name, self.test_set.name, size, size - left, seconds, self._by_example(finished.unreadable),
            self.predictor.metadata.runtime,
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
        """Compute and keep the missing parts; raises if too many images of all parts so far are unreadable."""
        limit = UnreadableLimit(self.test_set, self.source, self.options.allow_unreadable)
        done = len(self.test_set) - sum(len(positions) for positions in missing)
        with (
            closing(self.predictor.parts(missing, batch=batch, progress=progress)) as parts,
            _Writer(partial) as writer,
        ):
            for part in parts:
                writer.add(part)
                unreadable.update(part.unreadable)
                done += len(part)
                limit.check(unreadable, done)

    def _check_earlier_parts(self, partial: PartialPredictions) -> dict[int, str]:
        """Check the parts of an earlier run, and return which of their images are still unreadable."""
        earlier = _EarlierParts(open_images(self.source), self.source, self.options.workers)
        partial.begin(earlier.keeps)
        if changed := earlier.changed:
            raise StoreError(
                f"{amount(len(changed), 'image')} of {self.test_set.name} changed after the interrupted run, for "
                f"instance {self.test_set.ids[changed[0]]!r}: restore the old images, or remove {partial.folder} to "
                "start again with the new ones"
            )
        return earlier.unreadable

    def retry(self, pair: ModelRun, progress: ProgressCallback) -> ModelRun:
        """Compute images that were unreadable, and store the predictions again if some of them can be read now."""
        started = time.perf_counter()
        stored = self.store.predictions.read(self.test_set, pair.model)
        positions = np.flatnonzero(stored.top1 == NO_ANSWER).tolist()
        advance = progress(f"{pair.model} on {self.test_set.name}, unreadable images", len(positions))
        batch = self.options.batch or self.predictor.find_batch_size()
        with closing(self.predictor.parts(list(_runs(positions)), batch=batch, progress=advance)) as computed:
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
        """Replace the stored predictions; their manifest keeps its provenance and records what was added."""
        before = self.store.predictions.manifest(self.test_set.name, predictions.model)
        note = (
            f"{datetime.now(UTC).isoformat(timespec='seconds')}: {recovered} of {recovered + len(unreadable)} images "
            f"that had been unreadable were computed, by {self.predictor.metadata.runtime}"
        )
        manifest = replace(
            before,
            digest=predictions.digest,
            tied=tied_images(predictions),
            unreadable=unreadable,
            retries=(*before.retries, note),
        )
        self.store.replace_predictions(self.test_set, predictions, manifest)

    def _store(self, finished: Part, unreadable: dict[str, str]) -> None:
        metadata = self.predictor.metadata
        predictions = Predictions(
            metadata.spec.name,
            self.test_set.name,
            metadata.class_space.name,
            finished.classes,
            finished.scores,
            finished.full_scores,
            metadata.score_kind,
            finished.features,
            fingerprints=finished.fingerprints,
            ties=finished.ties,
        )
        manifest = replace(
            manifest_of(predictions, self.test_set, metadata.class_space, PredictionSource()),
            model=metadata.spec,
            runtime=metadata.runtime,
            runtime_note=self.predictor.note,
            unreadable=unreadable,
        )
        self.store.add_predictions(self.test_set, [(predictions, manifest)], metadata.class_space)

    def _by_example(self, unreadable: dict[int, str]) -> dict[str, str]:
        return {self.test_set.ids[position]: reason for position, reason in sorted(unreadable.items())}


@dataclass(frozen=True)
class _EarlierParts:
    """Images in the parts of an earlier run that are still unreadable, and images that have changed since."""

    images: Images
    source: ImageSource
    workers: int
    unreadable: dict[int, str] = field(default_factory=dict)
    changed: list[int] = field(default_factory=list)

    def keeps(self, part: Part) -> bool:
        """Whether a part is kept: not if an image that was unreadable can be read now."""
        if any(is_readable(self.images, self.source, position) for position in part.unreadable):
            return False
        self.unreadable.update(part.unreadable)
        readable = np.setdiff1d(np.arange(part.start, part.start + len(part)), list(part.unreadable))
        changed = changed_images(self.images, part.fingerprints, readable, first=part.start, workers=self.workers)
        self.changed.extend(changed)
        return True


def _runs(positions: Sequence[int]) -> Iterator[range]:
    """Ascending positions as ranges of consecutive ones."""
    start = 0
    for index, position in enumerate(positions):
        if index + 1 == len(positions) or positions[index + 1] != position + 1:
            yield range(positions[start], position + 1)
            start = index + 1


def _digest(source: ImageSource) -> str:
    """A hash of the location of the images and of how they are read."""
    state = hashlib.sha256(repr(replace(source, locations=())).encode())
    for location in source.locations:
        state.update(f"{location}\n".encode())
    return state.hexdigest()


@dataclass(frozen=True)
class UnreadableLimit:
    """The limit for one test set: ``share`` of its images, if given.

    The default is 5 % of the images, or 10 if that is more, but never more than half of them.
    """

    test_set: TestSet
    source: ImageSource
    share: float | None = None

    @property
    def limit(self) -> int:
        """How many images may be unreadable."""
        size = len(self.test_set)
        if self.share is not None:
            return int(self.share * size)
        return min(max(_MIN_LIMIT, int(_SHARE * size)), size // 2)

    def check(self, unreadable: Mapping[int, str], done: int) -> None:
        """Raise if more of the ``done`` images than the limit are unreadable or, without a given share, all of them."""
        none_readable = self.share is None and len(unreadable) == done
        if not unreadable or not (none_readable or len(unreadable) > self.limit):
            return
        position, reason = next(iter(unreadable.items()))
        raise ImageSourceError(
            f"{len(unreadable):,} of {done:,} images of {self.test_set.name} cannot be read, for instance "
            f"{self.test_set.ids[position]!r} ({reason}): if {self.source.path} is not mounted or incomplete, repair "
            "it and run the same command again, which resumes from here; to store them as unreadable, add "
            "--allow-unreadable 100%"
        )
