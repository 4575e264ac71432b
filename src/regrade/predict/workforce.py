"""Who computes one model on one test set: this process, or others that answer the same questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from functools import cached_property

from regrade.core import ImageSource
from regrade.models import Model, ModelMetadata
from regrade.predict.engine import EngineOptions, PredictionEngine, PredictionInput, Progress
from regrade.predict.runtime_choice import RuntimeChoice, fastest, first_images
from regrade.store import Part
from regrade.testsets import open_images


class Workforce(ABC):
    """Computes the parts of one model on one test set."""

    @property
    @abstractmethod
    def card(self) -> ModelMetadata:
        """What the answers depend on, with the runtime that computes them."""

    @property
    @abstractmethod
    def note(self) -> str:
        """Why the runtime is not the fastest one, empty where it is."""

    @abstractmethod
    def find_batch(self) -> int:
        """How many images a batch."""

    @abstractmethod
    def parts(self, wanted: Sequence[range], *, batch: int, progress: Progress) -> Generator[Part, None, None]:
        """The wanted parts, each once, in any order."""


class ThisProcess(Workforce):
    """A model that is loaded here, in the runtime that is fastest for it."""

    def __init__(self, model: Model, examples: Sequence[str], source: ImageSource, how: EngineOptions) -> None:
        self._model = model
        self._examples = examples
        self._source = source
        self._how = how

    @property
    def card(self) -> ModelMetadata:
        """The model's card."""
        return self._engine.card

    @property
    def note(self) -> str:
        """Why it is not onnxruntime."""
        return self._chosen.note

    def find_batch(self) -> int:
        """How many images a batch."""
        return self._engine.find_batch()

    def parts(self, wanted: Sequence[range], *, batch: int, progress: Progress) -> Generator[Part, None, None]:
        """The wanted parts, in order."""
        asked = PredictionInput(self._examples, self._source, open_images(self._source))
        return self._engine.parts(asked, wanted, batch=batch, progress=progress)

    @cached_property
    def _chosen(self) -> RuntimeChoice:
        return fastest(self._model, self._source, first_images(self._source), self._how)

    @cached_property
    def _engine(self) -> PredictionEngine:
        return PredictionEngine(self._chosen.model, self._how)
