"""How a network is trained: optimizer, learning rate, regularization and augmentation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from regrade.core import InputError
from regrade.models import Precision


class Optimizer(Enum):
    """How weights follow gradients."""

    SGD = "sgd"
    """Stochastic gradient descent with Nesterov momentum."""
    ADAMW = "adamw"


@dataclass(frozen=True)
class Hyperparameters:
    """The settings of a training; the defaults suit residual networks on small images.

    The learning rate rises linearly over ``warm_up`` epochs and then falls to 0 along a cosine. ``crop`` is the padding
    in pixels before a random crop of the original size; ``flip`` mirrors every second image at random. On a GPU a step
    is captured as a CUDA graph, unless ``cuda_graph`` is off, for networks whose steps differ.
    """

    epochs: int = 100
    batch: int = 128
    optimizer: Optimizer = Optimizer.SGD
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    warm_up: float = 1.0
    label_smoothing: float = 0.0
    flip: bool = True
    crop: int = 4
    precision: Precision = Precision.FP32
    compile: bool = False
    cuda_graph: bool = True

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 2:
            raise InputError("a training needs at least one epoch and batches of at least two images")
        if not self.learning_rate > 0:
            raise InputError(f"the learning rate must be above 0, got {self.learning_rate:g}")
        if not 0 <= self.label_smoothing < 1 or not 0 <= self.momentum < 1:
            raise InputError("label smoothing and momentum must be at least 0 and below 1")
        if self.precision is Precision.FP16:
            raise InputError("a training in fp16 would need its losses scaled: choose bf16, or fp32")
        if min(self.weight_decay, self.warm_up, self.crop) < 0:
            raise InputError("weight decay, warm-up and the padding of crops must not be negative")

    def learning_rate_at(self, epoch: float) -> float:
        """The learning rate after this many epochs, which may be a fraction.

        >>> settings = Hyperparameters(epochs=10, learning_rate=1.0, warm_up=2)
        >>> [round(settings.learning_rate_at(epoch), 3) for epoch in (0, 1, 2, 6, 10)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
        """
        if epoch < self.warm_up:
            return self.learning_rate * epoch / self.warm_up
        rest = max(self.epochs - self.warm_up, 1e-9)
        progress = min((epoch - self.warm_up) / rest, 1.0)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * progress))
