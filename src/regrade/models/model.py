"""What a model is to regrade: classes it predicts, a recipe for its input, and scores for a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum

from regrade.core import ClassSpace, ModelSpec, ScoreKind
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
    ``threads`` is how many threads the model itself may use on a CPU; 0 leaves it to the runtime.
    """

    class_space: ClassSpace | None = None
    preprocessing: Preprocessing | None = None
    device: Device = Device.CPU
    precision: Precision = Precision.FP32
    threads: int = 0


class OutOfMemory(Exception):
    """A batch does not fit into the device's memory: a smaller one may."""


class Model(ABC):
    """A classifier that is loaded and ready; third parties add theirs to the entry-point group ``regrade.models``."""

    spec: ModelSpec
    class_space: ClassSpace
    preprocessing: Preprocessing
    score_kind: ScoreKind
    runtime: str
    """What computes the scores, as manifests record it: ``onnxruntime 1.31 cpu fp32``."""

    @abstractmethod
    def scores(self, batch: FloatArray) -> FloatArray:
        """Scores (n, c) for a batch of inputs (n, channels, size, size), each row by itself; raises `OutOfMemory`."""
