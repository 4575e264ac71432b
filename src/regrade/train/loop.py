"""The training loop: one network, epoch by epoch, that can be stopped at any time and resumed with equal results."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from regrade.core import InputError, ModelError
from regrade.models import Precision
from regrade.train.batch_loss import MeanLoss
from regrade.train.hyperparameters import Hyperparameters, Optimizer
from regrade.train.images import EpochOrder, ImageTensors, augmented, epoch_order

_WARM_UP_STEPS = 3  # steps before a CUDA graph is captured: libraries allocate memory and choose kernels in the first


class DivergedTraining(ModelError):
    """The loss of a training became NaN or infinite."""


@dataclass(frozen=True)
class EpochResult:
    """The mean loss and the accuracy on the training images of an epoch, both while the weights changed.

    ``group_weights`` are those of GroupDRO after the epoch, one per group.
    """

    epoch: int
    loss: float
    accuracy: float
    group_weights: tuple[float, ...] = ()


class Training:
    """The training of one network on images; ``seed`` decides everything that is random.

    ``batch_loss`` turns the losses of a batch into the one that is minimized (default: their mean). ``weights`` (n,)
    are the chances of images to be drawn, with replacement (default: every image once per epoch).
    The order and the augmentation of an epoch depend on the seed and its number alone, so that a training that is
    resumed from its state after an epoch goes on as if it had not been interrupted (bit for bit on a CPU).
    """

    def __init__(
        self,
        make_network: Callable[[], Any],
        images: ImageTensors,
        settings: Hyperparameters,
        *,
        seed: int,
        batch_loss: MeanLoss | None = None,
        weights: Any = None,
    ) -> None:
        import torch

        if len(images) < 2:
            raise InputError(f"a training needs at least two images, got {len(images)}")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_number(seed, "weights"))
            network = make_network()
        self.device = images.pixels.device
        layout = torch.channels_last if self.device.type == "cuda" else torch.contiguous_format
        self.network = network.to(self.device, memory_format=layout)
        self.images, self.settings, self.seed, self.epoch = images, settings, seed, 0
        self._weights = None if weights is None else weights.to(self.device)
        self._batch_loss = batch_loss or MeanLoss()
        self._batch_loss.to(self.device)
        self._rate = torch.tensor(settings.learning_rate, device=self.device)
        self._optimizer = _optimizer(self.network, settings, self._rate)
        self._losses_of = torch.compile(self._losses) if settings.compile else self._losses
        self._graph = _GraphedStep(self._step) if self.device.type == "cuda" and settings.cuda_graph else None

    @property
    def batches_per_epoch(self) -> int:
        """The number of batches; a last batch that is not full is left out, except if it is the only one."""
        return max(len(self.images) // self.settings.batch, 1)

    @property
    def is_warm(self) -> bool:
        """Whether steps need no preparation any more: on a GPU, whether the CUDA graph is captured."""
        return self._graph is None or self._graph.is_captured

    def run(self) -> Iterator[EpochResult]:
        """Train the epochs that are left, and yield the result of each."""
        while self.epoch < self.settings.epochs:
            yield self.train_epoch()

    def train_epoch(self) -> EpochResult:
        """Train one epoch; raises `DivergedTraining` if the loss is no longer a number, and names the step."""
        import torch

        self.network.train()
        generator = torch.Generator(device=self.device).manual_seed(_number(self.seed, f"epoch {self.epoch}"))
        crop, flip = self.settings.crop, self.settings.flip
        order = epoch_order(len(self.images), generator, crop=crop, flip=flip, weights=self._weights)
        size = min(self.settings.batch, len(self.images))
        sums = torch.zeros((self.batches_per_epoch, 2), device=self.device)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(_number(self.seed, f"dropout of epoch {self.epoch}"))
            for number in range(self.batches_per_epoch):
                self._rate.fill_(self.settings.learning_rate_at(self.epoch + (number + 1) / self.batches_per_epoch))
                batch = order[number * size : (number + 1) * size]
                sums[number] = self._step(batch) if self._graph is None else self._graph(batch)
        self._check_finite(sums[:, 0])
        loss, accuracy = (sums.double().sum(dim=0) / (size * self.batches_per_epoch)).tolist()
        self.epoch += 1
        return EpochResult(self.epoch, loss, accuracy, self._batch_loss.group_weights())

    def _check_finite(self, losses: Any) -> None:
        """Raise if the loss of a step of this epoch is not a finite number; it is read once, which costs no time."""
        wrong = (~losses.isfinite()).nonzero()
        if len(wrong):
            step = self.epoch * self.batches_per_epoch + int(wrong[0]) + 1
            raise DivergedTraining(
                f"the loss of seed {self.seed} is not a finite number from step {step:,} on, in epoch "
                f"{self.epoch + 1}: choose a smaller learning rate; what was stored until epoch {self.epoch} is kept"
            )

    def _step(self, batch: EpochOrder) -> Any:
        """Change the weights by one batch; returns the sums of losses and of right predictions, on the device."""
        import torch

        pixels = augmented(self.images.pixels, batch, crop=self.settings.crop)
        losses, right = self._losses_of(pixels, self.images.labels[batch.positions])
        self._optimizer.zero_grad(set_to_none=True)
        self._batch_loss(losses, batch.positions).backward()
        self._optimizer.step()
        return torch.stack((losses.detach().sum(), right.sum()))

    def _losses(self, pixels: Any, labels: Any) -> tuple[Any, Any]:
        """The loss of each image, and whether its prediction is right."""
        import torch

        with self._autocast():
            inputs = self.images.normalized(pixels)
            if self.device.type == "cuda":
                inputs = inputs.contiguous(memory_format=torch.channels_last)
            scores = self.network(inputs)
        smoothing = self.settings.label_smoothing
        losses = torch.nn.functional.cross_entropy(scores.float(), labels, reduction="none", label_smoothing=smoothing)
        return losses, (scores.argmax(dim=1) == labels).float()

    def _autocast(self) -> AbstractContextManager[Any]:
        import torch

        types = {Precision.BF16: torch.bfloat16, Precision.FP16: torch.float16}
        kind = types.get(self.settings.precision)
        # a CUDA graph must not contain casts that are cached between steps
        return nullcontext() if kind is None else torch.autocast(self.device.type, dtype=kind, cache_enabled=False)

    def state(self) -> dict[str, Any]:
        """Everything that is needed to resume after the epochs so far."""
        return {
            "epoch": self.epoch,
            "network": self.network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "batch_loss": self._batch_loss.state(),
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; after the last epoch, the weights are enough."""
        self.network.load_state_dict(state["network"])
        self.epoch = int(state["epoch"])
        if self.epoch == self.settings.epochs:
            return
        self._optimizer.load_state_dict(state["optimizer"])
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate  # loading has replaced it by a copy
        self._batch_loss.resume(state["batch_loss"])


