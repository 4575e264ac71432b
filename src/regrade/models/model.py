"""What a model is to regrade: classes it predicts, a recipe for its input, and scores for a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from regrade.core import ClassSpace, InputError, ModelSpec, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.core.preprocessing import Preprocessing


class Device(Enum):
    """Where a model runs."""

    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"


class Precision(Enum):
    """In which precision a model computes."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"


@dataclass(frozen=True)
class Settings:
    """What a user says of a model: its classes and recipe where the model cannot, and how to run it.

    A recipe stated here goes before the model's own; classes stated here must be the model's own where it knows them.
    ``threads`` is how many threads the model itself may use on a CPU; 0 leaves it to the runtime. ``compile`` has
    torch compile the module first, which pays on long runs.
    """

    class_space: ClassSpace | None = None
    preprocessing: Preprocessing | None = None
    device: Device = Device.CPU
    precision: Precision = Precision.FP32
    threads: int = 0
    compile: bool = False


class OutOfMemory(Exception):
    """A batch does not fit into the device's memory: a smaller one may."""


@dataclass(frozen=True)
class ModelMetadata:
    """What stands on a model's card: all that results depend on, without the weights themselves.

    ``runtime`` is what computes the scores, as manifests record it: ``onnxruntime 1.31 cpu fp32``.
    """

    spec: ModelSpec
    class_space: ClassSpace
    preprocessing: Preprocessing
    score_kind: ScoreKind
    runtime: str


class Model(ABC):
    """A classifier that is loaded and ready; third parties add theirs to the entry-point group ``regrade.models``.

    The fields are those of its `ModelMetadata`.
    """

    spec: ModelSpec
    class_space: ClassSpace
    preprocessing: Preprocessing
    score_kind: ScoreKind
    runtime: str
    takes_pixels: bool = False
    """Whether inputs are gray levels (size, size, channels), which the model normalizes on its own device."""

    @property
    def card(self) -> ModelMetadata:
        """All that results depend on."""
        return ModelMetadata(self.spec, self.class_space, self.preprocessing, self.score_kind, self.runtime)

    @abstractmethod
    def scores(self, batch: FloatArray) -> FloatArray:
        """Scores (n, c) for a batch of inputs (n, channels, size, size), each row by itself; raises `OutOfMemory`."""

    def scores_and_features(self, batch: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Scores (n, c) and features (n, d), what the last layer sees; a model that cannot give them raises."""
        raise InputError(f"{self.spec.name} gives no features: leave out --keep features")

    def stacked(self, inputs: Sequence[FloatArray]) -> FloatArray:
        """Inputs as a batch, in the memory from which the device takes it fastest."""
        return np.stack(inputs)

    def peak_memory(self, batch: FloatArray) -> int | None:  # noqa: ARG002
        """How many bytes of the device's own memory a batch needs while it is computed; None on a CPU."""
        return None

    def free_memory(self) -> int | None:
        """How many bytes of the device's own memory are free; None on a CPU."""
        return None
