"""``onnx:FILE``: a model in an ONNX file, run by onnxruntime."""

from __future__ import annotations

import hashlib
import importlib.util
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
from regrade.core.cores import usable_cores
from regrade.core.model_spec import Preprocessing
from regrade.models.description import (
    ModelDescription,
    check_width,
    checked_scores,
    checked_scores_and_features,
    describe_model,
    detect_score_kind,
)
from regrade.models.failures import loading, needs, running
from regrade.models.model import Device, Model, Precision, Settings

_PROVIDERS = {Device.CPU: "CPUExecutionProvider", Device.CUDA: "CUDAExecutionProvider"}
_MAX_PARALLEL_CORES = 4  # up to here each core takes its own images; with more, onnxruntime splits every layer
_PIECE = 4  # images per core at a time: few, so that they stay in its cache and no core waits long for another
_FEATURES = "features"  # required name of a second output
_LOCATION = re.compile(rb"\x0a\x08location\x12")  # field 1 of eight bytes, field 2 follows
_LONGEST_PATH = 4096  # bytes among the weights that only look like an entry may state any length
_TYPES: dict[str, Any] = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


@dataclass(frozen=True)
class Signature:
    """Input and outputs of an ONNX graph; a dynamic axis is None."""

    input: str
    output: str
    type: str
    shape: tuple[int | None, ...]
    width: int | None
    features: str | None = None


