"""The scores of a network in the middle of its training, computed so that the training does not notice."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from regrade.core import InputError
from regrade.core.arrays import FloatArray


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Evaluation mode without gradients; at the end every module has its earlier mode, and random states are restored.

    Frozen parts of a network may be in evaluation mode while the rest is trained, so modes are restored one by one.
    """
    import torch

    modes = [(module, module.training) for module in model.modules()]
    device = device_of(model)
    chance = random.getstate(), np.random.get_state()
    model.eval()
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), torch.no_grad():
            yield
    finally:
        random.setstate(chance[0])
        np.random.set_state(chance[1])
        for module, mode in modes:
            module.training = mode


def device_of(model: Any) -> Any:
    """The device of a network's first parameter or buffer; the CPU if it has none."""
    import torch

    tensors = (tensor for values in (model.parameters(), model.buffers()) for tensor in values)
    return next((tensor.device for tensor in tensors), torch.device("cpu"))


def scores_of(model: Any, batches: Iterable[Any], *, name: str = "the network") -> FloatArray:
    """Shape (n, classes): the scores of a network for batches of inputs, without any effect on its training.

    A batch is a tensor, a sequence whose first item is one, as data loaders yield it, or a mapping of the network's
    keyword arguments, whose ``labels`` are left out. The network returns scores, or an object with ``logits``. Rows
    that exceed half precision, as those of untrained networks may, are shifted, which leaves their softmax as it is.
    """
    import torch

    device = device_of(model)
    with evaluating(model):
        parts = [_scores(model, _moved(batch, device), name).float() for batch in batches]
        if not parts:
            raise InputError(f"no batch of inputs for {name}: give an iterable that can be repeated, such as a list")
        return within_half_precision(torch.cat(parts)).cpu().numpy()


def within_half_precision(logits: Any) -> Any:
    """Logits (n, c) that half precision can hold: in larger rows the largest becomes 0 and the smallest is limited.

    A difference of the limit, 65,504, gives a probability of 0 in any precision, so the softmax is the same.
    """
    import torch

    largest = torch.finfo(torch.float16).max
    is_large = (logits.abs() > largest).any(dim=1, keepdim=True)
    shifted = (logits - logits.max(dim=1, keepdim=True).values).clamp(min=-largest)
    return torch.where(is_large & logits.isfinite().all(dim=1, keepdim=True), shifted, logits)


def _moved(batch: Any, device: Any) -> Any:
    if isinstance(batch, Mapping):
        return {key: value.to(device) for key, value in batch.items() if key != "labels"}
    return inputs_of(batch).to(device, non_blocking=True)


def inputs_of(batch: Any) -> Any:
    """The tensor of inputs of a batch."""
    import torch

    tensor = batch[0] if isinstance(batch, list | tuple) and batch else batch
    if not isinstance(tensor, torch.Tensor):
        raise InputError(f"a batch of inputs must be a tensor, or begin with one, got a {type(tensor).__name__}")
    return tensor


def _scores(model: Any, batch: Any, name: str) -> Any:
    import torch

    output = model(**batch) if isinstance(batch, Mapping) else model(batch)
    scores = getattr(output, "logits", output)
    if not isinstance(scores, torch.Tensor) or scores.ndim != 2:
        shape = f" of shape {tuple(scores.shape)}" if isinstance(scores, torch.Tensor) else ""
        raise InputError(f"{name} returned a {type(scores).__name__}{shape}, expected scores (images, classes)")
    return scores