class _GraphedStep:
    """A step as a CUDA graph: after a few steps it is captured once, and then replayed without Python.

    Small networks are limited by the launch of kernels otherwise.
    """

    def __init__(self, step: Callable[[EpochOrder], Any]) -> None:
        self._step = step
        self._steps = 0
        self._graph: Any = None
        self._batch: Any = None  # the tensors that the graph reads
        self._sums: Any = None

    @property
    def is_captured(self) -> bool:
        """Whether steps are replayed."""
        return self._graph is not None

    def __call__(self, batch: EpochOrder) -> Any:
        import torch

        if self._graph is None:
            if self._steps < _WARM_UP_STEPS:
                self._steps += 1
                return self._on_side_stream(batch)
            self._graph = torch.cuda.CUDAGraph()
            self._batch = EpochOrder(batch.positions.clone(), batch.offsets.clone(), batch.mirrored.clone())
            with torch.cuda.graph(self._graph):
                self._sums = self._step(self._batch)
        self._batch.copy_from(batch)
        self._graph.replay()
        return self._sums

    def _on_side_stream(self, batch: EpochOrder) -> Any:
        """Run a step on another stream, as a capture requires of the steps before it."""
        import torch

        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            sums = self._step(batch)
        torch.cuda.current_stream().wait_stream(stream)
        return sums


def _optimizer(network: Any, settings: Hyperparameters, rate: Any) -> Any:
    import torch

    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    if not parameters:
        raise InputError("the network has no parameters to train")
    shared = {"lr": rate, "weight_decay": settings.weight_decay, "fused": True}
    if settings.optimizer is Optimizer.ADAMW:
        return torch.optim.AdamW(parameters, capturable=rate.is_cuda, **shared)
    return torch.optim.SGD(parameters, momentum=settings.momentum, nesterov=settings.momentum > 0, **shared)


def _number(seed: int, purpose: str) -> int:
    """A seed for torch that depends on the seed of the training and on what it is for."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{purpose}".encode()).digest()[:7], "big")
