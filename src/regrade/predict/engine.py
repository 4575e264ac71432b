"""Compute models on one test set: every example exactly once, part by part."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from threading import Lock
from typing import Any

import numpy as np

from regrade.core import (
    FINGERPRINT,
    Images,
    ImageSource,
    ModelError,
)
from regrade.core.arrays import FloatArray
from regrade.core.predictions import STORED_K
from regrade.metrics import ties_across, top_k_classes
from regrade.models import Model, ModelMetadata, OutOfMemory, Resizer, fastest_resizer
from regrade.models.failures import contained
from regrade.predict.batch_size import find_batch_size
from regrade.predict.outputs import OutputCheck, Outputs, error_message, shortage_message
from regrade.predict.prepare import (
    MAX_THREADS,
    PreparationOptions,
    Prepared,
    prepare_all,
)
from regrade.predict.shared_pass import Collector, Outcome, Progress, SharedPass, out_of_order, parts_only
from regrade.store import Part, empty_part

PART_SIZE = 1024
"""Examples per part: the most that a killed run loses."""

MIN_EXAMPLES_FOR_PROCESSES = 2_000
"""Number of examples from which it pays off to start processes that prepare images."""


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
    ``retry_unreadable``, images that were stored as unreadable are computed again. ``models`` is the number of models
    that run together and share the memory.
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
    models: int = 1


@dataclass(frozen=True, eq=False)
class PredictionInput:
    """The examples to predict: their ids, and their images."""

    examples: Sequence[str]
    source: ImageSource
    images: Images


@dataclass(frozen=True)
class Share:
    """One model of a pass: its engine, the ranges of examples that it lacks, and its images per batch."""

    engine: Any  # each kind of engine has its own passes
    ranges: Sequence[range]
    batch: int


class Engine(ABC):
    """Runs one model, alone or in one pass with others of the same kind."""

    model: Model
    options: EngineOptions
    resizer: Resizer

    @property
    @abstractmethod
    def note(self) -> str:
        """What is worth knowing about how the model ran; empty if nothing is."""

    @property
    def metadata(self) -> ModelMetadata:
        """The model's metadata; the runtime includes the resizer."""
        metadata = self.model.metadata
        return replace(metadata, runtime=f"{metadata.runtime}, images by {self.resizer.runtime}")

    def find_batch_size(self) -> int:
        """Number of images per batch, from the options or the memory."""
        options = self.options
        return options.batch or find_batch_size(self.model, options.memory, models=options.models)

    def parts(
        self, inputs: PredictionInput, ranges: Sequence[range], *, batch: int, progress: Progress
    ) -> Generator[Part, None, None]:
        """Predict ranges of examples, one part each."""
        return parts_only(self.together([Share(self, ranges, batch)], inputs, progress=progress))

    @staticmethod
    @abstractmethod
    def together(
        shares: Sequence[Share], inputs: PredictionInput, *, progress: Progress
    ) -> Generator[Outcome, None, None]:
        """Predict the missing parts of several models in one pass through the images."""

    def empty_part(self, positions: range) -> Part:
        """A part without predictions."""
        width = len(self.model.class_space)
        return empty_part(positions, k=min(STORED_K, width), width=width if self.options.keep_scores else None)


class PredictionEngine(Engine):
    """Runs models in this process; each engine remembers the largest batch that fits on the device.

    Images are prepared by workers while the models compute. A batch never crosses the end of a part, so the
    predictions do not depend on which parts an earlier run has left. Several threads may request parts at once.
    """

    def __init__(self, model: Model, options: EngineOptions) -> None:
        self.model = model
        self.options = options
        self.resizer = options.resizer or fastest_resizer()
        self.max_batch = sys.maxsize
        self._output = OutputCheck(model)
        self._model_lock = Lock()

    note = ""

    @property
    def preparation(self) -> PreparationOptions:
        """How images are prepared for the model."""
        return PreparationOptions(self.model.preprocessing, self.resizer, self.model.takes_pixels)

    @staticmethod
    def together(
        shares: Sequence[Share], inputs: PredictionInput, *, progress: Progress
    ) -> Generator[Outcome, None, None]:
        """Predict the missing parts of several models in one pass through the images."""
        options = shares[0].engine.options
        images = SharedPass([share.ranges for share in shares], [share.engine.preparation for share in shares])
        processes = options.workers > MAX_THREADS and len(images) >= MIN_EXAMPLES_FOR_PROCESSES
        sizes = [share.batch for share in shares]
        prepared = prepare_all(
            inputs.images,
            inputs.source,
            images.ways,
            ((block.start, ways) for block, ways in images.requests(1)),
            workers=options.workers if processes else min(options.workers, MAX_THREADS),
            ahead=2 * max(sizes) + options.workers,
            processes=processes,
        )
        collectors = [_BatchCollector(share, inputs.examples) for share in shares]
        with closing(prepared):
            yield from images.outcomes(prepared, collectors, inputs.source, batch=min(sizes), progress=progress)

    def predicted(self, part: Part, examples: Sequence[str], batch: Sequence[Prepared]) -> Part:
        """A part with the predictions of a batch filled in, and the reasons for unreadable images."""
        _add_fingerprints(part, batch)
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
                raise ModelError(shortage_message(self.model.spec.name, self.options.models)) from None
        except Exception as error:  # a model is the user's code: any error is reported in one line
            raise ModelError(error_message(error, self.model.spec.name, examples)) from error
        else:
            self._output.scores(scores, examples)
            if features is not None:
                self._output.features(features, examples)
            return scores, features
        half = len(inputs) // 2
        self.max_batch = min(self.max_batch, half)
        halves = self._compute(inputs[:half], examples[:half]), self._compute(inputs[half:], examples[half:])
        features = np.concatenate([features for _, features in halves]) if self.options.keep_features else None
        return np.concatenate([scores for scores, _ in halves]), features


def _add_fingerprints(part: Part, batch: Sequence[Prepared]) -> None:
    by_row = {
        example.position - part.start: example.fingerprint for example in batch if example.fingerprint is not None
    }
    part.fingerprints[list(by_row)] = np.array(list(by_row.values()), dtype=FINGERPRINT)


class _BatchCollector(Collector):
    """Collects prepared images until they fill a batch, and batches until they fill a part."""

    def __init__(self, share: Share, examples: Sequence[str]) -> None:
        self._engine = share.engine
        self._examples = examples
        self._size = share.batch
        self._ranges = iter(share.ranges)
        self._positions = range(0)  # that are left of the part
        self._part: Part | None = None
        self._batch: list[Prepared] = []

    def add(self, images: Prepared) -> Part | None:
        """Take the next image; the model runs if that fills a batch or ends a part."""
        part = self._begun() if self._part is None else self._part
        if not self._positions or images.position != self._positions[0]:
            raise out_of_order(images.position)
        self._batch.append(images)
        self._positions = self._positions[1:]
        if self._positions and len(self._batch) < min(self._size, self._engine.max_batch):
            return None
        batch, self._batch = self._batch, []
        self._part = self._engine.predicted(part, self._examples, batch)
        if self._positions:
            return None
        part, self._part = self._part, None
        return part

    def finish(self) -> None:
        """Raise if images are missing."""
        if self._part is not None or next(self._ranges, None) is not None:
            raise out_of_order(self._positions.start)

    def _begun(self) -> Part:
        self._positions = next(self._ranges, range(0))
        self._part = self._engine.empty_part(self._positions)
        return self._part
