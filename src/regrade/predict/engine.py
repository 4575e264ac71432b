"""One model on one test set: every example exactly once, part by part, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from itertools import chain, islice

import numpy as np

from regrade.core import ModelError, PictureSource, RegradeError, StoreError
from regrade.core.arrays import FloatArray
from regrade.metrics import top_k_classes
from regrade.models import Model, OutOfMemory
from regrade.predict.prepare import Prepared, check_place, prepare_all
from regrade.store import Part, PartialPredictions, no_answers

STORED_K = 5
"""How many of the best classes are kept an example."""

PART_SIZE = 1024
"""Examples a part: what a killed run loses at most."""

Progress = Callable[[int], object]
"""Told how many more examples are done."""


class Keep(Enum):
    """What is kept beside the best classes."""

    SCORES = "scores"


@dataclass(frozen=True)
class How:
    """How to run: pictures a batch, threads that prepare them, examples a part, and whether all scores are kept."""

    batch: int = 32
    workers: int = 2
    part_size: int = PART_SIZE
    keep_scores: bool = False


class Engine:
    """Runs one model; it remembers how large a batch the device can take.

    Pictures are prepared by threads while the model computes. A batch never reaches over the end of a part, so the
    answers are the same whichever parts an earlier run has left.
    """

    def __init__(self, model: Model, how: How) -> None:
        self.model = model
        self.how = how
        self.batch = how.batch

    def run(
        self, examples: Sequence[str], source: PictureSource, partial: PartialPredictions, *, progress: Progress
    ) -> None:
        """Fill in the missing parts, writing each as it is done."""
        missing = partial.missing()
        prepared = prepare_all(
            source,
            self.model.preprocessing,
            chain.from_iterable(missing),
            workers=self.how.workers,
            ahead=2 * self.batch + self.how.workers,
        )
        with closing(prepared):
            for positions in missing:
                part = self._part(prepared, positions, examples, progress)
                if part.unreadable:
                    check_place(source)
                partial.add(part)

    def _part(
        self, prepared: Iterator[Prepared], positions: range, examples: Sequence[str], progress: Progress
    ) -> Part:
        width = len(self.model.class_space)
        part = no_answers(positions, k=min(STORED_K, width), width=width if self.how.keep_scores else None)
        for block in self._blocks(positions):
            batch = list(islice(prepared, len(block)))
            if [one.position for one in batch] != list(block):
                raise StoreError(f"examples {block.start} to {block.stop - 1} came out of order: this is a defect")
            self._answer(part, batch, examples)
            progress(len(batch))
        return part

    def _blocks(self, positions: range) -> Iterator[range]:
        """Positions a batch, as large as the device can take by then."""
        start = positions.start
        while start < positions.stop:
            block = range(start, min(start + self.batch, positions.stop))
            yield block
            start = block.stop

    def _answer(self, part: Part, batch: Sequence[Prepared], examples: Sequence[str]) -> None:
        """Fill in the answers to a batch, and the reasons where there are none."""
        part.unreadable.update({one.position: one.trouble for one in batch if one.pixels is None})
        inputs = {one.position: one.pixels for one in batch if one.pixels is not None}
        if not inputs:
            return
        scores = self._scores(np.stack(list(inputs.values())), [examples[position] for position in inputs])
        rows = np.array(list(inputs)) - part.start
        best = top_k_classes(scores, k=part.classes.shape[1])
        part.classes[rows] = best
        part.scores[rows] = np.take_along_axis(scores, best, axis=1)
        if part.full_scores is not None:
            part.full_scores[rows] = self._halved(scores)

    def _scores(self, inputs: FloatArray, examples: Sequence[str]) -> FloatArray:
        """Scores of a batch; one that does not fit into memory is cut in half, and so are those that follow."""
        try:
            scores = np.asarray(self.model.scores(inputs))
        except (OutOfMemory, MemoryError):
            if len(inputs) == 1:
                raise ModelError(f"{self.model.spec.name} does not fit into memory even with a batch of one") from None
        except Exception as error:  # a model is anyone's code: whatever it raises is told in one line
            raise ModelError(_told(error, self.model.spec.name, examples)) from error
        else:
            self._check(scores, examples)
            return scores
        half = len(inputs) // 2
        self.batch = min(self.batch, half)
        return np.concatenate([
            self._scores(inputs[:half], examples[:half]), self._scores(inputs[half:], examples[half:])
        ])  # fmt: skip

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

    def _halved(self, scores: FloatArray) -> FloatArray:
        """Scores in half precision, as all scores are stored."""
        if np.abs(scores, where=np.isfinite(scores), out=np.zeros_like(scores)).max() > np.finfo(np.float16).max:
            name = self.model.spec.name
            raise ModelError(f"{name} returned scores too large for half precision: run it without --keep scores")
        return scores.astype(np.float16)


def _named(examples: Sequence[str]) -> str:
    if len(examples) == 1:
        return f"example {examples[0]!r}"
    return f"the {len(examples)} examples {examples[0]!r} to {examples[-1]!r}"


def _told(error: Exception, name: str, examples: Sequence[str]) -> str:
    """What a model raised, in one line with the examples; an adapter's own line names the model already."""
    text = str(error).partition("\n")[0]
    if isinstance(error, RegradeError) and name in text:
        return f"{text} ({_named(examples)})"
    return f"{name} failed on {_named(examples)}: {type(error).__name__}: {text}"
