"""How often a confidence sequence misses at any of many looks, with the fixed-size interval as its rival."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import PartialReview, anytime_accuracy, clopper_pearson, confidence_sequence, partial_review

_LOOKS = 20
_SHARE = 0.8


def _review(size: int) -> Callable[[np.random.Generator, int], Drawn]:
    """Reviews of a list of so many predictions up to half of it, looked at after each of 20 batches."""
    looks = np.arange(1, _LOOKS + 1) * (size // (2 * _LOOKS))

    def draw(rng: np.random.Generator, runs: int) -> Drawn:
        truth = round(_SHARE * size)
        right = _right_so_far(rng, runs, looks, size, truth)
        bounds = [confidence_sequence(counts, looks, size) for counts in right]
        fixed = clopper_pearson(right, looks)
        rival = (size * fixed.low.max(axis=1), size * fixed.high.min(axis=1))
        low, high = [b.low[-1] for b in bounds], [b.high[-1] for b in bounds]
        return Drawn(low, high, truth, rival, "fixed-size interval at every look")

    return draw


def _right_so_far(rng: np.random.Generator, runs: int, looks: IntArray, size: int, truth: int) -> IntArray:
    """Shape (runs, looks): how many are right up to each look, drawn without replacement batch by batch."""
    batches = np.diff(looks, prepend=0)
    right = np.zeros((runs, len(looks)), dtype=np.int64)
    total = np.zeros(runs, dtype=np.int64)
    for look, (batch, seen) in enumerate(zip(batches, looks - batches, strict=True)):
        total += rng.hypergeometric(truth - total, size - seen - (truth - total), batch)
        right[:, look] = total
    return right


def _problematic(size: int) -> Callable[[np.random.Generator, int], Drawn]:
    """Reviews in two strata with problematic images, stopped where the right share is farthest from the truth."""
    images = np.arange(size)
    right, bad = (images % 10 < np.where(images % 2, 8, 3)), images % 20 == 0
    truth = float(right[~bad].mean())

    def draw(rng: np.random.Generator, runs: int) -> Drawn:
        stopped = [_stopped_review(rng, right, bad, truth) for _ in range(runs)]
        estimates = [anytime_accuracy(review) for review in stopped]
        return Drawn([e.low for e in estimates], [e.high for e in estimates], truth)

    return draw


def _stopped_review(rng: np.random.Generator, right: BoolArray, bad: BoolArray, truth: float) -> PartialReview:
    """All predictions are novel; strata are taken in turn."""
    size = len(right)
    order = np.empty(size, dtype=np.int64)
    for stratum in (0, 1):
        order[stratum::2] = rng.permutation(np.arange(stratum, size, 2))
    means = np.cumsum(right[order]) / np.arange(1, size + 1)
    stop = 20 + int(np.argmax(np.abs(means - truth)[20 : size // 2]))
    hidden = np.arange(size) >= stop
    outcomes, problems = (np.where(hidden, np.nan, part[order]) for part in (right & ~bad, bad))
    return partial_review(outcomes, np.ones(size), strata=order % 2, problematic=problems)


for _size in (500, 5_000):
    coverage_check(
        "number of right predictions, valid at any stopping point",
        maker="stats.confidence_sequence.anytime_estimate",
        case="looked at after each of 20 batches",
        n=_size,
        draw=_review(_size),
    )
for _size in (100, 1_000):
    coverage_check(
        "accuracy on these images, valid at any stopping point",
        maker="stats.confidence_sequence.anytime_accuracy",
        case="two strata, problematic images, stopped at the look farthest from the truth",
        n=_size,
        draw=_problematic(_size),
    )
