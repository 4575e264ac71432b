"""Compute one model on one test set, in the fastest runtime that gives the same scores, or on a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from regrade.core import ImageSource, StoredImage, UnreadableImage
from regrade.models import Model, ModelMetadata, can_export, export_to_onnx
from regrade.models.failures import contained
from regrade.predict.engine import EngineOptions, PredictionEngine, PredictionInput, Progress
from regrade.predict.prepare import PreparationOptions, prepare
from regrade.store import Part
from regrade.testsets import open_images

_COMPARED = 16  # images, always the first of the test set: the choice must not depend on earlier runs


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


@dataclass(frozen=True)
class RuntimeChoice:
    """The model to run, and the reason if it is not the export to onnxruntime."""

    model: Model
    note: str = ""


def first_images(source: ImageSource) -> dict[int, StoredImage]:
    """The images on which runtimes are compared, by position; unreadable ones are left out."""
    images = open_images(source)
    readable = {}
    for position in range(min(_COMPARED, len(source.locations))):
        with suppress(UnreadableImage):
            readable[position] = images.read(position)
    return readable


def choose_runtime(
    model: Model, source: ImageSource, options: EngineOptions, images: Mapping[int, StoredImage] | None = None
) -> RuntimeChoice:
    """The model's export to onnxruntime if it agrees on the first images, otherwise the model itself.

    ``images`` are the `first_images` if they are read already. A model that cannot be exported needs none.
    """
    if not can_export(model):
        return RuntimeChoice(model)
    preparation = PreparationOptions(model.preprocessing, options.resizer)
    images = first_images(source) if images is None else images
    prepared = (prepare(position, image, source, preparation) for position, image in images.items())
    inputs = [example.input for example in prepared if example.input is not None]
    if not inputs:
        return RuntimeChoice(model)
    try:
        with contained():
            exported = export_to_onnx(model, model.stacked(inputs), features=options.keep_features)
    except Exception:  # the engine gets the same error and reports it with the example
        return RuntimeChoice(model)
    if exported.model is not None:
        return RuntimeChoice(exported.model)
    return RuntimeChoice(model, f"not through onnxruntime: {exported.reason}" if exported.reason else "")
