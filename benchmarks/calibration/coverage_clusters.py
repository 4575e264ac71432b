"""Coverage of intervals over households: accuracies, the best of several, and differences of two models."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check, repeated
from benchmarks.calibration.households import alike, changed_in_households, correct_in_households, households
from benchmarks.calibration.worlds import counted
from regrade.core import Estimate
from regrade.stats import (
    SampledShares,
    Scale,
    accuracy_covariance,
    bounded_mean,
    clustered_best_share,
    clustered_share,
    confidence_gap,
    effective_images,
    paired_difference,
    standardized_difference,
    subset_difference,
    subset_share,
    two_way_mean,
)
from regrade.studies import Basis, SetPair, compare_correctness
from regrade.studies.gate.measures import DifferenceMeasure
from regrade.studies.generalization.paired_counts import paired_counts
from regrade.studies.generalization.rows import gaps, robustness_to

_ACCURACY, _GAINED, _LOST = 0.8, 0.06, 0.03
_RARE = 0.05
_ACCURACIES = np.linspace(0.55, 0.85, 8)


def accuracy(rng: np.random.Generator, *, count: int) -> Estimate:
    clusters = households(rng, count)
    return clustered_share(alike(rng, clusters, rows=1)[0] < _ACCURACY, clusters)


def best_of_five(rng: np.random.Generator, *, count: int) -> Estimate:
    clusters = households(rng, count)
    return clustered_best_share(alike(rng, clusters, rows=5) < _ACCURACY, clusters)


def mean_share(rng: np.random.Generator, *, count: int) -> Estimate:
    """The mean share of five models that are right."""
    clusters = households(rng, count)
    shares = (alike(rng, clusters, rows=5) < _ACCURACY).mean(axis=0)
    return subset_share(shares, np.ones(len(clusters), dtype=bool), clusters)


def difference_of_sets(rng: np.random.Generator, *, count: int) -> Estimate:
    """Of the mean shares on two sets with other households."""
    sides = [households(rng, count) for _ in range(2)]
    right = [alike(rng, clusters, rows=1)[0] < _ACCURACY for clusters in sides]
    strata = [np.zeros(len(clusters), dtype=np.int64) for clusters in sides]
    return standardized_difference(
        right[0], strata[0], right[1], strata[1], clusters=sides[0], base_clusters=sides[1]
    )  # fmt: skip


def difference_of_bins(rng: np.random.Generator, *, count: int) -> Estimate:
    """Of the mean shares on two halves of the images, which share households."""
    clusters = households(rng, count)
    first = rng.random(len(clusters)) < 0.5
    return subset_difference(alike(rng, clusters, rows=1)[0] < _ACCURACY, first, ~first, clusters)


def sure_minus_right(rng: np.random.Generator, *, count: int) -> Estimate:
    """Of a calibrated model that is as sure of all images of a household."""
    clusters = households(rng, count)
    sure = rng.uniform(0.5, 1.0, count)[clusters]
    return confidence_gap(sure, alike(rng, clusters, rows=1)[0] < sure, clusters)


def mean_loss(rng: np.random.Generator, *, count: int) -> Estimate:
    clusters = households(rng, count)
    return bounded_mean(alike(rng, clusters, rows=1)[0] ** 2, clusters, largest=1.0)


def rare_losses(rng: np.random.Generator, *, count: int) -> Estimate:
    """Of households that are wholly right, or wholly wrong with a probability of 5%."""
    clusters = households(rng, count)
    return bounded_mean(np.where(rng.random(count) < _RARE, 1.8, 0.01)[clusters], clusters, largest=2.0)


def change_of_models(rng: np.random.Generator, *, count: int) -> Estimate:
    """The mean change of eight models between two sets of households, without a shift."""
    sides = [households(rng, count) for _ in range(2)]
    old, new = (correct_in_households(rng, _ACCURACIES, clusters) for clusters in sides)
    noise = accuracy_covariance(old, clusters=sides[0]) + accuracy_covariance(new, clusters=sides[1])
    return two_way_mean(new.mean(axis=1) - old.mean(axis=1), noise)


def gap_of_model(rng: np.random.Generator, *, count: int) -> Estimate:
    """The gap of the first of three models."""
    sides = [households(rng, count) for _ in range(2)]
    pair = SetPair(*(counted("set", correct_in_households(rng, _ACCURACIES[:3], part), part) for part in sides))
    return gaps(paired_counts(pair, ()), 0.95)[0]


def accuracy_of_model(rng: np.random.Generator, *, count: int) -> Estimate:
    """Its accuracy in the study of generalization."""
    return _sampled(rng, count, models=1).estimates(0.95)[0]


def best_of_generalization(rng: np.random.Generator, *, count: int) -> Estimate:
    return _sampled(rng, count, models=5).best(0.95)


def above_the_line(rng: np.random.Generator, *, count: int) -> Estimate:
    """The effective robustness of a model on the line through eight others, each with errors of its own."""
    sides = [households(rng, count) for _ in range(2)]
    accuracies = np.append(_ACCURACIES, 0.7)
    pair = (counted("set", alike(rng, part, rows=9) < accuracies[:, None], part) for part in sides)
    shares = [side.shares(tuple(side.models)) for side in pair]
    return robustness_to(*shares, standard=np.arange(9) < 8, scale=Scale.LOGIT, confidence=0.95)[1][-1]


def _sampled(rng: np.random.Generator, count: int, *, models: int) -> SampledShares:
    clusters = households(rng, count)
    right = alike(rng, clusters, rows=models) < _ACCURACY
    effective = tuple(effective_images(row, clusters) for row in right)
    return SampledShares(right.sum(axis=1), np.full(models, len(clusters)), effective)


def two_models(rng: np.random.Generator, runs: int, *, count: int) -> Drawn:
    """The difference in a comparison, and that of the interval for independent images."""
    estimates, plain = [], []
    for _ in range(runs):
        clusters = households(rng, count)
        correct = changed_in_households(rng, clusters, _GAINED, _LOST)[::-1]
        basis = Basis("images", correct.shape[1])
        (pair,) = compare_correctness(("new", "old"), correct, basis=basis, clusters=clusters).pairs
        estimates.append(pair.difference)
        bounds = paired_difference(pair.only_first, pair.only_second, correct.shape[1])
        plain.append((float(bounds.low), float(bounds.high)))
    low, high = ([getattr(estimate, side) for estimate in estimates] for side in ("low", "high"))
    baseline = tuple(np.transpose(plain))
    return Drawn(low, high, _GAINED - _LOST, (baseline[0], baseline[1]), "independent images")


def of_a_gate(rng: np.random.Generator, *, count: int) -> Estimate:
    """The difference of candidate and baseline, with a two-sided interval at 90%."""
    clusters = households(rng, count)
    pair = changed_in_households(rng, clusters, _GAINED, _LOST)[::-1, None]
    return DifferenceMeasure(pair, pair, pair, clusters).estimate(0.9)


for count in (30, 300):
    case = "households of 1 to 8 images"
    coverage_check(
        "accuracy over clusters",
        maker="stats.clustered_pairs.clustered_share",
        case=case,
        n=count,
        draw=repeated(partial(accuracy, count=count), _ACCURACY),
    )
    coverage_check(
        "best accuracy over clusters",
        maker="stats.clustered_pairs.clustered_best_share",
        case=f"5 equal models, {case}",
        n=count,
        draw=repeated(partial(best_of_five, count=count), _ACCURACY),
    )
    coverage_check(
        "difference over clusters",
        maker="studies.compare.model_pairs._differences",
        case=case,
        n=count,
        draw=partial(lambda rng, runs, count: two_models(rng, runs, count=count), count=count),
    )
    coverage_check(
        "difference of a gate over clusters",
        maker="studies.gate.measures._difference",
        case=f"{case}, intervals at 90%",
        n=count,
        draw=repeated(partial(of_a_gate, count=count), _GAINED - _LOST),
        least=0.88,
    )
    coverage_check(
        "gap between two sets over clusters",
        maker="studies.generalization.rows.gaps",
        case=case,
        n=count,
        draw=repeated(partial(gap_of_model, count=count), 0.0),
    )
    coverage_check(
        "effective robustness over clusters",
        maker="studies.generalization.rows.robustness_to",
        case=f"a model on the line through 8, {case}",
        n=count,
        draw=repeated(partial(above_the_line, count=count), 0.0),
    )
    for measure, maker, name, truth in (
        (sure_minus_right, "confidence_gaps._clustered_gap", "confidence minus accuracy", 0.0),
        (mean_loss, "means._over_clusters_too", "mean loss", 1 / 3),
        (rare_losses, "means._over_clusters_too", "mean of rare losses", 1.8 * _RARE + 0.01 * (1 - _RARE)),
        (mean_share, "subset_shares.subset_share", "mean share of models", _ACCURACY),
        (difference_of_sets, "standardized.standardized_difference", "difference of two sets", 0.0),
        (difference_of_bins, "subset_shares.subset_difference", "difference of two subsets", 0.0),
        (change_of_models, "two_way.two_way_mean", "mean change", 0.0),
        (accuracy_of_model, "sampled_shares.estimates", "accuracy in study generalization", _ACCURACY),
        (best_of_generalization, "sampled_shares.best", "best accuracy in study generalization", _ACCURACY),
    ):
        draw = repeated(partial(measure, count=count), truth)
        coverage_check(f"{name} over clusters", maker=f"stats.{maker}", case=case, n=count, draw=draw)
