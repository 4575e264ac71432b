"""Coverage of intervals of shares: accuracies, and their differences on the same and on other images."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import stats

from benchmarks.calibration.checks import Drawn, coverage_check, repeated
from regrade.core import Estimate
from regrade.stats import (
    clustered_mean,
    clustered_proportion,
    independent_difference,
    paired_difference,
    partial_review,
    proportions,
    reviewed_accuracy,
    stratified_mean,
    stratified_proportion,
    wilson,
)
from regrade.studies.loss_parts import loss_parts

_NORMAL = stats.norm.ppf(0.975)


def accuracy(rng: np.random.Generator, runs: int, *, n: int, share: float) -> Drawn:
    counts = rng.binomial(n, share, runs)
    rival = wilson(counts, n)
    low, high = np.transpose([(estimate.low, estimate.high) for estimate in proportions(counts, n)])
    return Drawn(low, high, share, (rival.low, rival.high), "wilson")


def same_images(rng: np.random.Generator, runs: int, *, n: int, only_first: float, only_second: float) -> Drawn:
    first, second, _ = rng.multinomial(n, [only_first, only_second, 1 - only_first - only_second], runs).T
    bounds = paired_difference(first, second, n)
    value, disagreement = (first - second) / n, (first + second) / n
    reach = _NORMAL * np.sqrt(np.maximum(disagreement - value**2, 0) / n)
    return Drawn(bounds.low, bounds.high, only_first - only_second, (value - reach, value + reach), "wald")


def other_images(rng: np.random.Generator, runs: int, *, n: int, first: float, second: float) -> Drawn:
    counts = rng.binomial(n, first, runs), rng.binomial(n, second, runs)
    bounds = independent_difference(counts[0], n, counts[1], n)
    value = (counts[0] - counts[1]) / n
    reach = _NORMAL * np.sqrt(sum(count / n * (1 - count / n) for count in counts) / n)
    return Drawn(bounds.low, bounds.high, first - second, (value - reach, value + reach), "wald")


STRATA = np.array([0.95, 0.8, 0.6, 0.7])


def stratified_accuracy(rng: np.random.Generator, *, n: int) -> Estimate:
    strata = np.arange(n) % len(STRATA)
    return stratified_proportion(rng.random(n) < STRATA[strata], strata)[0]


def stratified_average(rng: np.random.Generator, *, n: int) -> Estimate:
    strata = np.arange(n) % len(STRATA)
    return stratified_mean(rng.normal(STRATA[strata], 0.3), strata)[0]


def clustered_accuracy(rng: np.random.Generator, *, n: int) -> Estimate:
    """Clusters of four images that are right more or less often together."""
    chances = np.repeat(rng.beta(2.8, 1.2, n), 4)
    return clustered_proportion(rng.random(4 * n) < chances, np.arange(4 * n) // 4)[0]


def clustered_average(rng: np.random.Generator, *, n: int) -> Estimate:
    values = np.repeat(rng.normal(0.7, 0.1, n), 4) + rng.normal(0, 0.1, 4 * n)
    return clustered_mean(values, np.arange(4 * n) // 4)[0]


def partly_reviewed(rng: np.random.Generator, *, n: int) -> Estimate:
    """Of images that are right in 60% and novel in 30%, half of them right; a quarter of the novel ones is judged."""
    novel = rng.random(n) < 0.3
    outcomes = np.where(novel, rng.random(n) < 0.5, rng.random(n) < 6 / 7).astype(float)
    hidden = rng.permutation(np.flatnonzero(novel))[max(1, novel.sum() // 4) :]
    outcomes[hidden] = np.nan
    return reviewed_accuracy(partial_review(outcomes, novel))


def chance_of_new_images(rng: np.random.Generator, *, n: int) -> Estimate:
    """What drawing the new images does to the mean of five models; the truth is taken off, so that 0 should be held."""
    shares = np.linspace(0.6, 0.9, 5)
    images = np.full(5, n)
    new_correct = rng.binomial(n, shares)
    found = loss_parts(np.rint(shares * n).astype(np.int64), images, new_correct, images, confidence=0.95).sampling
    error = float(np.mean(new_correct / n - shares))
    return Estimate(0.0, found.low - error, found.high - error, n, found.method)


for size in (10, 100, 1_000):
    for share in (0.5, 0.9):
        draw = partial(accuracy, n=size, share=share)
        coverage_check("accuracy", maker="stats.intervals.proportions", case=f"a share of {share:g}", n=size, draw=draw)
for size in (20, 200, 2_000):
    coverage_check(
        "difference on the same images",
        maker="studies.model_pairs._differences",
        case="3% and 6% right alone",
        n=size,
        draw=partial(same_images, n=size, only_first=0.06, only_second=0.03),
        also=("studies.label_change._difference", "studies.plan.review.difference"),
    )
    coverage_check(
        "difference on other images",
        maker="studies.confusion.transfer.transfer",
        case="shares of 0.8 and 0.7",
        n=size,
        draw=partial(other_images, n=size, first=0.8, second=0.7),
        also=("studies.generalization._gaps",),
    )
for size in (40, 400):
    case, truth = "4 strata", float(STRATA.mean())
    for maker, one in (("korn_graubard", stratified_accuracy), ("_t_intervals", stratified_average)):
        draw_all = repeated(partial(one, n=size), truth)
        coverage_check("mean over strata", maker=f"stats.means.{maker}", case=case, n=size, draw=draw_all)
for size in (10, 100):
    case = "clusters of 4 images"
    for maker, one in (("korn_graubard", clustered_accuracy), ("_t_intervals", clustered_average)):
        draw_all = repeated(partial(one, n=size), 0.7)
        coverage_check("mean over clusters", maker=f"stats.means.{maker}", case=case, n=size, draw=draw_all)
for size in (100, 1_000):
    case, draw_all = "a quarter of the novel 30% judged", repeated(partial(partly_reviewed, n=size), 0.75)
    coverage_check(
        "accuracy after a partial review",
        maker="stats.partial_review.reviewed_accuracy",
        case=case,
        n=size,
        draw=draw_all,
    )
    case, draw_all = "5 models together", repeated(partial(chance_of_new_images, n=size), 0.0)
    coverage_check("chance of the new images", maker="studies.loss_parts.loss_parts", case=case, n=size, draw=draw_all)
