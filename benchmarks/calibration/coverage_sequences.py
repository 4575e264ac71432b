"""How often a confidence sequence misses at any of many looks, compared with the fixed-size interval."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core import Estimate
from regrade.core.arrays import BoolArray
from regrade.stats import (
    PartialReview,
    RandomOrder,
    anytime_accuracy,
    anytime_estimate,
    clopper_pearson,
    partial_review,
)

_LOOKS = 20
_SHARE = 0.8


def _review(size: int) -> Callable[[np.random.Generator, int], Drawn]:
    """Reviews of ``size`` predictions, stopped at the most misleading of 20 looks at up to half of them."""
    looks = np.arange(1, _LOOKS + 1) * (size // (2 * _LOOKS))

    def draw(rng: np.random.Generator, runs: int) -> Drawn:
        truth = round(_SHARE * size)
        orders = rng.permuted(np.tile(np.arange(size) < truth, (runs, 1)), axis=1)
        right = orders.cumsum(axis=1, dtype=np.int64)[:, looks - 1]
        places = np.argmax(np.abs(right / looks - _SHARE) * np.sqrt(looks), axis=1)
        estimates = [_stopped(order, stop) for order, stop in zip(orders, looks[places], strict=True)]
        fixed = clopper_pearson(right[np.arange(runs), places], looks[places])
        baseline = (size * fixed.low, size * fixed.high)
        low, high = [e.low for e in estimates], [e.high for e in estimates]
        return Drawn(low, high, truth, baseline, "fixed-size interval at that look")

    return draw


def _stopped(right: BoolArray, stop: int) -> Estimate:
    """The number of correct predictions, estimated from the first ones in random order."""
    size = len(right)
    outcomes = np.where(np.arange(size) < stop, right, np.nan)
    order = RandomOrder(outcomes, np.zeros(size, dtype=np.int64), np.ones(size))
    return anytime_estimate(order, start=0.0, images=size)


def _problematic(size: int) -> Callable[[np.random.Generator, int], Drawn]:
    """Reviews in two strata with problematic images, stopped when the correct share is farthest from the truth."""
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
        maker="stats.confidence_sequences.anytime_estimate",
        case="stopped at the most misleading of 20 looks",
        n=_size,
        draw=_review(_size),
    )
for _size in (100, 1_000):
    coverage_check(
        "accuracy on these images, valid at any stopping point",
        maker="stats.confidence_sequences.anytime_accuracy",
        case="two strata, problematic images, stopped at the look farthest from the truth",
        n=_size,
        draw=_problematic(_size),
    )
