"""The confusion score of logits that are on a GPU, in one pass over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
import triton
import triton.language as tl

from regrade.core import InputError


def confusion_score(epochs: Iterable[Sequence[Any]]) -> Any:
    """Shape (n,): the confusion score in bits, of the logits (n, c) of every member of an ensemble after each epoch.

    The same as `regrade.metrics.confusion_score` of stored scores. Epochs come one after another, so that only those of
    one need be in memory.
    """
    total, count = None, 0
    for members in epochs:
        entropies = mean_entropies(members)
        total, count = entropies if total is None else total + entropies, count + 1
    if total is None:
        raise InputError("a confusion score needs the logits of an epoch at least")
    return total / count


def mean_entropies(members: Sequence[Any]) -> Any:
    """Shape (n,): the entropy, in bits, of the mean softmax of logits (n, c) of several members, on a GPU."""
    count, classes = members[0].shape
    if any(logits.shape != members[0].shape or logits.stride() != members[0].stride() for logits in members):
        raise InputError("the logits of all members must have the same shape, and lie in memory in the same way")
    pointers = torch.tensor([logits.data_ptr() for logits in members]).to(members[0].device, non_blocking=True)
    entropies = torch.empty(count, dtype=torch.float32, device=members[0].device)
    block = triton.next_power_of_2(classes)
    _mean_entropy[(count,)](
        pointers, entropies, members[0], classes, members[0].stride(0),
        MEMBERS=len(members), BLOCK=block, num_warps=max(1, min(block // 1024, 8)),
    )  # fmt: skip
    return entropies


@triton.jit
def _mean_entropy(pointers, entropies, example, classes, stride, MEMBERS: tl.constexpr, BLOCK: tl.constexpr):
    """Of one image; ``example`` has the type of the logits."""
    row = tl.program_id(0).to(tl.int64) * stride
    columns = tl.arange(0, BLOCK)
    mean = tl.zeros((BLOCK,), dtype=tl.float32)
    for member in tl.static_range(MEMBERS):
        logits = tl.load(pointers + member).to(tl.pointer_type(example.dtype.element_ty), bitcast=True)
        values = tl.load(logits + row + columns, mask=columns < classes, other=-float("inf")).to(tl.float32)
        values = values * 1.4426950408889634
        powers = tl.exp2(values - tl.max(values))
        mean += powers * (1 / (MEMBERS * tl.sum(powers)))
    bits = tl.where(mean > 0, mean * tl.log2(mean), 0.0)
    tl.store(entropies + tl.program_id(0), -tl.sum(bits))
