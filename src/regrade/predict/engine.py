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
    StoreError,
)
from regrade.core.arrays import FloatArray
from regrade.core.predictions import STORED_K
from regrade.metrics import ties_across, top_k_classes
from regrade.models import Model, ModelMetadata, OutOfMemory, Resizer, fastest_resizer
from regrade.models.failures import contained
from regrade.predict.outputs import OutputCheck, Outputs, error_message
from regrade.predict.prepare import (
    MAX_THREADS,
    PreparationOptions,
    Prepared,
    check_source_exists,
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

    Without a ``batch``, its size is chosen to fit into ``memory`` (bytes; default: half of the free memory); without a
    ``resizer``, the fastest one for the model is used.
    ``allow_unreadable`` is the share of images that may be unreadable (default: see `UnreadableLimit`); with
    ``retry_unreadable``, images that were stored as unreadable are computed again.
    """

    batch: int | None = None
    workers: int = 2
    part_size: int = PART_SIZE
    keep_scores: bool = False
    keep_features: bool = False
    memory: int | None = None
    resizer: Resizer | None = Resizer.PILLOW
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
        self._resizer = options.resizer or fastest_resizer()
        self._max_batch = sys.maxsize
        self._output = OutputCheck(model)
        self._model_lock = Lock()

    note = ""

    @property
    def metadata(self) -> ModelMetadata:
        """The model's metadata; the runtime includes the resizer."""
        metadata = self.model.metadata
        return replace(metadata, runtime=f"{metadata.runtime}, images by {self._resizer.runtime}")

    def find_batch_size(self) -> int:
        """Number of images per batch, from the options or the memory."""
        return self.options.batch or find_batch_size(self.model, self.options.memory)

    def parts(
        self, inputs: PredictionInput, ranges: Sequence[range], *, batch: int, progress: Progress
    ) -> Generator[Part, None, None]:
        """Predict ranges of examples, one part each."""
        preparation = PreparationOptions(self.model.preprocessing, self._resizer, self.model.takes_pixels)
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
                    part = self._with_predictions(part, inputs.examples, examples)
                    progress(len(block))
                if part.unreadable:
                    check_source_exists(inputs.source)
                yield part

    def _uses_processes(self, examples: int) -> bool:
        """Whether processes prepare the images: if threads would be too slow, and there are many images."""
        return self.options.workers > MAX_THREADS and examples >= MIN_EXAMPLES_FOR_PROCESSES

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
        best = top_k_classes(scores, k=part.classes.shape[1])
        outputs = Outputs(
            [examples[position] for position in inputs],
            np.array(list(inputs)) - part.start,
            best,
            np.take_along_axis(scores, best, axis=1),
            ties_across(scores, best),
            scores if self.options.keep_scores else None,
            features,
        )
        return self._output.stored(outputs, part)

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
            raise ModelError(error_message(error, self.model.spec.name, examples)) from error
        else:
            self._output.scores(scores, examples)
            if features is not None:
                self._output.features(features, examples)
            return scores, features
        half = len(inputs) // 2
        self._max_batch = min(self._max_batch, half)
        halves = self._compute(inputs[:half], examples[:half]), self._compute(inputs[half:], examples[half:])
        features = np.concatenate([features for _, features in halves]) if self.options.keep_features else None
        return np.concatenate([scores for scores, _ in halves]), features


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
