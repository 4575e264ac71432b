"""Compute one model on one test set: every example exactly once, part by part."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain, islice
from pathlib import Path
from threading import Lock

import numpy as np

from regrade.core import (
    FINGERPRINT,
    Images,
    ImageSource,
    ModelError,
    RegradeError,
    StoreError,
    Ties,
    joined_ties,
)
from regrade.core.arrays import FloatArray
from regrade.core.predictions import STORED_K
from regrade.metrics import ties_across, top_k_classes
from regrade.models import Model, ModelMetadata, OutOfMemory, Resizer
from regrade.models.failures import contained, first_line
from regrade.predict.prepare import (
    MAX_THREADS,
    PreparationOptions,
    Prepared,
    check_source_exists,
    finish_on_gpu,
    prepare_all,
)
from regrade.store import Part, empty_part

PART_SIZE = 1024
"""Examples per part: the most that a killed run loses."""

MIN_EXAMPLES_FOR_PROCESSES = 2_000
"""Number of examples from which it pays off to start processes that prepare images."""

Progress = Callable[[int], object]
"""Called with the number of examples just finished."""

_MAX_ON_CPU, _MAX_ON_GPU = 32, 256  # larger batches are not faster
_TRIAL = 4  # images on which the memory is measured
_SHARE = 0.5  # of the free memory, if no budget is given
_PROCESS = Path("/proc/self")


class Keep(Enum):
    """What is stored in addition to the top classes."""

    SCORES = "scores"
    FEATURES = "features"


@dataclass(frozen=True)
class EngineOptions:
    """Options of a run: images per batch, workers that prepare them, examples per part, and what is stored.

    Without a ``batch``, its size is chosen to fit into ``memory`` (bytes; default: half of the free memory).
    ``allow_unreadable`` is the share of images that may be unreadable (default: see `UnreadableLimit`); with
    ``retry_unreadable``, images that were stored as unreadable are computed again.
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
    """The examples to predict: their ids, and their images."""

    examples: Sequence[str]
    source: ImageSource
    images: Images


