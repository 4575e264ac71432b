"""Predictors compute one model on one test set: in this process, or on a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence

from regrade.core import ImageSource
from regrade.models import Model, ModelMetadata
from regrade.predict.engine import EngineOptions, PredictionEngine, PredictionInput, Progress
from regrade.predict.runtime_choice import choose_runtime
from regrade.store import Part
from regrade.testsets import open_images


class Predictor(ABC):
    """Computes the parts of one model's predictions on one test set."""

    metadata: ModelMetadata
    """Everything that predictions depend on, including the runtime that computes them."""

    note: str
    """Why the runtime is not the fastest one; empty if it is."""

    @abstractmethod
    def find_batch_size(self) -> int:
        """Number of images per batch."""

    @abstractmethod
    def parts(self, ranges: Sequence[range], *, batch: int, progress: Progress) -> Generator[Part, None, None]:
        """The predictions of each range of examples, each once, in any order."""


class LocalPredictor(Predictor):
    """Computes in this process, in the runtime that is fastest for the model; the runtime is chosen at once."""

    def __init__(self, model: Model, examples: Sequence[str], source: ImageSource, options: EngineOptions) -> None:
        choice = choose_runtime(model, source, options)
        self._engine = PredictionEngine(choice.model, options)
        self._examples = examples
        self._source = source
        self.metadata = self._engine.metadata
        self.note = choice.note

    def find_batch_size(self) -> int:
        """Number of images per batch."""
        return self._engine.find_batch_size()

    def parts(self, ranges: Sequence[range], *, batch: int, progress: Progress) -> Generator[Part, None, None]:
        """The predictions of each range of examples, in order."""
        inputs = PredictionInput(self._examples, self._source, open_images(self._source))
        return self._engine.parts(inputs, ranges, batch=batch, progress=progress)
