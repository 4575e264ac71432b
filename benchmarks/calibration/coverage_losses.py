"""Coverage of the metrics that `grade` adds: calibration errors in bins, and mean losses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import stats

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core import Estimate
from regrade.metrics import ReliabilityBins, equal_size_bins, reliability_bins
from regrade.stats import absolute_mean, bounded_mean

_POPULATION = 1_000_000
_LARGEST_LOSS = 24 * np.log(2)


def binned_errors(
    rng: np.random.Generator, runs: int, *, n: int, power: float, binned: Callable[..., ReliabilityBins]
) -> Drawn:
    """Confidences c of a model that is right with probability c ** power."""
    estimates = []
    for _ in range(runs):
        confidences = rng.beta(5, 1, n)
        bins = binned(confidences, rng.random(n) < confidences**power)
        estimates.append(absolute_mean(bins.accuracy - bins.confidence, bins.variances, bins.sizes, largest=1.0))
    return _drawn(estimates, _true_error(power, binned))


def _true_error(power: float, binned: Callable[..., ReliabilityBins]) -> float:
    """The error of a large population, with the probability of being right in the place of right and wrong."""
    confidences = stats.beta(5, 1).ppf((np.arange(_POPULATION) + 0.5) / _POPULATION)
    bins = binned(confidences, np.ones(_POPULATION, dtype=bool))
    members = np.searchsorted(bins.high[:-1], confidences)
    gaps = np.bincount(members, weights=confidences**power - confidences) / _POPULATION
    return float(np.abs(gaps).sum())


def mean_losses(rng: np.random.Generator, runs: int, *, n: int, rare: float) -> Drawn:
    """Log losses of which a ``rare`` share is large."""
    losses = np.where(rng.random((runs, n)) < rare, rng.gamma(4, 2, (runs, n)), rng.exponential(0.02, (runs, n)))
    losses = np.minimum(losses, _LARGEST_LOSS)
    truth = rare * _mean_of_gamma() + (1 - rare) * 0.02
    reach = stats.t.ppf(0.975, n - 1) * losses.std(axis=1, ddof=1) / np.sqrt(n)
    means = losses.mean(axis=1)
    drawn = _drawn([bounded_mean(row, largest=_LARGEST_LOSS) for row in losses], truth)
    return Drawn(drawn.low, drawn.high, truth, (means - reach, means + reach), "t")


def _mean_of_gamma() -> float:
    """The mean of a gamma number that is cut at the largest loss."""
    grid = (np.arange(_POPULATION) + 0.5) / _POPULATION
    return float(np.minimum(stats.gamma(4, scale=2).ppf(grid), _LARGEST_LOSS).mean())


def _drawn(estimates: list[Estimate], truth: float) -> Drawn:
    low, high = np.transpose([(estimate.low, estimate.high) for estimate in estimates])
    return Drawn(low, high, truth)


for size in (50, 1_000):
    for case, power in (("calibrated", 1.0), ("overconfident", 2.0)):
        for name, binned in (("ECE", reliability_bins), ("adaptive ECE", equal_size_bins)):
            coverage_check(
                name,
                maker="stats.means.absolute_mean",
                case=case,
                n=size,
                draw=partial(binned_errors, n=size, power=power, binned=binned),
            )
for size in (10, 100):
    coverage_check(
        "mean loss of few images",
        maker="stats.means._by_betting",
        case="2% large losses",
        n=size,
        draw=partial(mean_losses, n=size, rare=0.02),
    )
coverage_check(
    "mean loss",
    maker="stats.means.korn_graubard",
    case="2% large losses",
    n=1_000,
    draw=partial(mean_losses, n=1_000, rare=0.02),
)
