"""On a CPU a torch model runs faster through onnxruntime: taken where both give the same answers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from regrade.core import ImageSource, StoredImage, UnreadableImage
from regrade.models import Model, as_onnx
from regrade.models.failures import contained
from regrade.predict.engine import EngineOptions
from regrade.predict.prepare import PreparationOptions, prepare
from regrade.testsets import open_images

_COMPARED = 16  # images, always the test set's first: the choice does not depend on what an earlier run has left


@dataclass(frozen=True)
class RuntimeChoice:
    """What runs a model, and why it is not onnxruntime where it is not."""

    model: Model
    note: str = ""


def first_images(source: ImageSource) -> dict[int, StoredImage]:
    """The images on which models are compared, by position; fewer where some cannot be read."""
    images = open_images(source)
    readable = {}
    for position in range(min(_COMPARED, len(source.locations))):
        with suppress(UnreadableImage):
            readable[position] = images.read(position)
    return readable


def fastest(model: Model, source: ImageSource, images: Mapping[int, StoredImage], how: EngineOptions) -> RuntimeChoice:
    """The model's twin in onnxruntime if it agrees on the first images, else the model itself."""
    preparing = PreparationOptions(model.preprocessing, how.resizer)
    ready = (prepare(position, image, source, preparing) for position, image in images.items())
    inputs = [one.input for one in ready if one.input is not None]
    if not inputs:
        return RuntimeChoice(model)
    try:
        with contained():
            exported = as_onnx(model, model.stacked(inputs), features=how.keep_features)
    except Exception:  # the engine will meet it again, and tells it with the example
        return RuntimeChoice(model)
    if exported.model is not None:
        return RuntimeChoice(exported.model)
    return RuntimeChoice(model, f"not through onnxruntime: {exported.reason}" if exported.reason else "")
