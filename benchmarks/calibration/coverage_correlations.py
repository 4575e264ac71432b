"""Coverage of correlations, quantiles, and similarity measures of two models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check, repeated
from benchmarks.calibration.households import alike, households
from regrade.core import Estimate
from regrade.core.arrays import IntArray, joint_counts
from regrade.stats import (
    binned_correlation,
    kendall,
    kendall_matrix,
    pearson,
    quantile,
    robust_pearson,
    spearman,
)
from regrade.studies.similarity.analysis import _agreement, _dominance, _excess, _kappa, _Tables
from regrade.studies.similarity.result import PairMatrix

_Measure = Callable[[_Tables, IntArray], PairMatrix]

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


_SPREAD = 2.0  # range of a uniform score; the error rate is 0.1 + 0.6 score / range


def score_and_error(rng: np.random.Generator, *, n: int) -> Estimate:
    """The correlation of a uniform score with being wrong."""
    score = rng.random(n)
    return robust_pearson(score, rng.random(n) < 0.1 + 0.6 * score)


def median(rng: np.random.Generator, *, n: int) -> Estimate:
    return quantile(rng.exponential(size=n), 0.5)


def binned(rng: np.random.Generator, runs: int, *, n: int) -> Drawn:
    """Correlation over ten bins; the truth is the mean over samples of the same size."""
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
"""Probabilities that both models are correct, only the first, only the second, neither."""


WRONG_CLASSES = 3
"""Number of classes that a wrong prediction is drawn from."""


def two_models(rng: np.random.Generator, *, n: int, measure: _Measure) -> Estimate:
    """A similarity measure of two models on ``n`` images."""
    return measured(rng.choice(4, size=n, p=CELLS), rng.integers(1, 1 + WRONG_CLASSES, (2, n)), None, measure)


def two_models_in_households(rng: np.random.Generator, *, n: int, measure: _Measure) -> Estimate:
    """A similarity measure of two models on the images of ``n`` households."""
    clusters = households(rng, n)
    cells, *wrong = alike(rng, clusters, rows=3)
    classes = 1 + (np.stack(wrong) * WRONG_CLASSES).astype(int)
    return measured(np.searchsorted(CELLS.cumsum()[:3], cells), classes, clusters, measure)


def measured(cells: IntArray, wrong: IntArray, clusters: IntArray | None, measure: _Measure) -> Estimate:
    """A measure of two models from the cells (n,) and the classes ``wrong`` (2, n) that they predict if not right."""
    n = len(cells)
    correct = np.stack([cells < 2, (cells == 0) | (cells == 2)])
    matrix = measure(_Tables(joint_counts(correct), n, correct, clusters), np.where(correct, 0, wrong))
    return Estimate(matrix.value[0, 1], matrix.low[0, 1], matrix.high[0, 1], n, matrix.method)


_FIRST, _SECOND = CELLS[0] + CELLS[1], CELLS[0] + CELLS[2]
_BY_CHANCE = _FIRST * _SECOND + (1 - _FIRST) * (1 - _SECOND)
_KAPPA = (CELLS[0] + CELLS[3] - _BY_CHANCE) / (1 - _BY_CHANCE)
_EQUAL = CELLS[0] + CELLS[3] / WRONG_CLASSES
_SIMILARITIES: tuple[tuple[str, str, _Measure, float], ...] = (
    ("error consistency", "_kappa", lambda tables, _: _kappa(tables, 0.95), _KAPPA),
    ("errors beyond independence", "_excess", lambda tables, _: _excess(tables, 0.95), _FIRST * _SECOND - CELLS[0]),
    ("dominance probability", "_shares", lambda tables, _: _dominance(tables, 0.95), CELLS[2]),
    ("equal predictions", "_shares", lambda tables, classes: _agreement(classes, "aa", tables.clusters, 0.95), _EQUAL),
)
_UNIFORM_VARIANCE, _MEAN_ERROR = 1 / 12, 0.4
_POINT_BISERIAL = 0.6 * _UNIFORM_VARIANCE / np.sqrt(_UNIFORM_VARIANCE * _MEAN_ERROR * (1 - _MEAN_ERROR))
_NUMBERS = (
    ("Pearson's r", "stats.correlation._estimate", pearson_r, CORRELATION, (10, 100)),
    ("Spearman's rho", "stats.correlation._estimate", spearman_rho, 6 / np.pi * np.arcsin(CORRELATION / 2), (10, 100)),
    ("Kendall's tau", "stats.correlation._estimate", kendall_tau, 2 / np.pi * np.arcsin(CORRELATION), (10, 100)),
    ("Kendall's tau", "stats.correlation._matrix", kendall_in_matrix, 2 / np.pi * np.arcsin(CORRELATION), (10, 100)),
    ("score and error", "stats.correlation.robust_pearson", score_and_error, _POINT_BISERIAL, (100, 1_000)),
    ("median", "stats.intervals.quantile", median, np.log(2), (6, 100)),
)
for number, maker, measure_pairs, truth, sizes in _NUMBERS:
    for size in sizes:
        draw = repeated(partial(measure_pairs, n=size), float(truth))
        coverage_check(number, maker=maker, case="simulated pairs", n=size, draw=draw)
for size in (200, 2_000):
    coverage_check(
        "correlation over bins",
        maker="stats.correlation.binned_correlation",
        case="10 bins",
        n=size,
        draw=partial(binned, n=size),
    )
for number, maker, measure, truth in _SIMILARITIES:
    for size in (50, 1_000):
        draw = repeated(partial(two_models, n=size, measure=measure), float(truth))
        coverage_check(number, maker=f"studies.similarity.analysis.{maker}", case="2 models", n=size, draw=draw)
    for size in (40, 300):
        draw = repeated(partial(two_models_in_households, n=size, measure=measure), float(truth))
        case = "2 models, households of 1 to 8 images"
        coverage_check(number, maker=f"studies.similarity.analysis.{maker}", case=case, n=size, draw=draw)
