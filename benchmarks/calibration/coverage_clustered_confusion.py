"""Coverage over households of `study confusion`: correlations, quantiles, rankings of errors, expected errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from scipy import special

from benchmarks.calibration.checks import Drawn, coverage_check, repeated
from benchmarks.calibration.coverage_confusion import estimated, models_of_skills
from benchmarks.calibration.coverage_correlations import CORRELATION
from benchmarks.calibration.households import alike, households
from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import (
    auroc_difference,
    clustered_share,
    kendall,
    mean_auroc,
    quantile,
    rank_errors,
    reweighted_proportion,
    robust_pearson,
)
from regrade.stats.influence import independent_size
from regrade.studies.confusion.distribution import ScoreBins, error_curve
from regrade.studies.confusion.expected_error import (
    SetClusters,
    SetScores,
    agreement_lines,
    expectation_gap,
    expected_by_confidence,
    expected_by_score,
    expected_by_threshold,
)

_MANY = 40_000  # households that show the truth
_TAIL = 0.975
_ERROR = 0.4


def normal_pairs(rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """Two correlated normal samples (n,), both alike within households (n,)."""
    clusters = households(rng, count)
    first, own = special.ndtri(alike(rng, clusters, rows=2))
    return first, CORRELATION * first + np.sqrt(1 - CORRELATION**2) * own, clusters


def tau(rng: np.random.Generator, *, count: int) -> Estimate:
    return kendall(*normal_pairs(rng, count))


def pearson_r(rng: np.random.Generator, *, count: int) -> Estimate:
    return robust_pearson(*normal_pairs(rng, count))


def median(rng: np.random.Generator, *, count: int) -> Estimate:
    clusters = households(rng, count)
    values = alike(rng, clusters, rows=1)[0]
    below = values <= np.median(values)
    return quantile(values, 0.5, worth=independent_size(below - below.mean(), clusters, upper=_TAIL))


def score_and_errors(rng: np.random.Generator, count: int) -> tuple[FloatArray, BoolArray, IntArray]:
    """A score (n,) from 0 to 1 and the errors (3, n) of models, which a high score makes more likely."""
    clusters = households(rng, count)
    score, *own = alike(rng, clusters, rows=4)
    return score, np.stack(own) < _ERROR * (0.5 + score), clusters


def over_bins(rng: np.random.Generator, *, count: int) -> Estimate:
    score, wrong, clusters = score_and_errors(rng, count)
    binned = error_curve(score, wrong[0], ScoreBins(0.1, 1.0), clusters, rng=rng, confidence=0.95).binned
    assert binned is not None
    return binned


@cache
def mean_over_bins(count: int) -> float:
    """The mean correlation over bins in samples of this size."""
    rng, bins = np.random.default_rng(0), ScoreBins(0.1, 1.0)
    values = []
    for _ in range(1_000):
        score, wrong, _ = score_and_errors(rng, count)
        sizes, misses = (np.bincount(bins.of(part), minlength=10) for part in (score, score[wrong[0]]))
        filled = sizes > 0
        values.append(np.arctanh(np.corrcoef(bins.middles[filled], misses[filled] / sizes[filled])[0, 1]))
    return float(np.tanh(np.mean(values)))


def area(rng: np.random.Generator, *, count: int) -> Estimate:
    score, wrong, clusters = score_and_errors(rng, count)
    return mean_auroc(rank_errors(score, wrong, clusters=clusters))


def area_minus_that_of_noise(rng: np.random.Generator, *, count: int) -> Estimate:
    """The area of the score minus that of an unrelated one, which is also alike within households."""
    score, wrong, clusters = score_and_errors(rng, count)
    rankings = [rank_errors(part, wrong, clusters=clusters) for part in (score, alike(rng, clusters, rows=1)[0])]
    return auroc_difference(rankings[0], rankings[1])


@cache
def true_area() -> float:
    score, wrong, _ = score_and_errors(np.random.default_rng(0), _MANY)
    return rank_errors(score, wrong).value


def true_difference() -> float:
    return true_area() - 0.5


def drawn(
    rng: np.random.Generator, runs: int, *, measure: Callable[..., Estimate], truth: float | Callable[[], float]
) -> Drawn:
    """Estimates of a truth, which may take long to compute."""
    return repeated(measure, float(truth() if callable(truth) else truth))(rng, runs)


def reweighted(rng: np.random.Generator, *, count: int) -> Estimate:
    """Ten strata, of which the target images have others more often; values depend on the stratum."""
    homes = [households(rng, count) for _ in range(2)]
    (own, right), (drawn_target,) = alike(rng, homes[0], rows=2), alike(rng, homes[1], rows=1)
    strata, target = (10 * own).astype(int), (10 * np.sqrt(drawn_target)).astype(int)
    kept = np.isin(target, strata)
    return reweighted_proportion(right < 0.2 + 0.05 * strata, strata, target[kept], homes[0], homes[1][kept])


def gap(rng: np.random.Generator, *, count: int) -> Estimate:
    """Both sets have the same distribution, so that the error expected by score is the actual one."""
    (score, wrong, homes), (unlabeled, new_wrong, new_homes) = (score_and_errors(rng, count) for _ in range(2))
    clusters = SetClusters(homes, new_homes)
    expected = expected_by_score(wrong[0], SetScores(score, unlabeled), clusters, confidence=0.95)
    return expectation_gap(expected, clustered_share(new_wrong[0], new_homes), confidence=0.95)


def confidence_of_calibrated(rng: np.random.Generator, *, count: int) -> Estimate:
    clusters = households(rng, count)
    return expected_by_confidence(1 - alike(rng, clusters, rows=1)[0] ** 3, clusters, confidence=0.95)


def thresholded(rng: np.random.Generator, *, count: int) -> Estimate:
    """Uniform confidences on labeled images, squares of uniform ones on unlabeled images; the lowest are wrong."""
    homes = [households(rng, count) for _ in range(2)]
    labeled, unlabeled = (alike(rng, own, rows=1)[0] for own in homes)
    return expected_by_threshold(labeled < 0.3, labeled, unlabeled**2, SetClusters(*homes), confidence=0.95)


def by_agreement(rng: np.random.Generator, runs: int, *, count: int) -> Drawn:
    """One of the models; only a third of the runs, since bootstraps are slow."""
    estimates = [on_line(rng, count)[1] for _ in range(-(-runs // 3))]
    return estimated(estimates, on_line_of_many())


def on_line(rng: np.random.Generator, count: int) -> list[Estimate]:
    homes = [households(rng, count) for _ in range(2)]
    hard = [special.ndtri(alike(rng, own, rows=1)[0]) + shift for own, shift in zip(homes, (0.0, 0.5), strict=True)]
    (classes, correct), (unlabeled, _) = (models_of_skills(rng, own) for own in hard)
    return agreement_lines(classes, correct, unlabeled, rng=rng, clusters=SetClusters(*homes))


@cache
def on_line_of_many() -> float:
    return on_line(np.random.default_rng(0), _MANY)[1].value


_CASE = "households of 1 to 8 images"
_FOLDER = "studies.confusion.expected_error"
_REWEIGHTED = float(0.2 + 0.05 * np.diff((np.arange(11) / 10) ** 2) @ np.arange(10))  # by the strata of target images
for count in (40, 300):
    for name, maker, measure, truth in (
        ("Kendall's tau", "stats.correlation._estimate", tau, 2 / np.pi * float(np.arcsin(CORRELATION))),
        ("Pearson's r of any samples", "stats.correlation.robust_pearson", pearson_r, CORRELATION),
        ("median", "stats.intervals.quantile", median, 0.5),
        ("correlation over bins", "stats.correlation.binned_correlation", over_bins, partial(mean_over_bins, count)),
        ("mean AUROC", "stats.auroc.mean_auroc", area, true_area),
        ("difference of AUROCs", "stats.auroc.auroc_difference", area_minus_that_of_noise, true_difference),
        ("post-stratified share", "stats.means.korn_graubard", reweighted, _REWEIGHTED),
        ("expected by score minus actual error", f"{_FOLDER}.expectation_gap", gap, 0.0),
        ("average confidence", f"{_FOLDER}.expected_by_confidence", confidence_of_calibrated, 0.25),
        ("thresholded confidence", f"{_FOLDER}.expected_by_threshold", thresholded, 0.3**0.5),
    ):
        draw = partial(drawn, measure=partial(measure, count=count), truth=truth)
        coverage_check(f"{name} over clusters", maker=maker, case=_CASE, n=count, draw=draw)
    coverage_check(
        "agreement on the line over clusters",
        maker=f"{_FOLDER}.agreement_lines",
        case=_CASE,
        n=count,
        draw=partial(by_agreement, count=count),
    )
