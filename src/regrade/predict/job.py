"""One model on one test set whose predictions are computed and stored; finished parts of earlier runs are kept."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
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
    Predictions,
    StoreError,
    TestSet,
)
from regrade.core.amounts import amount
from regrade.core.predictions import STORED_K
from regrade.predict.engine import EngineOptions
from regrade.predict.predictor import Predictor
from regrade.predict.prepare import changed_images, is_readable
from regrade.predict.result import ModelRun
from regrade.predict.shared_pass import Progress
from regrade.predict.unreadable_limit import UnreadableLimit
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

    def partial(self) -> PartialPredictions:
        """The place for unfinished predictions."""
        return self.store.partial_predictions(
            self.test_set, self.name, part_size=self.options.part_size, plan=self.plan()
        )

    def run(self, partial: PartialPredictions, progress: ProgressCallback) -> ModelRun:
        """Compute the missing examples, and store the predictions."""
        started = time.perf_counter()
        run = self.begun(partial)
        advance = progress(f"{self.name} on {self.test_set.name}", run.left)
        if run.missing:
            with run, closing(self.predictor.parts(run.missing, batch=run.batch(), progress=advance)) as parts:
                for part in parts:
                    run.take(part)
        return replace(run.stored(), seconds=time.perf_counter() - started)

    def begun(self, partial: PartialPredictions) -> BegunJob:
        """Check the parts of an earlier run, and find out which ones are missing."""
        unreadable = self._check_earlier_parts(partial)
        return BegunJob(self, partial, partial.missing(), unreadable)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.predictor.metadata.spec.name

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
        unreadable = self.by_example({p: reason for part in parts for p, reason in part.unreadable.items()})
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

    def store_finished(self, finished: Part, unreadable: dict[str, str]) -> None:
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

    def by_example(self, unreadable: dict[int, str]) -> dict[str, str]:
        return {self.test_set.ids[position]: reason for position, reason in sorted(unreadable.items())}


class BegunJob:
    """A job and the parts that it still lacks, which are kept on the disk one after another; used as a context."""

    def __init__(
        self, job: Job, partial: PartialPredictions, missing: Sequence[range], unreadable: dict[int, str]
    ) -> None:
        self.job = job
        self.missing = missing
        self.left = sum(map(len, missing))
        self.partial = partial
        self._unreadable = unreadable
        self._done = len(job.test_set) - self.left
        self._limit = UnreadableLimit(job.test_set, job.source, job.options.allow_unreadable)
        self._writer = _Writer(partial)

    def batch(self) -> int:
        """Number of images per batch: that of the options or of an earlier run, or what fits into the memory."""
        return self.job.options.batch or self.partial.batch(self.job.predictor.find_batch_size)

    def take(self, part: Part) -> None:
        """Keep a part; raises if too many images of all parts so far are unreadable."""
        self._writer.add(part)
        self._unreadable.update(part.unreadable)
        self._done += len(part)
        self._limit.check(self._unreadable, self._done)

    @property
    def complete(self) -> bool:
        """Whether no part is missing."""
        return self._done == len(self.job.test_set)

    def stored(self) -> ModelRun:
        """Store the predictions once all parts are kept."""
        job, size = self.job, len(self.job.test_set)
        finished = self.partial.finished()
        unreadable = job.by_example(finished.unreadable)
        job.store_finished(finished, unreadable)
        runtime = job.predictor.metadata.runtime
        return ModelRun(job.name, job.test_set.name, size, size - self.left, 0.0, unreadable, runtime)

    def __enter__(self) -> Self:
        self._writer.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.__exit__()


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
