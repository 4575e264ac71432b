"""Choose the runtime of a model: on a CPU, onnxruntime runs a torch model faster; used if both give the same scores."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from regrade.core import ImageSource, StoredImage, UnreadableImage
from regrade.models import Model, can_export, export_to_onnx
from regrade.models.failures import contained
from regrade.predict.engine import EngineOptions
from regrade.predict.prepare import PreparationOptions, prepare
from regrade.testsets import open_images

_COMPARED = 16  # images, always the first of the test set: the choice must not depend on earlier runs


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
