"""Training on a GPU compared with the forward and backward pass alone and with a plain loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.measure import seconds
from benchmarks.result import Result, verify
from regrade.core import Preprocessing
from regrade.models import Precision
from regrade.models.networks import new_network
from regrade.train.evaluation import scores_of
from regrade.train.hyperparameters import Hyperparameters
from regrade.train.images import ImageTensors
from regrade.train.loop import Training

_SIZE, _CLASSES, _CROP = 32, 10, 4
_IMAGES, _TESTED = 50_000, 5_000
_PREPROCESSING = Preprocessing(_SIZE, _SIZE, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
_ROUNDS = 5


def run() -> Iterator[Result]:
    images = simulated_images(_IMAGES).to("cuda")
    for batch, compiled in ((128, False), (512, False), (512, True)):
        yield from training_speed(images, batch, compiled=compiled)


def training_speed(images: ImageTensors, batch: int, *, compiled: bool) -> Iterator[Result]:
    """An epoch of ResNet-20, compared with as many forward and backward passes, and with a plain loop."""
    settings = Hyperparameters(epochs=100, batch=batch, learning_rate=0.1, precision=Precision.BF16, compile=compiled)
    training = Training(resnet20, images, settings, seed=0)
    synchronized(training.train_epoch)  # captures its graph before the next one
    steps = training.batches_per_epoch
    passes = forward_backward(images, batch, compiled=compiled)
    plain = Plain(images, batch)
    tested = ImageTensors(images.pixels[:_TESTED], images.labels[:_TESTED], images.mean, images.std)
    works: list[Callable[[], None]] = [
        lambda: synchronized(training.train_epoch),
        lambda: synchronized(lambda: [passes() for _ in range(steps)]),
        lambda: synchronized(plain.epoch),
        lambda: synchronized(lambda: scores_of(training.network, tested.batches(_TESTED))),
        lambda: synchronized(forward_pass(training.network, tested)),
    ]
    for work in works:  # kernels are chosen, graphs are captured
        work()
    ours, limit, by_hand, scoring, forward = seconds(*works, rounds=_ROUNDS)
    loss = training.train_epoch().loss
    verify(max(loss, plain.loss) < np.log(_CLASSES), f"both loops learn (losses {loss:.2f} and {plain.loss:.2f})")
    case = f"resnet20, an epoch of {_IMAGES:,} images, batches of {batch}{', compiled' if compiled else ''}"
    yield Result("gpu", case, "s", ours, limit, "forward and backward passes alone", aim_ratio=0.8)
    yield Result("gpu", case, "s", ours, by_hand, "plain loop", aim_ratio=1)
    scores = f"scores on {_TESTED:,} images after {case}"
    yield Result("gpu", scores, "% of the epoch", 100 * scoring / ours, aim_most=5)
    yield Result("gpu", scores, "s", scoring, forward, "forward pass alone", aim_ratio=0.9)


def forward_pass(network: nn.Module, tested: ImageTensors) -> Callable[[], object]:
    """The scores of images that are ready, which stay on the device."""
    (inputs,) = tested.batches(_TESTED)

    def run() -> object:
        network.eval()
        with torch.no_grad():
            scores = network(inputs)
        network.train()
        return scores

    return run


def simulated_images(count: int) -> ImageTensors:
    """Noise with a bright row whose place is the class."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 150, (count, _SIZE, _SIZE, 3), dtype=np.uint8)
    labels = np.arange(count) % _CLASSES
    pixels[np.arange(count), 3 * labels] += 100
    return ImageTensors.of(pixels, labels, _PREPROCESSING)


def resnet20() -> nn.Module:
    return new_network("resnet20", channels=3, size=_SIZE, classes=_CLASSES)


def synchronized(work: Callable[[], object]) -> None:
    work()
    torch.cuda.synchronize()


def forward_backward(images: ImageTensors, batch: int, *, compiled: bool) -> Callable[[], object]:
    """Forward and backward pass on one batch that is ready on the device, as a CUDA graph: the limit of the network."""
    network = resnet20().cuda().to(memory_format=torch.channels_last).train()
    inputs = images.normalized(images.pixels[:batch]).to(torch.bfloat16).contiguous(memory_format=torch.channels_last)
    labels = images.labels[:batch]

    def loss(inputs: Any) -> Any:
        with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
            scores = network(inputs)
        return nn.functional.cross_entropy(scores.float(), labels)

    called = torch.compile(loss) if compiled else loss

    def step() -> None:
        network.zero_grad(set_to_none=True)
        called(inputs).backward()

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


class Plain:
    """What one writes by hand for images on the device: crop and flip of a batch, autocast, and a step."""

    def __init__(self, images: ImageTensors, batch: int) -> None:
        self.images, self.batch = images, batch
        self.padded = nn.functional.pad(images.pixels, (_CROP, _CROP, _CROP, _CROP))
        self.network = resnet20().cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(
            self.network.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4
        )
        self.loss = float("nan")

    def epoch(self) -> None:
        self.network.train()
        order = torch.randperm(len(self.images), device="cuda")
        for start in range(0, len(order) - self.batch + 1, self.batch):
            rows = order[start : start + self.batch]
            top, left = torch.randint(0, 2 * _CROP + 1, (2,)).tolist()
            pixels = self.padded[rows, :, top : top + _SIZE, left : left + _SIZE]
            mirrored = torch.rand(len(rows), device="cuda") < 0.5
            pixels = torch.where(mirrored[:, None, None, None], pixels.flip(3), pixels)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                inputs = self.images.normalized(pixels).contiguous(memory_format=torch.channels_last)
                loss = nn.functional.cross_entropy(self.network(inputs), self.images.labels[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.loss = loss.item()