class PredictionEngine:
    """Runs one model; it remembers the largest batch that fits on the device.

    Images are prepared by workers while the model computes. A batch never crosses the end of a part, so the
    predictions do not depend on which parts an earlier run has left. Several threads may request parts at once.
    """

    def __init__(self, model: Model, options: EngineOptions) -> None:
        self.model = model
        self.options = options
        self._max_batch = sys.maxsize
        self._feature_width: int | None = None
        self._model_lock = Lock()

    @property
    def metadata(self) -> ModelMetadata:
        """The model's metadata; the runtime includes the resizer."""
        metadata = self.model.metadata
        return replace(metadata, runtime=f"{metadata.runtime}, images by {self.options.resizer.runtime}")

    def find_batch_size(self) -> int:
        """Number of images per batch, from the options or the memory."""
        return self.options.batch or find_batch_size(self.model, self.options.memory)

    def parts(
        self, inputs: PredictionInput, ranges: Sequence[range], *, batch: int, progress: Progress
    ) -> Generator[Part, None, None]:
        """Predict ranges of examples, one part each."""
        preparation = PreparationOptions(self.model.preprocessing, self.options.resizer, self.model.takes_pixels)
        processes = self._uses_processes(sum(len(positions) for positions in ranges))
        prepared = prepare_all(
            inputs.images,
            inputs.source,
            preparation,
            chain.from_iterable(ranges),
            workers=self.options.workers if processes else min(self.options.workers, MAX_THREADS),
            ahead=2 * batch + self.options.workers,
            processes=processes,
        )
        with closing(prepared):
            for positions in ranges:
                part = self._empty_part(positions)
                for block in self._blocks(positions, batch):
                    examples = _next_block(prepared, block)
                    _add_fingerprints(part, examples)
                    if self.options.resizer is Resizer.GPU:
                        examples = finish_on_gpu(examples, inputs.source, preparation)
                    part = self._with_predictions(part, inputs.examples, examples)
                    progress(len(block))
                if part.unreadable:
                    check_source_exists(inputs.source)
                yield part

    def _uses_processes(self, examples: int) -> bool:
        """Whether processes prepare the images: if threads would be too slow, and there are many images."""
        many = self.options.workers > MAX_THREADS and examples >= MIN_EXAMPLES_FOR_PROCESSES
        return many and self.options.resizer is not Resizer.GPU

    def _blocks(self, positions: range, batch: int) -> Iterator[range]:
        """The positions of each batch, as large as currently fits on the device."""
        start = positions.start
        while start < positions.stop:
            block = range(start, min(start + batch, start + self._max_batch, positions.stop))
            yield block
            start = block.stop

    def _empty_part(self, positions: range) -> Part:
        width = len(self.model.class_space)
        return empty_part(positions, k=min(STORED_K, width), width=width if self.options.keep_scores else None)

    def _with_predictions(self, part: Part, examples: Sequence[str], batch: Sequence[Prepared]) -> Part:
        """A part with the predictions of a batch filled in, and the reasons for unreadable images."""
        part.unreadable.update({example.position: example.error for example in batch if example.input is None})
        inputs = {example.position: example.input for example in batch if example.input is not None}
        if not inputs:
            return part
        with self._model_lock:
            scores, features = self._compute(list(inputs.values()), [examples[position] for position in inputs])
        rows = np.array(list(inputs)) - part.start
        best = top_k_classes(scores, k=part.classes.shape[1])
        part.classes[rows] = best
        part.scores[rows] = self._to_single_precision(
            np.take_along_axis(scores, best, axis=1), [examples[p] for p in inputs]
        )
        if (ties := ties_across(scores, best)) is not None:
            part = replace(part, ties=joined_ties([(0, part.ties), (0, Ties(rows[ties.rows], ties.bits))]))
        if part.full_scores is not None:
            part.full_scores[rows] = self._to_half_precision(scores, "scores")
        if features is None:
            return part
        kept = part.features
        if kept is None:
            kept = np.full((len(part), features.shape[1]), np.nan, dtype=np.float16)
        kept[rows] = self._to_half_precision(features, "features")
        return replace(part, features=kept)

    def _compute(self, inputs: Sequence[FloatArray], examples: Sequence[str]) -> tuple[FloatArray, FloatArray | None]:
        """Scores and features of a batch; if it does not fit into memory, it and all later batches are halved."""
        try:
            with contained():
                batch = self.model.stacked(inputs)
                if self.options.keep_features:
                    scores, features = map(np.asarray, self.model.scores_and_features(batch))
                else:
                    scores, features = np.asarray(self.model.scores(batch)), None
        except (OutOfMemory, MemoryError):
            if len(inputs) == 1:
                raise ModelError(f"{self.model.spec.name} does not fit into memory even with a batch of one") from None
        except Exception as error:  # a model is the user's code: any error is reported in one line
            raise ModelError(_error_message(error, self.model.spec.name, examples)) from error
        else:
            self._check(scores, examples)
            if features is not None:
                self._check_features(features, examples)
            return scores, features
        half = len(inputs) // 2
        self._max_batch = min(self._max_batch, half)
        halves = self._compute(inputs[:half], examples[:half]), self._compute(inputs[half:], examples[half:])
        features = np.concatenate([features for _, features in halves]) if self.options.keep_features else None
        return np.concatenate([scores for scores, _ in halves]), features

    def _check(self, scores: FloatArray, examples: Sequence[str]) -> None:
        name, space = self.model.spec.name, self.model.class_space
        expected = (len(examples), len(space))
        if scores.shape != expected or not np.issubdtype(scores.dtype, np.floating):
            raise ModelError(
                f"{name} returned {scores.dtype} of shape {scores.shape} for {_describe_examples(examples)}: expected "
                f"floating-point scores of shape {expected}, one per class of {space.name}"
            )
        broken = np.flatnonzero(~np.isfinite(scores.max(axis=1)))  # -inf may rule out classes, but not all of them
        if broken.size:
            raise ModelError(f"{name} returned scores that are not finite for example {examples[broken[0]]!r}")

    def _check_features(self, features: FloatArray, examples: Sequence[str]) -> None:
        name, width = self.model.spec.name, features.shape[-1] if features.ndim else 0
        expected = (len(examples), self._feature_width or max(width, 1))
        if features.shape != expected or not np.issubdtype(features.dtype, np.floating):
            raise ModelError(
                f"{name} returned features, {features.dtype} of shape {features.shape}, for "
                f"{_describe_examples(examples)}: expected floating-point numbers of shape {expected}"
            )
        self._feature_width = width
        broken = np.flatnonzero(~np.isfinite(features).all(axis=1))
        if broken.size:
            raise ModelError(f"{name} returned features that are not finite for example {examples[broken[0]]!r}")

    def _to_single_precision(self, scores: FloatArray, examples: Sequence[str]) -> FloatArray:
        """The top scores in single precision, as stored; -inf is kept, but no finite score may become infinite."""
        with np.errstate(all="ignore"):
            single = scores.astype(np.float32)
        too_large = np.flatnonzero((np.isinf(single) & np.isfinite(scores)).any(axis=1))
        if too_large.size:
            raise ModelError(
                f"{self.model.spec.name} returned scores too large for single precision for example "
                f"{examples[too_large[0]]!r}: scale them down"
            )
        return single

    def _to_half_precision(self, values: FloatArray, what: str) -> FloatArray:
        """Scores or features in half precision, as stored."""
        if np.abs(values, where=np.isfinite(values), out=np.zeros_like(values)).max() > np.finfo(np.float16).max:
            name = self.model.spec.name
            raise ModelError(f"{name} returned {what} too large for half precision: run it without --keep {what}")
        with np.errstate(all="ignore"):
            return values.astype(np.float16)


