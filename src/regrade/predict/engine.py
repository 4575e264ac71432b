"""One model on one test set: every example exactly once, part by part, whatever happens in between."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain, islice
from threading import Lock

import numpy as np

from regrade.core import FINGERPRINT, Images, ImageSource, ModelError, RegradeError, StoreError
from regrade.core.arrays import FloatArray
from regrade.metrics import top_k_classes
from regrade.models import Model, ModelMetadata, OutOfMemory, Resizer
from regrade.models.failures import contained, first_line
from regrade.predict.batch_size import fitting_batch
from regrade.predict.prepare import (
    MOST_THREADS,
    PreparationOptions,
    Prepared,
    check_place,
    finished_on_gpu,
    prepare_all,
)
from regrade.store import Part, empty_part

STORED_K = 5
"""How many of the best classes are kept an example."""

PART_SIZE = 1024
"""Examples a part: what a killed run loses at most."""

WORTH_PROCESSES = 2_000
"""Examples from which it pays to start processes that prepare images."""

Progress = Callable[[int], object]
"""Told how many more examples are done."""


class Keep(Enum):
    """What is kept beside the best classes."""

    SCORES = "scores"
    FEATURES = "features"


@dataclass(frozen=True)
class EngineOptions:
    """How to run: images a batch, threads that prepare them, examples a part, and what is kept.

    A ``batch`` of None is found by how much ``memory`` (bytes; None: what is free) it may take. ``allow_unreadable`` is
    the share of images that may be unreadable (default: few, see `Tolerance`); with ``retry_unreadable`` those that
    were stored as unreadable are computed again.
    """

    batch: int | None = None
    workers: int = 2
    part_size: int = PART_SIZE
    keep_scores: bool = False
    keep_features: bool = False
    memory: int | None = None
    resizer: Resizer = Resizer.PILLOW
    allow_unreadable: float | None = None
    retry_unreadable: bool = False


@dataclass(frozen=True, eq=False)
class PredictionInput:
    """The examples to answer for: their ids, and their images."""

    examples: Sequence[str]
    source: ImageSource
    images: Images


class PredictionEngine:
    """Runs one model; it remembers how large a batch the device can take.

    Images are prepared by threads while the model computes. A batch never reaches over the end of a part, so the
    answers are the same whichever parts an earlier run has left. Several threads may ask for parts at once.
    """

    def __init__(self, model: Model, how: EngineOptions) -> None:
        self.model = model
        self.how = how
        self._fitting = sys.maxsize
        self._width: int | None = None
        self._one_at_a_time = Lock()

    @property
    def card(self) -> ModelMetadata:
        """The model's card, with what makes the images ready."""
        own = self.model.card
        return replace(own, runtime=f"{own.runtime}, images by {self.how.resizer.runtime}")

    def find_batch(self) -> int:
        """How many images a batch, as stated or as the memory allows."""
        return self.how.batch or fitting_batch(self.model, self.how.memory)

    def parts(
        self, of: PredictionInput, wanted: Sequence[range], *, batch: int, progress: Progress
    ) -> Generator[Part, None, None]:
        """Answer for examples, part by part."""
        preparing = PreparationOptions(self.model.preprocessing, self.how.resizer, self.model.takes_pixels)
        processes = self._by_processes(sum(len(positions) for positions in wanted))
        prepared = prepare_all(
            of.images,
            of.source,
            preparing,
            chain.from_iterable(wanted),
            workers=self.how.workers if processes else min(self.how.workers, MOST_THREADS),
            ahead=2 * batch + self.how.workers,
            processes=processes,
        )
        with closing(prepared):
            for positions in wanted:
                part = self._no_answers(positions)
                for block in self._blocks(positions, batch):
                    ready = _taken(prepared, block)
                    _note_fingerprints(part, ready)
                    if self.how.resizer is Resizer.GPU:
                        ready = finished_on_gpu(ready, of.source, preparing)
                    part = self._answered(part, of.examples, ready)
                    progress(len(block))
                if part.unreadable:
                    check_place(of.source)
                yield part

    def _by_processes(self, examples: int) -> bool:
        """Whether processes of their own prepare the images: where threads would wait, and it is worth the start."""
        many = self.how.workers > MOST_THREADS and examples >= WORTH_PROCESSES
        return many and self.how.resizer is not Resizer.GPU

    def _blocks(self, positions: range, batch: int) -> Iterator[range]:
        """Positions a batch, as large as the device can take by then."""
        start = positions.start
        while start < positions.stop:
            block = range(start, min(start + batch, start + self._fitting, positions.stop))
            yield block
            start = block.stop

    def _no_answers(self, positions: range) -> Part:
        width = len(self.model.class_space)
        return empty_part(positions, k=min(STORED_K, width), width=width if self.how.keep_scores else None)

    def _answered(self, part: Part, examples: Sequence[str], batch: Sequence[Prepared]) -> Part:
        """A part with the answers to a batch filled in, and the reasons where there are none."""
        part.unreadable.update({one.position: one.trouble for one in batch if one.input is None})
        inputs = {one.position: one.input for one in batch if one.input is not None}
        if not inputs:
            return part
        with self._one_at_a_time:
            scores, features = self._compute(list(inputs.values()), [examples[position] for position in inputs])
        rows = np.array(list(inputs)) - part.start
        best = top_k_classes(scores, k=part.classes.shape[1])
        part.classes[rows] = best
        part.scores[rows] = self._single(np.take_along_axis(scores, best, axis=1), [examples[p] for p in inputs])
        if part.full_scores is not None:
            part.full_scores[rows] = self._halved(scores, "scores")
        if features is None:
            return part
        kept = part.features
        if kept is None:
            kept = np.full((len(part), features.shape[1]), np.nan, dtype=np.float16)
        kept[rows] = self._halved(features, "features")
        return replace(part, features=kept)

    def _compute(self, inputs: Sequence[FloatArray], examples: Sequence[str]) -> tuple[FloatArray, FloatArray | None]:
        """Scores and features of a batch; one that does not fit into memory is cut in half, as those that follow."""
        try:
            with contained():
                batch = self.model.stacked(inputs)
                if self.how.keep_features:
                    scores, features = map(np.asarray, self.model.scores_and_features(batch))
                else:
                    scores, features = np.asarray(self.model.scores(batch)), None
        except (OutOfMemory, MemoryError):
            if len(inputs) == 1:
                raise ModelError(f"{self.model.spec.name} does not fit into memory even with a batch of one") from None
        except Exception as error:  # a model is anyone's code: whatever it raises is told in one line
            raise ModelError(_told(error, self.model.spec.name, examples)) from error
        else:
            self._check(scores, examples)
            if features is not None:
                self._check_features(features, examples)
            return scores, features
        half = len(inputs) // 2
        self._fitting = min(self._fitting, half)
        halves = self._compute(inputs[:half], examples[:half]), self._compute(inputs[half:], examples[half:])
        features = np.concatenate([one[1] for one in halves]) if self.how.keep_features else None
        return np.concatenate([one[0] for one in halves]), features

    def _check(self, scores: FloatArray, examples: Sequence[str]) -> None:
        name, space = self.model.spec.name, self.model.class_space
        expected = (len(examples), len(space))
        if scores.shape != expected or not np.issubdtype(scores.dtype, np.floating):
            raise ModelError(
                f"{name} returned {scores.dtype} of shape {scores.shape} for {_named(examples)}: expected "
                f"floating-point scores of shape {expected}, one a class of {space.name}"
            )
        broken = np.flatnonzero(~np.isfinite(scores.max(axis=1)))  # -inf rules a class out, but not all of them
        if broken.size:
            raise ModelError(f"{name} returned scores that are not finite for example {examples[broken[0]]!r}")

    def _check_features(self, features: FloatArray, examples: Sequence[str]) -> None:
        name, width = self.model.spec.name, features.shape[-1] if features.ndim else 0
        expected = (len(examples), self._width or max(width, 1))
        if features.shape != expected or not np.issubdtype(features.dtype, np.floating):
            raise ModelError(
                f"{name} returned features, {features.dtype} of shape {features.shape}, for {_named(examples)}: "
                f"expected floating-point numbers of shape {expected}"
            )
        self._width = width
        broken = np.flatnonzero(~np.isfinite(features).all(axis=1))
        if broken.size:
            raise ModelError(f"{name} returned features that are not finite for example {examples[broken[0]]!r}")

    def _single(self, scores: FloatArray, examples: Sequence[str]) -> FloatArray:
        """The best scores in single precision, as they are stored; -inf stays, but no finite score becomes infinite."""
        with np.errstate(all="ignore"):
            single = scores.astype(np.float32)
        too_large = np.flatnonzero((np.isinf(single) & np.isfinite(scores)).any(axis=1))
        if too_large.size:
            raise ModelError(
                f"{self.model.spec.name} returned scores too large for single precision for example "
                f"{examples[too_large[0]]!r}: scale them down"
            )
        return single

    def _halved(self, values: FloatArray, what: str) -> FloatArray:
        """Scores or features in half precision, as they are stored."""
        if np.abs(values, where=np.isfinite(values), out=np.zeros_like(values)).max() > np.finfo(np.float16).max:
            name = self.model.spec.name
            raise ModelError(f"{name} returned {what} too large for half precision: run it without --keep {what}")
        with np.errstate(all="ignore"):
            return values.astype(np.float16)


def _note_fingerprints(part: Part, batch: Sequence[Prepared]) -> None:
    noted = {example.position - part.start: example.fingerprint for example in batch if example.fingerprint is not None}
    part.fingerprints[list(noted)] = np.array(list(noted.values()), dtype=FINGERPRINT)


def _taken(prepared: Iterator[Prepared], block: range) -> list[Prepared]:
    batch = list(islice(prepared, len(block)))
    if [one.position for one in batch] != list(block):
        raise StoreError(f"examples {block.start} to {block.stop - 1} came out of order: this is a defect")
    return batch


def _named(examples: Sequence[str]) -> str:
    if len(examples) == 1:
        return f"example {examples[0]!r}"
    return f"the {len(examples)} examples {examples[0]!r} to {examples[-1]!r}"


def _told(error: Exception, name: str, examples: Sequence[str]) -> str:
    """What a model raised, in one line with the examples; an adapter's own line names the model already."""
    text = str(error).partition("\n")[0]
    if isinstance(error, RegradeError) and name in text:
        return f"{text} ({_named(examples)})"
    return f"{name} failed on {_named(examples)}: {first_line(error)}"
