"""``onnx:FILE``: a model in an ONNX file, run by onnxruntime."""

from __future__ import annotations

import hashlib
import math
import mmap
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import InputError, MismatchError, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.core.preprocessing import Preprocessing
from regrade.models.cores import usable_cores
from regrade.models.description import ModelDescription, statement
from regrade.models.failures import loading, needs, running
from regrade.models.model import Device, Model, Precision, Settings
from regrade.models.score_checks import check_width, checked_scores, checked_scores_and_features, proven_score_kind

_PROVIDERS = {Device.CPU: "CPUExecutionProvider", Device.CUDA: "CUDAExecutionProvider"}
_FEW_CORES = 4  # each takes pieces of a batch; more compute every layer together, as onnxruntime has it
_PIECE = 4  # images: few, so that what a core works on stays near it and none waits long for another
_FEATURES = "features"  # what a second output must be called
_LOCATION = re.compile(rb"\x0a\x08location\x12")  # field 1 of eight bytes, field 2 follows
_LONGEST_PATH = 4096  # what only looks like an entry, among the weights, may state any length
_TYPES: dict[str, Any] = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


@dataclass(frozen=True)
class Signature:
    """What an ONNX graph takes and gives; an axis that is free is None."""

    input: str
    output: str
    type: str
    shape: tuple[int | None, ...]
    width: int | None
    features: str | None = None