class OnnxModel(Model):
    """An ONNX graph as a model. For a graph with a fixed batch size, batches are padded and the padding is dropped.

    A batch is computed in pieces by ``cores`` in parallel, or as a whole by a single one.
    """

    def __init__(
        self,
        session: Any,
        description: ModelDescription,
        *,
        cores: int = 1,
        weights_hash: str,
        runtime: str,
        score_kind: ScoreKind | None = None,
        training_data: str = "",
        parameters: int | None = None,
    ) -> None:
        self._session = session
        self._cores = cores
        self._signature = _signature(session, description.name)
        _check_input(self._signature, description.preprocessing, description.name)
        if self._signature.width is not None:
            space = description.class_space
            check_width(description.name, self._signature.width, len(space), space.name)
        self.description = description
        self.class_space = description.class_space
        self.preprocessing = description.preprocessing
        self.spec = description.spec(weights_hash, training_data, parameters)
        self.runtime = runtime
        self.score_kind = score_kind or detect_score_kind(self)

    def scores(self, batch: FloatArray) -> FloatArray:
        """Scores (n, c) for inputs (n, channels, size, size)."""
        if not len(batch):
            return np.empty((0, len(self.class_space)), dtype=np.float32)
        (scores,) = self._outputs(batch, [self._signature.output])
        return checked_scores(scores, self.description, rows=len(batch))

    def scores_and_features(self, batch: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores (n, c) and the graph's output ``features`` (n, d); raises if there is none."""
        if self._signature.features is None:
            raise InputError(f"{self.description.name} has no output called {_FEATURES!r}: leave out --keep features")
        scores, features = self._outputs(batch, [self._signature.output, self._signature.features])
        return checked_scores_and_features(scores, features, self.description, rows=len(batch))

    def _outputs(self, batch: FloatArray, names: list[str]) -> list[FloatArray]:
        rows, fixed = len(batch), self._signature.shape[0]
        step = fixed or (rows if self._cores == 1 else min(math.ceil(rows / self._cores), _PIECE))
        with running(self.description.name, batch.shape):
            images = np.ascontiguousarray(batch, dtype=_TYPES[self._signature.type])
            pieces = [_padded(images[start : start + step], fixed) for start in range(0, rows, step)]
            parts = self._runs(pieces, names)
        outputs = [arrays[0] if len(arrays) == 1 else np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        return [output[:rows] if len(output) == len(parts) * step else output for output in outputs]

    def _runs(self, pieces: Sequence[FloatArray], names: list[str]) -> list[list[FloatArray]]:
        if self._cores == 1 or len(pieces) == 1:
            return [self._run(images, names) for images in pieces]
        with ThreadPoolExecutor(self._cores) as pool:
            return list(pool.map(lambda images: self._run(images, names), pieces))

    def _run(self, images: FloatArray, names: list[str]) -> list[FloatArray]:
        return [np.asarray(output) for output in self._session.run(names, {self._signature.input: images})]


def load_onnx(file: str, settings: Settings) -> Model:
    """Load an ONNX file; the settings must state its classes and preprocessing, which the file does not contain."""
    name, path = f"onnx:{file}", Path(file)
    _check_settings(name, path, settings)
    description = describe_model(name, settings)
    with loading(f"{name} cannot be read"):
        digest = file_hash(path)
    session = onnx_session(path, settings, name=name)
    runtime = onnx_runtime(settings.device)
    return OnnxModel(session, description, cores=parallel_cores(settings), weights_hash=digest, runtime=runtime)


def onnx_session(path: Path, settings: Settings, *, name: str) -> Any:
    """Open a file in onnxruntime, on the device and with the threads of the settings."""
    with needs("onnx", name):
        import onnxruntime

    provider = _PROVIDERS[settings.device]
    if provider not in onnxruntime.get_available_providers():
        raise InputError(
            f"{name}: this onnxruntime cannot run on {settings.device.value}: "
            "install onnxruntime-gpu, or give --device cpu"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1 if parallel_cores(settings) > 1 else settings.threads
    options.log_severity_level = 3
    with loading(f"{name} cannot be loaded by onnxruntime"):
        return onnxruntime.InferenceSession(str(path), options, providers=[provider])


def parallel_cores(settings: Settings) -> int:
    """Number of cores that each compute pieces of a batch; 1 if onnxruntime splits the layers among its threads.

    With few cores, computing whole pieces is faster.
    """
    threads = settings.threads or usable_cores()
    return threads if settings.device is Device.CPU and threads <= _MAX_PARALLEL_CORES else 1


def onnxruntime_uses_gpu() -> bool:
    """Whether onnxruntime is installed as a build for GPUs."""
    if not importlib.util.find_spec("onnxruntime"):
        return False
    import onnxruntime

    return _PROVIDERS[Device.CUDA] in onnxruntime.get_available_providers()


def onnx_runtime(device: Device) -> str:
    """The runtime, as manifests record it."""
    import onnxruntime

    return f"onnxruntime {onnxruntime.__version__} {device.value} fp32"


def file_hash(path: Path) -> str:
    """Hash an ONNX file and its files of weights: FILE.data, FILE_data, and those it names."""
    state = hashlib.sha256()
    usual = [path.with_name(path.name + ending) for ending in (".data", "_data")]
    named = sorted(path.parent / name for name in _external_files(path))
    for file in (path, *(weights for weights in dict.fromkeys([*usual, *named]) if _is_file(weights))):
        with file.open("rb") as content:
            while block := content.read(1 << 20):
                state.update(block)
    return state.hexdigest()


def _external_files(path: Path) -> set[str]:
    """Paths, relative to an ONNX file, of the files that contain its external tensors.

    Each is an entry of ``external_data`` in ONNX's protobuf schema: the key "location", then the path.
    """
    if not path.stat().st_size:
        return set()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return {_text_at(content, match.end()) for match in _LOCATION.finditer(content)}


def _text_at(content: mmap.mmap, place: int) -> str:
    """A string of a protobuf message: its length, seven bits per byte, then its bytes."""
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
    except (OSError, ValueError):  # not a valid path
        return False


def _check_settings(name: str, path: Path, settings: Settings) -> None:
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    if settings.precision not in (None, Precision.FP32):
        raise InputError(f"{name} computes in the precision it was exported in: leave out --precision")
    if settings.compile:
        raise InputError(f"{name} is not a torch module and cannot be compiled: leave out --compile")
    if settings.device not in _PROVIDERS:
        raise InputError(f"{name}: onnxruntime runs on cpu or cuda, not on {settings.device.value}")


def _signature(session: Any, name: str) -> Signature:
    inputs, outputs = session.get_inputs(), session.get_outputs()
    features = next((output.name for output in outputs[1:] if output.name == _FEATURES), None)
    outputs = [output for output in outputs if output.name != features]
    for kind, nodes in (("inputs", inputs), ("outputs", outputs)):
        if len(nodes) != 1:
            names = ", ".join(node.name for node in nodes)
            raise InputError(f"{name} has {len(nodes)} {kind} ({names}), expected one: images in, scores out")
    shape = tuple(axis if isinstance(axis, int) and axis > 0 else None for axis in inputs[0].shape)
    last = outputs[0].shape[-1] if outputs[0].shape else None
    width = last if isinstance(last, int) and last > 0 else None
    return Signature(inputs[0].name, outputs[0].name, inputs[0].type, shape, width, features)


def _check_input(signature: Signature, preprocessing: Preprocessing, name: str) -> None:
    if signature.type not in _TYPES:
        raise InputError(f"{name} takes {signature.type}, expected 32-bit floats: export it with a float input")
    shape, expected = signature.shape, (preprocessing.channels, preprocessing.size, preprocessing.size)
    if len(shape) != 4:
        raise InputError(f"{name} takes an input of {len(shape)} axes, expected (batch, channels, height, width)")
    if shape[3] in (1, 3) and shape[1] not in (1, 3):
        raise InputError(f"{name} takes the channels last; export it with the axes (batch, channels, height, width)")
    if any(axis not in (None, size) for axis, size in zip(shape[1:], expected, strict=True)):
        input_shape = " x ".join("?" if axis is None else str(axis) for axis in shape[1:])
        raise MismatchError(
            f"{name} takes inputs of {input_shape}, but its preprocessing makes {' x '.join(map(str, expected))}: "
            "give matching --size and --short-side"
        )


def _padded(images: FloatArray, fixed: int | None) -> FloatArray:
    """A batch padded to the ``fixed`` number of rows, if any, by repeating the last row."""
    missing = fixed - len(images) if fixed else 0
    return np.concatenate([images, np.repeat(images[-1:], missing, axis=0)]) if missing else images
