"""Training compared with a plain loop over images in memory, the cost of capturing scores, and members in processes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

import regrade
from benchmarks import head
from benchmarks.measure import seconds
from benchmarks.result import Result, verify
from regrade.classes import class_space
from regrade.core import Preprocessing
from regrade.models import usable_cores
from regrade.models.networks import new_network
from regrade.train.hyperparameters import Hyperparameters
from regrade.train.images import ImageTensors
from regrade.train.loop import Training
from regrade.workspace import Workspace

_SIZE, _CLASSES, _BATCH, _CROP = 32, 10, 128, 4
_IMAGES, _SMALL = 5_120, 1_280
_PREPROCESSING = Preprocessing(_SIZE, _SIZE, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))


def run() -> Iterator[Result]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several threads wait for each other on a busy machine
    for network, images in (("cnn", _IMAGES), ("resnet20", _SMALL)):
        pixels, labels = simulated_images(images)
        ours, plain = Ours(network, pixels, labels), Plain(network, pixels, labels)
        mine, theirs = seconds(ours.epoch, plain.epoch, rounds=3)
        verify(abs(ours.loss - plain.loss) < 0.5, f"{network}: both learn ({ours.loss:.2f} and {plain.loss:.2f})")
        case = f"{network}, an epoch of {images:,} images of {_SIZE} x {_SIZE}, one thread"
        yield Result("train", case, "s", mine, theirs, "plain loop over images in memory", aim_ratio=1)
    with tempfile.TemporaryDirectory() as folder:
        workspace = stored_images(Path(folder))
        yield from capture_cost(workspace)
        torch.set_num_threads(threads)
        yield from processes(workspace)
    yield from head.run()


def simulated_images(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise with a bright row whose place is the class."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 150, (count, _SIZE, _SIZE, 3), dtype=np.uint8)
    labels = np.arange(count) % _CLASSES
    pixels[np.arange(count), 3 * labels] += 100
    return pixels, labels


class Ours:
    """The training loop of regrade."""

    def __init__(self, network: str, pixels: np.ndarray, labels: np.ndarray) -> None:
        images = ImageTensors.of(pixels, labels, _PREPROCESSING)
        settings = Hyperparameters(epochs=100, batch=_BATCH, learning_rate=0.05)
        self.training = Training(lambda: new(network), images, settings, seed=0)
        self.loss = float("nan")

    def epoch(self) -> None:
        self.loss = self.training.train_epoch().loss


class Plain:
    """What one writes by hand: normalized images in memory, a random crop and flip of each, and a step per batch."""

    def __init__(self, network: str, pixels: np.ndarray, labels: np.ndarray) -> None:
        (images,) = ImageTensors.of(pixels, labels, _PREPROCESSING).batches(len(pixels))
        self.padded = nn.functional.pad(images, (_CROP, _CROP, _CROP, _CROP))
        self.labels = torch.from_numpy(labels)
        self.network = new(network)
        self.optimizer = torch.optim.SGD(
            self.network.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4
        )
        self.loss = float("nan")

    def epoch(self) -> None:
        self.network.train()
        order = torch.randperm(len(self.labels))
        losses = []
        for start in range(0, len(order) - _BATCH + 1, _BATCH):
            rows = order[start : start + _BATCH]
            images = torch.stack([self.augmented(row) for row in rows.tolist()])
            loss = nn.functional.cross_entropy(self.network(images), self.labels[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        self.loss = float(np.mean(losses))

    def augmented(self, row: int) -> torch.Tensor:
        top, left = torch.randint(0, 2 * _CROP + 1, (2,)).tolist()
        image = self.padded[row, :, top : top + _SIZE, left : left + _SIZE]
        return image.flip(2) if torch.rand(()) < 0.5 else image


def new(network: str) -> nn.Module:
    torch.manual_seed(0)
    return new_network(network, channels=3, size=_SIZE, classes=_CLASSES)


def stored_images(folder: Path) -> Workspace:
    """A workspace with a training set, and a test set of a tenth of its size."""
    workspace = regrade.init(folder / "W")
    for name, count in (("train", _SMALL), ("val", _SMALL // 10)):
        pixels, labels = simulated_images(count)
        np.savez(folder / f"{name}.npz", images=pixels + (name == "val"), labels=labels)
        workspace.testsets.add(name, folder / f"{name}.npz", classes=class_space("cifar-10"))
    return workspace


def capture_cost(workspace: Workspace) -> Iterator[Result]:
    """The seconds of an epoch, and those of storing scores after it."""
    for network in ("cnn", "resnet20"):
        pixels, labels = simulated_images(_SMALL)
        plain = Plain(network, pixels, labels)
        scores = workspace.train.capture(network, seed=0, test_sets=["val"], preprocessing=_PREPROCESSING)
        epoch, captured = seconds(plain.epoch, lambda plain=plain, scores=scores: scores.epoch(plain.network), rounds=5)
        case = f"{network}, scores on {_SMALL // 10} images after an epoch of {_SMALL:,}"
        yield Result("train", case, "% of the epoch", 100 * captured / epoch, aim_most=5)


def processes(workspace: Workspace) -> Iterator[Result]:
    """Two members in a process each, compared with one after the other in a process that uses all cores."""
    jobs = min(usable_cores(), 2)
    for network, epochs in (("cnn", 8), ("resnet20", 2)):
        taken = []
        for count in (1, jobs):
            started = time.perf_counter()
            workspace.train.ensemble(
                f"{network} {count}", "train", network=network, seeds=(0, 1), epochs=epochs, test_sets=["val"],
                every=epochs, jobs=count, allow_shared=True,
            )  # fmt: skip
            taken.append(time.perf_counter() - started)
        case = f"{network}, 2 members x {epochs} epochs of {_SMALL:,} images, {jobs} at a time"
        yield Result("train", case, "s", taken[1], taken[0], "one after another")