class OnnxModel(Model):
    """An ONNX graph as a model. A graph whose batch axis is fixed gets full batches; what filled them up is cut off.

    So many ``cores`` take pieces of a batch, one after another; a single one takes it whole.
    """

    def __init__(
        self,
        session: Any,
        statement: ModelDescription,
        *,
        cores: int = 1,
        weights_hash: str,
        runtime: str,
        score_kind: ScoreKind | None = None,
        training_data: str = "",
    ) -> None:
        self._session = session
        self._cores = cores
        self._signature = _signature(session, statement.name)
        _check_input(self._signature, statement.preprocessing, statement.name)
        if self._signature.width is not None:
            space = statement.class_space
            check_width(statement.name, self._signature.width, len(space), space.name)
        self.statement = statement
        self.class_space = statement.class_space
        self.preprocessing = statement.preprocessing
        self.spec = statement.spec(weights_hash, training_data)
        self.runtime = runtime
        self.score_kind = score_kind or proven_score_kind(self)

    def scores(self, batch: FloatArray) -> FloatArray:
        """Scores (n, c) for inputs (n, channels, size, size)."""
        if not len(batch):
            return np.empty((0, len(self.class_space)), dtype=np.float32)
        (scores,) = self._outputs(batch, [self._signature.output])
        return checked_scores(scores, self.statement, rows=len(batch))

    def scores_and_features(self, batch: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores (n, c) and what a graph calls its features (n, d); one without raises."""
        if self._signature.features is None:
            raise InputError(f"{self.statement.name} has no output called {_FEATURES!r}: leave out --keep features")
        scores, features = self._outputs(batch, [self._signature.output, self._signature.features])
        return checked_scores_and_features(scores, features, self.statement, rows=len(batch))

    def _outputs(self, batch: FloatArray, names: list[str]) -> list[FloatArray]:
        rows, fixed = len(batch), self._signature.shape[0]
        step = fixed or (rows if self._cores == 1 else min(math.ceil(rows / self._cores), _PIECE))
        with running(self.statement.name, batch.shape):
            images = np.ascontiguousarray(batch, dtype=_TYPES[self._signature.type])
            pieces = [_filled(images[start : start + step], fixed) for start in range(0, rows, step)]
            parts = self._runs(pieces, names)
        whole = [one[0] if len(one) == 1 else np.concatenate(one) for one in zip(*parts, strict=True)]
        return [one[:rows] if len(one) == len(parts) * step else one for one in whole]

    def _runs(self, pieces: Sequence[FloatArray], names: list[str]) -> list[list[FloatArray]]:
        if self._cores == 1 or len(pieces) == 1:
            return [self._run(images, names) for images in pieces]
        with ThreadPoolExecutor(self._cores) as pool:
            return list(pool.map(lambda images: self._run(images, names), pieces))

    def _run(self, images: FloatArray, names: list[str]) -> list[FloatArray]:
        return [np.asarray(one) for one in self._session.run(names, {self._signature.input: images})]


def load_onnx(file: str, settings: Settings) -> Model:
    """The model in an ONNX file; its classes and preprocessing must be stated, the file does not know them."""
    name, path = f"onnx:{file}", Path(file)
    _check_settings(name, path, settings)
    known = statement(name, settings)
    with loading(f"{name} cannot be read"):
        digest = file_hash(path)
    session = onnx_session(path, settings, name=name)
    runtime = onnx_runtime(settings.device)
    return OnnxModel(session, known, cores=cores_apart(settings), weights_hash=digest, runtime=runtime)


def onnx_session(path: Path, settings: Settings, *, name: str) -> Any:
    """An onnxruntime session over a file, on the device and with the threads of the settings."""
    with needs("onnx", name):
        import onnxruntime

    provider = _PROVIDERS[settings.device]
    if provider not in onnxruntime.get_available_providers():
        raise InputError(
            f"{name}: this onnxruntime cannot run on {settings.device.value}: "
            "install onnxruntime-gpu, or give --device cpu"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1 if cores_apart(settings) > 1 else settings.threads
    options.log_severity_level = 3
    with loading(f"{name} cannot be loaded by onnxruntime"):
        return onnxruntime.InferenceSession(str(path), options, providers=[provider])


def cores_apart(settings: Settings) -> int:
    """How many cores compute pieces of a batch, each by itself: where they are few, sharing every layer loses time."""
    threads = settings.threads or usable_cores()
    return threads if settings.device is Device.CPU and threads <= _FEW_CORES else 1


def onnx_runtime(device: Device) -> str:
    """What computes, as manifests record it."""
    import onnxruntime

    return f"onnxruntime {onnxruntime.__version__} {device.value} fp32"


def file_hash(path: Path) -> str:
    """A hash of an ONNX file, with the files of weights beside it: FILE.data, FILE_data, and those it names."""
    state = hashlib.sha256()
    usual = [path.with_name(path.name + ending) for ending in (".data", "_data")]
    named = sorted(path.parent / name for name in _external_files(path))
    for part in (path, *(other for other in dict.fromkeys([*usual, *named]) if _is_file(other))):
        with part.open("rb") as content:
            while block := content.read(1 << 20):
                state.update(block)
    return state.hexdigest()


def _external_files(path: Path) -> set[str]:
    """The files in which an ONNX file says that tensors of its are, by their paths from its folder.

    Each is an entry of ``external_data`` in ONNX's protobuf schema: the key "location", then the path.
    """
    if not path.stat().st_size:
        return set()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return {_text_at(content, match.end()) for match in _LOCATION.finditer(content)}


def _text_at(content: mmap.mmap, place: int) -> str:
    """A text of a protobuf message: its length, seven bits per byte, and its bytes."""
    length = shift = 0
    while place < len(content):
        byte, place = content[place], place + 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return content[place : place + min(length, _LONGEST_PATH)].decode(errors="replace")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a path that no file can have
        return False


def _check_settings(name: str, path: Path, settings: Settings) -> None:
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    if settings.precision is not Precision.FP32:
        raise InputError(f"{name} computes in the precision it was exported in: leave out --precision")
    if settings.compile:
        raise InputError(f"{name} is no torch module that could be compiled: leave out --compile")
    if settings.device not in _PROVIDERS:
        raise InputError(f"{name}: onnxruntime runs on cpu or cuda here, not on {settings.device.value}")


def _signature(session: Any, name: str) -> Signature:
    inputs, outputs = session.get_inputs(), session.get_outputs()
    features = next((one.name for one in outputs[1:] if one.name == _FEATURES), None)
    outputs = [one for one in outputs if one.name != features]
    for what, found in (("inputs", inputs), ("outputs", outputs)):
        if len(found) != 1:
            names = ", ".join(one.name for one in found)
            raise InputError(f"{name} has {len(found)} {what} ({names}), expected one: images in, scores out")
    shape = tuple(axis if isinstance(axis, int) and axis > 0 else None for axis in inputs[0].shape)
    last = outputs[0].shape[-1] if outputs[0].shape else None
    width = last if isinstance(last, int) and last > 0 else None
    return Signature(inputs[0].name, outputs[0].name, inputs[0].type, shape, width, features)


def _check_input(signature: Signature, recipe: Preprocessing, name: str) -> None:
    if signature.type not in _TYPES:
        raise InputError(f"{name} takes {signature.type}, expected 32-bit floats: export it with a float input")
    shape, wanted = signature.shape, (recipe.channels, recipe.size, recipe.size)
    if len(shape) != 4:
        raise InputError(f"{name} takes an input of {len(shape)} axes, expected (batch, channels, height, width)")
    if shape[3] in (1, 3) and shape[1] not in (1, 3):
        raise InputError(f"{name} takes the channels last, expected (batch, channels, height, width): export it so")
    if any(axis not in (None, size) for axis, size in zip(shape[1:], wanted, strict=True)):
        given = " x ".join("?" if axis is None else str(axis) for axis in shape[1:])
        raise MismatchError(
            f"{name} takes inputs of {given}, but its preprocessing makes {' x '.join(map(str, wanted))}: "
            "give one that fits with --size and --short-side"
        )


def _filled(images: FloatArray, fixed: int | None) -> FloatArray:
    """A batch of exactly as many rows as are ``fixed``, if any: the last row is repeated."""
    missing = fixed - len(images) if fixed else 0
    return np.concatenate([images, np.repeat(images[-1:], missing, axis=0)]) if missing else images
