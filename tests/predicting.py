"""Small images and small models for the tests of predictions."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

import regrade
from regrade.classes import class_space
from regrade.core import Images, ModelSpec, Preprocessing, ScoreKind
from regrade.models import Model
from regrade.store import Store

PREPROCESSING = Preprocessing(8, 8, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
LARGER = Preprocessing(6, 7)
CIFAR = class_space("cifar-10")


def noise(folder: Path, count: int) -> Path:
    """Images of noise, one folder per class of CIFAR-10, named by its index."""
    rng = np.random.default_rng(7)
    for number in range(count):
        path = folder / str(number % 10) / f"x{number:03d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)
    return folder


def noisy(folder: Path, count: int = 40) -> Store:
    """A new workspace with the test set ``noise``."""
    workspace = regrade.init(folder / "W")
    workspace.testsets.add("noise", noise(folder / "images", count), classes="cifar-10", layout="index")
    return workspace.store


def linear(batch: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """Scores (n, 10) as fixed weighted sums of the pixels."""
    weights = np.random.default_rng(seed).normal(size=(batch[0].size, 10)).astype(np.float32)
    return batch.reshape(len(batch), -1) @ weights


def colors(batch: np.ndarray) -> np.ndarray:
    """Features (n, 3): the mean of each channel."""
    return batch.mean(axis=(2, 3))


class Toy(Model):
    """A model made of a function for scores and, optionally, one for features; it records its batch sizes."""

    def __init__(
        self,
        function: Callable[[np.ndarray], object] = linear,
        features: Callable[[np.ndarray], object] | None = None,
        *,
        name="toy",
        weights="1",
        preprocessing=PREPROCESSING,
        space=CIFAR,
    ) -> None:
        self.spec = ModelSpec(name, space.name, preprocessing.summary, weights)
        self.class_space = space
        self.preprocessing = preprocessing
        self.score_kind = ScoreKind.LOGITS
        self.runtime = "toy"
        self.function = function
        self.features = features
        self.batches: list[int] = []

    def scores(self, batch):
        self.batches.append(len(batch))
        return self.function(batch)

    def scores_and_features(self, batch):
        if self.features is None:
            return super().scores_and_features(batch)
        return self.scores(batch), self.features(batch)


def toys() -> list[Toy]:
    """Models a, b and c: two with equal preprocessing, one with another."""
    return [
        Toy(linear, lambda batch: batch.mean(axis=(2, 3)), name="a"),
        Toy(partial(linear, seed=1), lambda batch: batch.mean(axis=(2, 3)), name="b"),
        Toy(partial(linear, seed=2), lambda batch: batch.mean(axis=(2, 3)), name="c", preprocessing=LARGER),
    ]


def failing(after: int, function=linear, features=None) -> Toy:
    """A model that fails after a number of batches."""

    def scores(batch):
        if len(model.batches) > after:
            raise RuntimeError("the plug was pulled")
        return function(batch)

    model = Toy(scores, features)
    return model


class Counted(Images):
    """Images that count how many were read, and notify those who wait for it."""

    def __init__(self, images) -> None:
        self.images = images
        self.count = 0
        self.changed = threading.Condition()

    def read(self, position):
        with self.changed:
            self.count += 1
            self.changed.notify_all()
        return self.images.read(position)

    def reached(self, count: int, seconds: float = 10) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.count >= count, seconds)
