"""Compute one model on one test set, in the fastest runtime that gives the same scores, or on a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from regrade.core import ImageSource, InputError, StoredImage, UnreadableImage
from regrade.core.arrays import FloatArray
from regrade.models import Device, Model, ModelMetadata, Resizer, can_export, export_to_onnx, fastest_resizer
from regrade.models.failures import contained
from regrade.models.torch_runtime import TorchModel
from regrade.predict.engine import EngineOptions, PredictionEngine, PredictionInput
from regrade.predict.gpu_engine import GpuEngine
from regrade.predict.gpu_runtime import fastest_on_gpu
from regrade.predict.prepare import PreparationOptions, prepare_on_cpu
from regrade.predict.shared_pass import Progress
from regrade.store import Part
from regrade.testsets import open_images

_COMPARED = 16  # images, always the first of the test set: the choice must not depend on earlier runs


class Predictor(ABC):
    """Computes the parts of one model's predictions on one test set."""

    metadata: ModelMetadata
    """Everything that predictions depend on, including the runtime that computes them."""

    @property
    @abstractmethod
    def note(self) -> str:
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
        self._choice = choose_runtime(model, source, options)
        self.engine = engine_for(self._choice.model, options)
        self._examples = examples
        self._source = source
        self.metadata = self.engine.metadata

    @property
    def note(self) -> str:
        """Why the runtime is not the fastest one, and how long it took to compile the model, if so."""
        return ", ".join(filter(None, (self._choice.note, self.engine.note)))

    def find_batch_size(self) -> int:
        """Number of images per batch."""
        return self.engine.find_batch_size()

    def parts(self, ranges: Sequence[range], *, batch: int, progress: Progress) -> Generator[Part, None, None]:
        """The predictions of each range of examples, in order."""
        inputs = PredictionInput(self._examples, self._source, open_images(self._source))
        return self.engine.parts(inputs, ranges, batch=batch, progress=progress)


def engine_for(model: Model, options: EngineOptions) -> PredictionEngine | GpuEngine:
    """The engine that runs a model fastest: torch models on a GPU have their own."""
    if isinstance(model, TorchModel) and model.settings.device is Device.CUDA:
        return GpuEngine(model, options)
    if options.resizer is Resizer.GPU:
        raise InputError(
            f"{model.spec.name} is no torch model on a GPU, where its images could be prepared: give --device cuda or "
            "another --resizer"
        )
    return PredictionEngine(model, options)


@dataclass(frozen=True)
class RuntimeChoice:
    """The model to run, and the reason if it is not in the fastest runtime."""

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

    On a GPU, the model in half precision if that agrees, and compiled if there are many images. ``images`` are the
    `first_images` if they are read already.
    """
    on_gpu = isinstance(model, TorchModel) and model.settings.device is Device.CUDA
    if not on_gpu and not can_export(model):
        return RuntimeChoice(model)
    images = first_images(source) if images is None else images
    inputs = _inputs(model, images, source, options)
    if isinstance(model, TorchModel) and on_gpu:
        model = model.unfused() if options.keep_features else model
        return RuntimeChoice(*fastest_on_gpu(model, inputs, count=len(source.locations)))
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


def _inputs(
    model: Model, images: Mapping[int, StoredImage], source: ImageSource, options: EngineOptions
) -> list[FloatArray]:
    """Inputs of the readable images, prepared on the CPU."""
    resizer = options.resizer if options.resizer in (Resizer.PILLOW, Resizer.TORCH) else fastest_resizer()
    preparation = PreparationOptions(model.preprocessing, resizer)
    prepared = (prepare_on_cpu(position, image, source, preparation) for position, image in images.items())
    return [example.input for example in prepared if example.input is not None]
