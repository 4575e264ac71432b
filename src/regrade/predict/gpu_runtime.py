"""How a torch model runs fastest on a GPU: in half precision if its scores stay the same, compiled for many images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regrade.core.arrays import FloatArray
from regrade.models import OutOfMemory, Precision
from regrade.models.failures import first_line
from regrade.models.torch_runtime import TorchModel, computes_in_bf16

TOLERANCE = 0.02
"""Largest allowed difference of scores in half precision, relative to the largest absolute score of the batch."""

COMPILED_FROM = 1_000_000
"""Number of images from which compiling takes less time than it saves.

An estimate: compiling a ResNet-50 took 15 s on an H200, and decoding limits what a faster model saves.
"""


def fastest_on_gpu(model: TorchModel, images: Sequence[FloatArray], *, count: int) -> tuple[TorchModel, str]:
    """The model to run on ``count`` images, and why it is not in half precision, if so.

    ``images`` are the first ones, as inputs of the model. What the settings state is kept.
    """
    settings, note = model.settings, ""
    if settings.precision is None:
        model, note = _in_half_precision(model, images)
    if settings.compile is None and count >= COMPILED_FROM:
        model = model.with_settings(replace(model.settings, compile=True))
    return model, note


def _in_half_precision(model: TorchModel, images: Sequence[FloatArray]) -> tuple[TorchModel, str]:
    """The model in half precision, with the most exact type that gives the same scores, or as it is and the reason."""
    kinds = [Precision.FP16, Precision.BF16] if computes_in_bf16() else [Precision.FP16]
    reason = "no image to compare on"
    for kind in kinds if len(images) else ():
        try:
            batch = np.stack(images)
            expected = model.scores(batch)
            candidate = model.with_settings(replace(model.settings, precision=kind))
            reason = _difference(expected, candidate.scores(batch))
        except OutOfMemory:
            reason = "too little memory to compare"
        except (
            Exception
        ) as error:  # the engine gets errors of the model itself again, and reports them with the example
            reason = first_line(error)
        if not reason:
            return candidate, ""
    return model, f"not in half precision: {reason}"


def _difference(expected: FloatArray, actual: FloatArray) -> str:
    if not np.array_equal(expected.argmax(axis=1), actual.argmax(axis=1)):
        return "the top class of an image changes"
    finite = np.isfinite(expected)
    largest = np.abs(expected[finite]).max(initial=0)
    change = np.abs(expected[finite] - actual[finite]).max(initial=0)
    return "" if change <= TOLERANCE * largest else f"scores change by up to {change:.2g}"
