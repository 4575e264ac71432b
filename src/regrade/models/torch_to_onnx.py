"""Running a torch model through onnxruntime, where both give the same answers."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regrade.core.arrays import FloatArray
from regrade.core.errors import RegradeError
from regrade.models.failures import contained, first_line
from regrade.models.model import Device, Model, Precision
from regrade.models.onnx_model import OnnxModel, cores_apart, onnx_runtime, onnx_session
from regrade.models.torch_runtime import TorchModel

TOLERANCE = 1e-3
"""How far scores may lie from torch's, as a part of the largest absolute score of the batch."""


@dataclass(frozen=True)
class Exported:
    """A model that onnxruntime runs, or None and the reason why there is none, empty where none was to be expected."""

    model: Model | None
    reason: str = ""


def as_onnx(model: Model, batch: FloatArray, *, features: bool = False) -> Exported:
    """A torch model as one that onnxruntime runs on the CPU, if on ``batch`` (n, channels, size, size) both agree.

    They agree when the best class of every image is the same and all scores, and ``features`` where they are
    wanted, lie within `TOLERANCE`, in the batch and for its first image alone. The recorded weights are those of
    the torch model.
    """
    if not isinstance(model, TorchModel):
        return Exported(None)
    settings = model.settings
    if settings.device is not Device.CPU or settings.precision is not Precision.FP32 or settings.compile:
        return Exported(None)  # as the user wants it
    if len(batch) == 0:
        return Exported(None, "there is no image to compare on")
    return _twin(model, batch, features)


def _twin(model: TorchModel, batch: FloatArray, features: bool) -> Exported:
    """The export if it agrees with the model; what is wrong with the model itself raises."""
    expected = _answers(model, batch.copy(), features)  # a module may write into its input
    try:
        with contained():  # the export runs the module once more
            twin = _exported(model, features)
        first = [one[:1] for one in expected]
        reason = _difference(expected, _answers(twin, batch, features))
        reason = reason or _difference(first, _answers(twin, batch[:1], features))
    except RegradeError as error:
        return Exported(None, str(error))
    except Exception as error:  # an exporter fails in as many ways as there are operators
        return Exported(None, f"it cannot be exported ({first_line(error)})")
    return Exported(None, reason) if reason else Exported(twin)


def _answers(model: Model, batch: FloatArray, features: bool) -> list[FloatArray]:
    return list(model.scores_and_features(batch)) if features else [model.scores(batch)]


def _exported(model: TorchModel, features: bool) -> OnnxModel:
    with tempfile.TemporaryDirectory(prefix="regrade-") as folder:
        path = Path(folder) / "model.onnx"
        model.export(path, features=features)
        session = onnx_session(path, model.settings, name=model.spec.name)
        return OnnxModel(
            session,
            model.statement,
            cores=cores_apart(model.settings),
            weights_hash=model.spec.weights_hash,
            runtime=f"{onnx_runtime(Device.CPU)}, exported from {model.runtime.rsplit(' ', 2)[0]}",
            score_kind=model.score_kind,
            training_data=model.spec.training_data,
        )


def _difference(expected: list[FloatArray], given: list[FloatArray]) -> str:
    """How the export's scores, and features where there are any, differ from torch's; empty where they agree."""
    changed = int(np.sum(expected[0].argmax(axis=1) != given[0].argmax(axis=1)))
    if changed:
        return f"its export changes the best class of {changed} of {len(expected[0])} images"
    return next(filter(None, map(_distance, ("scores", "features"), expected, given)), "")


def _distance(what: str, expected: FloatArray, given: FloatArray) -> str:
    finite = np.isfinite(expected)
    if not np.array_equal(finite, np.isfinite(given)):
        return f"its export gives infinite {what} elsewhere"
    scale = float(np.abs(expected[finite]).max(initial=0))
    apart = float(np.abs(expected[finite] - given[finite]).max(initial=0))
    if apart > TOLERANCE * scale:
        return f"its export's {what} lie up to {apart:.2g} from torch's, more than {TOLERANCE:g} of {scale:.3g}"
    return ""