def _add_fingerprints(part: Part, batch: Sequence[Prepared]) -> None:
    by_row = {
        example.position - part.start: example.fingerprint for example in batch if example.fingerprint is not None
    }
    part.fingerprints[list(by_row)] = np.array(list(by_row.values()), dtype=FINGERPRINT)


def _next_block(prepared: Iterator[Prepared], block: range) -> list[Prepared]:
    batch = list(islice(prepared, len(block)))
    if [example.position for example in batch] != list(block):
        raise StoreError(f"examples {block.start} to {block.stop - 1} came out of order: this is a bug in regrade")
    return batch


def _describe_examples(examples: Sequence[str]) -> str:
    if len(examples) == 1:
        return f"example {examples[0]!r}"
    return f"the {len(examples)} examples {examples[0]!r} to {examples[-1]!r}"


def _error_message(error: Exception, name: str, examples: Sequence[str]) -> str:
    """A model's error in one line with the examples; messages of adapters already name the model."""
    text = str(error).partition("\n")[0]
    if isinstance(error, RegradeError) and name in text:
        return f"{text} ({_describe_examples(examples)})"
    return f"{name} failed on {_describe_examples(examples)}: {first_line(error)}"


def find_batch_size(model: Model, budget: int | None) -> int:
    """The largest power of two whose memory, measured on a few synthetic images, stays within a budget.

    The budget is in bytes (default: half of the free memory). If memory cannot be measured, the largest useful size.
    """
    preprocessing = model.preprocessing
    images = np.zeros((_TRIAL, preprocessing.channels, preprocessing.size, preprocessing.size), dtype=np.float32)
    try:
        with contained():
            on_gpu = model.free_memory() is not None
            model.scores(images[:1])  # warm-up: one-time allocations are not counted
            need = model.peak_memory(images) if on_gpu else _peak_on_cpu(model, images)
            free = model.free_memory() if on_gpu else _free_on_cpu()
    except (OutOfMemory, MemoryError):
        return 1
    except Exception:  # the engine gets the same error and reports it with the example
        return _MAX_ON_CPU
    allowed = budget if budget is not None else _SHARE * free if free else None
    return _largest(_MAX_ON_GPU if on_gpu else _MAX_ON_CPU, need, allowed)


def _largest(limit: int, need: int | None, allowed: float | None) -> int:
    if not need or allowed is None:
        return limit
    fitting = int(allowed * _TRIAL / need)
    return min(limit, 1 << max(fitting.bit_length() - 1, 0))


def _peak_on_cpu(model: Model, images: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> int | None:
    """Number of bytes by which this process grows while it computes; None if the system does not report it."""
    try:
        (_PROCESS / "clear_refs").write_text("5")  # reset the peak
        before = _kilobytes(_PROCESS / "status", "VmRSS")
        model.scores(images)
        return max(_kilobytes(_PROCESS / "status", "VmHWM") - before, 0) * 1024 + images.nbytes
    except OSError:
        return None


def _free_on_cpu() -> int | None:
    """Free bytes of this machine; None if the system does not report them."""
    try:
        return _kilobytes(Path("/proc/meminfo"), "MemAvailable") * 1024
    except OSError:
        return None


def _kilobytes(path: Path, field: str) -> int:
    match = re.search(rf"^{field}:\s+(\d+) kB$", path.read_text(), re.MULTILINE)
    if match is None:
        raise OSError(f"{path} has no {field}")
    return int(match[1])
