"""The confusion score of logits that are on a GPU, compared with eager torch and with the speed of the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from benchmarks.measure import seconds
from benchmarks.result import Result, verify
from regrade.kernels.confusion import confusion_score

DEVICE = "cuda"
MEMBERS, EPOCHS, IMAGES, CLASSES = 3, 2, 200_000, 1_000
_AIM = 2_000  # GB/s of logits


def run() -> Iterator[Result]:
    epochs = [[torch.randn((IMAGES, CLASSES), device=DEVICE).half() for _ in range(MEMBERS)] for _ in range(EPOCHS)]
    error = float((confusion_score(epochs) - eager(epochs)).abs().max())
    verify(error < 1e-2, f"scores are those of eager torch in half precision (largest difference {error:.1g} bits)")
    ours, by_hand, reading = seconds(
        lambda: waited(confusion_score(epochs)),
        lambda: waited(eager(epochs)),
        lambda: waited([logits.view(torch.int16).max() for members in epochs for logits in members]),
        rounds=5,
    )
    gigabytes = MEMBERS * EPOCHS * IMAGES * CLASSES * 2 / 1e9
    case = f"confusion score, {MEMBERS} x {EPOCHS} x {IMAGES:,} x {CLASSES:,} logits in fp16"
    yield Result("gpu", case, "ms", 1e3 * ours, 1e3 * by_hand, "eager torch", aim_ratio=5)
    yield Result("gpu", case, "ms", 1e3 * ours, 1e3 * reading, "reading them once, by torch", aim_ratio=0.5)
    yield Result("gpu", case, "ms", 1e3 * ours, aim_most=1e3 * gigabytes / _AIM)


def eager(epochs: list[list[Any]]) -> Any:
    """As one writes it by hand."""
    total = torch.zeros(IMAGES, device=DEVICE)
    for members in epochs:
        mean = torch.stack([logits.softmax(dim=1) for logits in members]).mean(dim=0).float()
        total += -(mean * mean.clamp_min(1e-12).log2()).sum(dim=1)
    return total / len(epochs)


def waited(result: Any) -> Any:
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return result
