"""Coverage of correlations, quantiles, and of how alike two models err."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check, repeated
from regrade.core import Estimate
from regrade.stats import (
    binned_correlation,
    clopper_pearson,
    covariance_interval,
    kappa_interval,
    kendall,
    kendall_matrix,
    pearson,
    quantile,
    robust_pearson,
    spearman,
)

CORRELATION = 0.6


def normal_pairs(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.multivariate_normal([0, 0], [[1, CORRELATION], [CORRELATION, 1]], n).T


def pearson_r(rng: np.random.Generator, *, n: int) -> Estimate:
    return pearson(*normal_pairs(rng, n))


def spearman_rho(rng: np.random.Generator, *, n: int) -> Estimate:
    return spearman(*normal_pairs(rng, n))


def kendall_tau(rng: np.random.Generator, *, n: int) -> Estimate:
    return kendall(*normal_pairs(rng, n))


def kendall_in_matrix(rng: np.random.Generator, *, n: int) -> Estimate:
    matrix = kendall_matrix(normal_pairs(rng, n))
    return Estimate(matrix.value[0, 1], matrix.low[0, 1], matrix.high[0, 1], n, matrix.method)


_SPREAD = 2.0  # of a score that is uniform from 0 to 1, in an error of 0.1 + 0.6 score


def score_and_error(rng: np.random.Generator, *, n: int) -> Estimate:
    """The correlation of a uniform score with right or wrong."""
    score = rng.random(n)
    return robust_pearson(score, rng.random(n) < 0.1 + 0.6 * score)


def median(rng: np.random.Generator, *, n: int) -> Estimate:
    return quantile(rng.exponential(size=n), 0.5)


def binned(rng: np.random.Generator, runs: int, *, n: int) -> Drawn:
    """Over ten bins; the truth is the mean over samples of as many images, as the interval promises."""
    middles = (np.arange(10) + 0.5) / 10
    shares = 0.2 + 0.5 * middles**2

    def counts() -> tuple[np.ndarray, np.ndarray]:
        images = rng.multinomial(n, np.full(10, 0.1))
        return rng.binomial(images, shares), images

    def correlation(hits: np.ndarray, images: np.ndarray) -> float:
        filled = images > 0
        return float(np.corrcoef(middles[filled], hits[filled] / images[filled])[0, 1])

    truth = float(np.tanh(np.mean([np.arctanh(correlation(*counts())) for _ in range(4_000)])))
    drawn = [binned_correlation(*counts(), middles, rng=rng, draws=300) for _ in range(runs)]
    return Drawn([each.low for each in drawn], [each.high for each in drawn], truth)


CELLS = np.array([0.62, 0.12, 0.10, 0.16])
"""How often both of two models are right, only the first, only the second, neither."""


def two_models(rng: np.random.Generator, n: int, runs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    both, only_first, only_second, _ = rng.multinomial(n, CELLS, runs).T
    return both, only_first, only_second, n


def kappa(rng: np.random.Generator, runs: int, *, n: int) -> Drawn:
    bounds = kappa_interval(*two_models(rng, n, runs))
    first, second = CELLS[0] + CELLS[1], CELLS[0] + CELLS[2]
    expected = first * second + (1 - first) * (1 - second)
    return Drawn(bounds.low, bounds.high, (CELLS[0] + CELLS[3] - expected) / (1 - expected))


def covariance(rng: np.random.Generator, runs: int, *, n: int) -> Drawn:
    bounds = covariance_interval(*two_models(rng, n, runs))
    return Drawn(bounds.low, bounds.high, CELLS[0] - (CELLS[0] + CELLS[1]) * (CELLS[0] + CELLS[2]))


def only_one_right(rng: np.random.Generator, runs: int, *, n: int) -> Drawn:
    bounds = clopper_pearson(two_models(rng, n, runs)[2], n)
    return Drawn(bounds.low, bounds.high, CELLS[2])


_UNIFORM_VARIANCE, _MEAN_ERROR = 1 / 12, 0.4
_POINT_BISERIAL = 0.6 * _UNIFORM_VARIANCE / np.sqrt(_UNIFORM_VARIANCE * _MEAN_ERROR * (1 - _MEAN_ERROR))
_NUMBERS = (
    ("Pearson's r", "stats.correlation._estimate", pearson_r, CORRELATION, (10, 100)),
    ("Spearman's rho", "stats.correlation._estimate", spearman_rho, 6 / np.pi * np.arcsin(CORRELATION / 2), (10, 100)),
    ("Kendall's tau", "stats.correlation._estimate", kendall_tau, 2 / np.pi * np.arcsin(CORRELATION), (10, 100)),
    ("Kendall's tau", "stats.correlation._matrix", kendall_in_matrix, 2 / np.pi * np.arcsin(CORRELATION), (10, 100)),
    ("score and error", "stats.robust_pearson.robust_pearson", score_and_error, _POINT_BISERIAL, (100, 1_000)),
    ("median", "stats.quantiles.quantile", median, np.log(2), (6, 100)),
)
for number, maker, one, truth, sizes in _NUMBERS:
    for size in sizes:
        draw = repeated(partial(one, n=size), float(truth))
        coverage_check(number, maker=maker, case="simulated pairs", n=size, draw=draw)
for size in (200, 2_000):
    coverage_check(
        "correlation over bins",
        maker="stats.binned_correlation.binned_correlation",
        case="10 bins",
        n=size,
        draw=partial(binned, n=size),
    )
for number, maker, draw_all in (
    ("error consistency", "studies.similarity._kappa", kappa),
    ("errors beyond independence", "studies.similarity._excess", covariance),
    ("dominance probability", "studies.similarity._dominance", only_one_right),
    ("equal predictions", "studies.similarity._agreement", only_one_right),
):
    for size in (50, 1_000):
        coverage_check(number, maker=maker, case="2 models", n=size, draw=partial(draw_all, n=size))
