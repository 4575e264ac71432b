"""Coverage of intervals of accuracies, and of their differences on the same and on different images."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import stats

from benchmarks.calibration.checks import Drawn, coverage_check, repeated
from benchmarks.calibration.worlds import model_names
from regrade.core import Estimate
from regrade.metrics import MultilabelRule
from regrade.stats import (
    SampledShares,
    balanced_proportion,
    clustered_mean,
    clustered_share,
    partial_review,
    proportions,
    reviewed_accuracy,
    stratified_mean,
    stratified_proportion,
    wilson,
)
from regrade.studies.compare.model_pairs import model_pairs
from regrade.studies.confusion.hard_set import transfer
from regrade.studies.generalization.explanations import loss_parts
from regrade.studies.generalization.paired_counts import PairedCounts
from regrade.studies.generalization.rows import gaps
from regrade.studies.multilabel_grade import multilabel_accuracy
from regrade.studies.plan.review import _Decided

_NORMAL = stats.norm.ppf(0.975)


def accuracy(rng: np.random.Generator, runs: int, *, n: int, share: float) -> Drawn:
    counts = rng.binomial(n, share, runs)
    baseline = wilson(counts, n)
    low, high = np.transpose([(estimate.low, estimate.high) for estimate in proportions(counts, n)])
    return Drawn(low, high, share, (baseline.low, baseline.high), "wilson")


def same_images(rng: np.random.Generator, runs: int, *, n: int, only_first: float, only_second: float) -> Drawn:
    first, second, _ = rng.multinomial(n, [only_first, only_second, 1 - only_first - only_second], runs).T
    differences = [_difference_of_two(*counts, images=n) for counts in zip(first, second, strict=True)]
    value, disagreement = (first - second) / n, (first + second) / n
    reach = _NORMAL * np.sqrt(np.maximum(disagreement - value**2, 0) / n)
    return _drawn(differences, only_first - only_second, (value - reach, value + reach))


def _difference_of_two(only_first: int, only_second: int, *, images: int) -> Estimate:
    """The difference of two models, each correct alone on some images, and both correct on the rest."""
    counts = np.array([[0, only_first], [only_second, 0]])
    pairs = model_pairs(
        ("first", "second"),
        proportions([images - only_second, images - only_first], images),
        counts,
        np.zeros(2, dtype=np.int64),
        first=np.array([0]),
        second=np.array([1]),
        images=images,
        confidence=0.95,
    )
    return pairs._differences(np.array([0]))[0]


def decided_images(rng: np.random.Generator, *, n: int, share: float) -> Estimate:
    """``n`` decided images with different predictions; one model is correct on 60%, the other on 30%."""
    only_first, only_second, _ = rng.multinomial(n, [0.6, 0.3, 0.1]).tolist()
    return _Decided(only_first, only_second, n).difference(share, 0.95)


def hard_and_other_images(rng: np.random.Generator, runs: int, *, n: int, hard: float, rest: float) -> Drawn:
    inside = np.arange(2 * n) < n
    wrong = rng.random((runs, 2 * n)) < np.where(inside, hard, rest)
    differences = [difference for row in wrong if (difference := transfer(row, inside, confidence=0.95).difference)]
    return _drawn(differences, hard - rest, _wald(wrong[:, inside].sum(axis=1), wrong[:, ~inside].sum(axis=1), n))


def original_and_new_images(rng: np.random.Generator, runs: int, *, n: int, original: float, new: float) -> Drawn:
    """The gaps of one model per run."""
    counts, images = (rng.binomial(n, original, runs), rng.binomial(n, new, runs)), np.full(runs, n)
    none, standard = np.zeros(runs, dtype=np.int64), np.ones(runs, dtype=bool)
    models = PairedCounts(model_names(runs), counts[0], images, none, counts[1], images, none, standard, noise=None)
    return _drawn(gaps(models, 0.95), original - new, _wald(*counts, n))


def _drawn(estimates: list[Estimate], truth: float, wald: tuple[np.ndarray, np.ndarray]) -> Drawn:
    return Drawn([e.low for e in estimates], [e.high for e in estimates], truth, wald, "wald")


def _wald(first: np.ndarray, second: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    value = (first - second) / n
    reach = _NORMAL * np.sqrt(sum(count / n * (1 - count / n) for count in (first, second)) / n)
    return value - reach, value + reach


STRATA = np.array([0.95, 0.8, 0.6, 0.7])


def stratified_accuracy(rng: np.random.Generator, *, n: int) -> Estimate:
    strata = np.arange(n) % len(STRATA)
    return stratified_proportion(rng.random(n) < STRATA[strata], strata)[0]


RARE = np.array([0.97, 0.8, 0.95])


def balanced_accuracy(rng: np.random.Generator, *, n: int) -> Estimate:
    """Three classes with 90%, 8% and 2% of the images."""
    classes = np.repeat(np.arange(3), [90 * n // 100, 8 * n // 100, 2 * n // 100])
    return balanced_proportion(rng.random(n) < RARE[classes], classes)[0]


def multilabel_accuracy_by_class(rng: np.random.Generator, *, n: int) -> Estimate:
    """The same classes, with a tenth of the images not scored."""
    classes = np.repeat(np.arange(3), [90 * n // 100, 8 * n // 100, 2 * n // 100])
    scored = np.arange(n) % 10 > 0
    return multilabel_accuracy(rng.random(n) < RARE[classes], scored, classes, rule=MultilabelRule.CLASSES)


def stratified_average(rng: np.random.Generator, *, n: int) -> Estimate:
    strata = np.arange(n) % len(STRATA)
    return stratified_mean(rng.normal(STRATA[strata], 0.3), strata)[0]


def clustered_accuracy(rng: np.random.Generator, *, n: int) -> Estimate:
    """Clusters of four images with correlated predictions."""
    chances = np.repeat(rng.beta(2.8, 1.2, n), 4)
    return clustered_share(rng.random(4 * n) < chances, np.arange(4 * n) // 4)


def clustered_average(rng: np.random.Generator, *, n: int) -> Estimate:
    values = np.repeat(rng.normal(0.7, 0.1, n), 4) + rng.normal(0, 0.1, 4 * n)
    return clustered_mean(values, np.arange(4 * n) // 4)[0]


def partly_reviewed(rng: np.random.Generator, *, n: int) -> Estimate:
    """60% correct, 30% novel of which half are correct; a quarter of the novel predictions is judged."""
    novel = rng.random(n) < 0.3
    outcomes = np.where(novel, rng.random(n) < 0.5, rng.random(n) < 6 / 7).astype(float)
    hidden = rng.permutation(np.flatnonzero(novel))[max(1, novel.sum() // 4) :]
    outcomes[hidden] = np.nan
    return reviewed_accuracy(partial_review(outcomes, novel))


def chance_of_new_images(rng: np.random.Generator, *, n: int) -> Estimate:
    """The effect of sampling new images on the mean of five models, minus the truth: intervals should contain 0."""
    shares = np.linspace(0.6, 0.9, 5)
    images = np.full(5, n)
    new_correct = rng.binomial(n, shares)
    original = SampledShares(np.rint(shares * n).astype(np.int64), images)
    parts = loss_parts(original, SampledShares(new_correct, images), confidence=0.95)
    error, chance = float(np.mean(new_correct / n - shares)), parts.sampling
    return Estimate(0.0, chance.low - error, chance.high - error, n, chance.method)


for size in (10, 100, 1_000):
    for share in (0.5, 0.9):
        draw = partial(accuracy, n=size, share=share)
        coverage_check(
            "accuracy", maker="stats.intervals.proportions", case=f"an accuracy of {share:g}", n=size, draw=draw
        )
for size in (20, 200):
    coverage_check(
        "difference on the same images",
        maker="studies.compare.model_pairs._differences",
        case="3% and 6% right alone",
        n=size,
        draw=partial(same_images, n=size, only_first=0.06, only_second=0.03),
    )
for size in (20, 200, 2_000):
    coverage_check(
        "difference by the decided images",
        maker="studies.plan.review.difference",
        case="predictions differ on 20%",
        n=size,
        draw=repeated(partial(decided_images, n=size, share=0.2), 0.2 * 0.3),
    )
    coverage_check(
        "error on hard images minus the rest",
        maker="studies.confusion.hard_set.transfer",
        case="errors of 0.3 and 0.2",
        n=size,
        draw=partial(hard_and_other_images, n=size, hard=0.3, rest=0.2),
    )
    coverage_check(
        "gap between two sets",
        maker="studies.generalization.rows.gaps",
        case="accuracies of 0.8 and 0.7",
        n=size,
        draw=partial(original_and_new_images, n=size, original=0.8, new=0.7),
    )
for size in (40, 400):
    case, truth = "4 strata", float(STRATA.mean())
    for maker, measure in (("korn_graubard", stratified_accuracy), ("_t_intervals", stratified_average)):
        draw_all = repeated(partial(measure, n=size), truth)
        coverage_check("mean over strata", maker=f"stats.means.{maker}", case=case, n=size, draw=draw_all)
for size in (100, 1_000):
    coverage_check(
        "balanced accuracy",
        maker="stats.balanced_proportions._widened",
        case="classes with 90%, 8% and 2% of the images",
        n=size,
        draw=repeated(partial(balanced_accuracy, n=size), float(RARE.mean())),
    )
    coverage_check(
        "multi-label accuracy by class",
        maker="stats.balanced_proportions._widened",
        case="classes with 90%, 8% and 2% of the images",
        n=size,
        draw=repeated(partial(multilabel_accuracy_by_class, n=size), float(RARE.mean())),
    )
for size in (10, 100):
    case = "clusters of 4 images"
    for maker, measure in (
        ("clustered_pairs.clustered_share", clustered_accuracy), ("means._t_intervals", clustered_average)
    ):  # fmt: skip
        draw_all = repeated(partial(measure, n=size), 0.7)
        coverage_check("mean over clusters", maker=f"stats.{maker}", case=case, n=size, draw=draw_all)
for size in (100, 1_000):
    case, draw_all = "a quarter of the novel 30% judged", repeated(partial(partly_reviewed, n=size), 0.75)
    coverage_check(
        "accuracy after a partial review",
        maker="stats.partial_reviews.reviewed_accuracy",
        case=case,
        n=size,
        draw=draw_all,
    )
    case, draw_all = "5 models together", repeated(partial(chance_of_new_images, n=size), 0.0)
    coverage_check(
        "chance of the new images",
        maker="studies.generalization.explanations.loss_parts",
        case=case,
        n=size,
        draw=draw_all,
    )
