"""On a CPU a torch model runs faster through onnxruntime: taken where both give the same answers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from regrade.core import Picture, PictureSource, UnreadablePicture
from regrade.models import Model, as_onnx
from regrade.models.failures import contained
from regrade.predict.engine import How
from regrade.predict.prepare import Preparing, prepare
from regrade.testsets import open_pictures

_COMPARED = 16  # pictures, always the test set's first: the choice does not depend on what an earlier run has left


@dataclass(frozen=True)
class Chosen:
    """What runs a model, and why it is not onnxruntime where it is not."""

    model: Model
    note: str = ""


def first_pictures(source: PictureSource) -> dict[int, Picture]:
    """The pictures on which models are compared, by position; fewer where some cannot be read."""
    pictures = open_pictures(source)
    readable = {}
    for position in range(min(_COMPARED, len(source.locations))):
        with suppress(UnreadablePicture):
            readable[position] = pictures.read(position)
    return readable


def fastest(model: Model, source: PictureSource, pictures: Mapping[int, Picture], how: How) -> Chosen:
    """The model's twin in onnxruntime if it agrees on the first pictures, else the model itself."""
    preparing = Preparing(model.preprocessing, how.resizer)
    ready = (prepare(position, picture, source, preparing) for position, picture in pictures.items())
    inputs = [one.input for one in ready if one.input is not None]
    if not inputs:
        return Chosen(model)
    try:
        with contained():
            exported = as_onnx(model, model.stacked(inputs), features=how.keep_features)
    except Exception:  # the engine will meet it again, and tells it with the example
        return Chosen(model)
    if exported.model is not None:
        return Chosen(exported.model)
    return Chosen(model, f"not through onnxruntime: {exported.reason}" if exported.reason else "")
