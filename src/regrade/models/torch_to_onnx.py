"""Run a torch model through onnxruntime, if both give the same scores."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regrade.core.arrays import FloatArray
from regrade.core.errors import RegradeError
from regrade.models.failures import contained, first_line
from regrade.models.model import Device, Model, Precision
from regrade.models.onnx_model import OnnxModel, onnx_runtime, onnx_session, parallel_cores
from regrade.models.torch_runtime import TorchModel

TOLERANCE = 1e-3
"""Largest allowed difference from torch's scores, relative to the largest absolute score of the batch."""


@dataclass(frozen=True)
class OnnxExport:
    """A model that onnxruntime runs, or None and the reason; the reason is empty if no export was attempted."""

    model: Model | None
    reason: str = ""


def can_export(model: Model) -> bool:
    """Whether a model may be exported: a torch model that runs on the CPU in single precision and is not compiled."""
    if not isinstance(model, TorchModel):
        return False
    settings = model.settings
    return settings.device is Device.CPU and settings.precision in (None, Precision.FP32) and not settings.compile


def export_to_onnx(model: Model, batch: FloatArray, *, features: bool = False) -> OnnxExport:
    """Export a torch model to onnxruntime on the CPU, if both agree on ``batch`` (n, channels, size, size).

    They agree if the top class of every image is the same and all scores, and the features if ``features`` is set, lie
    within `TOLERANCE`, both in the batch and for its first image alone. The recorded weights are those of the torch
    model.
    """
    if not can_export(model) or not isinstance(model, TorchModel):
        return OnnxExport(None)
    if len(batch) == 0:
        return OnnxExport(None, "there is no image to compare on")
    return _export_and_compare(model, batch, features)


def _export_and_compare(model: TorchModel, batch: FloatArray, features: bool) -> OnnxExport:
    """The export if it agrees with the model; errors of the model itself are raised."""
    expected = _outputs(model, batch.copy(), features)  # a module may write into its input
    try:
        with contained():  # the export runs the module once more
            exported = _export(model, features)
        first = [output[:1] for output in expected]
        reason = _difference(expected, _outputs(exported, batch, features))
        reason = reason or _difference(first, _outputs(exported, batch[:1], features))
    except RegradeError as error:
        return OnnxExport(None, str(error))
    except Exception as error:  # exporters raise many kinds of errors
        return OnnxExport(None, f"it cannot be exported ({first_line(error)})")
    return OnnxExport(None, reason) if reason else OnnxExport(exported)


def _outputs(model: Model, batch: FloatArray, features: bool) -> list[FloatArray]:
    return list(model.scores_and_features(batch)) if features else [model.scores(batch)]


def _export(model: TorchModel, features: bool) -> OnnxModel:
    with tempfile.TemporaryDirectory(prefix="regrade-") as folder:
        path = Path(folder) / "model.onnx"
        model.export(path, features=features)
        session = onnx_session(path, model.settings, name=model.spec.name)
        return OnnxModel(
            session,
            model.description,
            cores=parallel_cores(model.settings),
            weights_hash=model.spec.weights_hash,
            runtime=f"{onnx_runtime(Device.CPU)}, exported from {model.runtime.rsplit(' ', 2)[0]}",
            score_kind=model.score_kind,
            training_data=model.spec.training_data,
            parameters=model.spec.parameters,
        )


def _difference(expected: list[FloatArray], exported: list[FloatArray]) -> str:
    """How the export's scores and features differ from torch's; empty if they agree."""
    changed = int(np.sum(expected[0].argmax(axis=1) != exported[0].argmax(axis=1)))
    if changed:
        return f"its export changes the top class of {changed} of {len(expected[0])} images"
    return next(filter(None, map(_distance, ("scores", "features"), expected, exported)), "")


def _distance(what: str, expected: FloatArray, exported: FloatArray) -> str:
    finite = np.isfinite(expected)
    if not np.array_equal(finite, np.isfinite(exported)):
        return f"its export gives infinite {what} where torch gives finite ones, or the reverse"
    scale = float(np.abs(expected[finite]).max(initial=0))
    difference = float(np.abs(expected[finite] - exported[finite]).max(initial=0))
    if difference > TOLERANCE * scale:
        return (
            f"its export's {what} differ by up to {difference:.2g} from torch's, more than {TOLERANCE:g} x {scale:.3g}"
        )
    return ""
