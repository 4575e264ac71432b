"""The interface of a model: the classes it predicts, the preprocessing of its input, and scores for a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np

from regrade.core import ClassSpace, InputError, ModelSpec, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.core.model_spec import Preprocessing


class Device(Enum):
    """Where a model runs."""

    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"


class Precision(Enum):
    """The floating-point precision a model computes in."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"


@dataclass(frozen=True)
class Settings:
    """The user's settings of a model: its classes and preprocessing if it does not state them, and how to run it.

    A preprocessing given here overrides the model's own; classes given here must be the model's own if it states them.
    ``threads`` is the number of threads the model may use on a CPU; 0 leaves it to the runtime. ``compile`` compiles
    the module with torch first, which pays off on long runs. Without a ``precision`` or ``compile``, a run on a GPU
    chooses them, and everything else computes in single precision and does not compile. ``workspace`` is the folder
    whose trained networks have names without a path.
    """

    class_space: ClassSpace | None = None
    preprocessing: Preprocessing | None = None
    device: Device = Device.CPU
    precision: Precision | None = None
    threads: int = 0
    compile: bool | None = None
    workspace: Path | None = None


class OutOfMemory(Exception):
    """A batch does not fit into the device's memory; a smaller one may."""


@dataclass(frozen=True)
class ModelMetadata:
    """Everything that predictions depend on, without the weights themselves.

    ``runtime`` names the library that computes the scores, as manifests record it: ``onnxruntime 1.31 cpu fp32``.
    """

    spec: ModelSpec
    class_space: ClassSpace
    preprocessing: Preprocessing
    score_kind: ScoreKind
    runtime: str


class Model(ABC):
    """A loaded classifier; third parties add their own through the entry-point group ``regrade.models``.

    The fields are those of its `ModelMetadata`.
    """

    spec: ModelSpec
    class_space: ClassSpace
    preprocessing: Preprocessing
    score_kind: ScoreKind
    runtime: str
    takes_pixels: bool = False
    """Whether inputs are bytes (size, size, channels), which the model normalizes on its own device."""

    @property
    def metadata(self) -> ModelMetadata:
        """Everything that predictions depend on."""
        return ModelMetadata(self.spec, self.class_space, self.preprocessing, self.score_kind, self.runtime)

    @abstractmethod
    def scores(self, batch: FloatArray) -> FloatArray:
        """Scores (n, c) for a batch of inputs (n, channels, size, size), rows independent; raises `OutOfMemory`."""

    def scores_and_features(self, batch: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Scores (n, c) and features (n, d), the input of the last layer; raises if the model has none."""
        raise InputError(f"{self.spec.name} gives no features: leave out --keep features")

    def stacked(self, inputs: Sequence[FloatArray]) -> FloatArray:
        """Stack inputs into a batch, in the memory from which the device copies fastest."""
        return np.stack(inputs)

    def peak_memory(self, batch: FloatArray) -> int | None:  # noqa: ARG002
        """Bytes of the device's own memory that a batch needs while it is computed; None on a CPU."""
        return None

    def free_memory(self) -> int | None:
        """Free bytes of the device's own memory; None on a CPU."""
        return None
