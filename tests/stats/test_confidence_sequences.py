"""Tests of confidence sequences: by hand, by exact enumeration, and simultaneous coverage by simulation."""

import itertools
from fractions import Fraction
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import (
    RandomOrder,
    anytime_accuracy,
    anytime_estimate,
    clopper_pearson,
    confidence_sequence,
    partial_review,
)

quick = settings(deadline=None, max_examples=40, derandomize=True)


def test_confidence_sequence_by_hand():
    # 5 of 5 right in a list of 10: the mixture gives (1/2 3/2 5/2 7/2 9/2) / 5! = 0.2461, and 0.05 of it is 0.0123.
    # 5 right in all: 5! / (10 9 8 7 6) = 0.0040 is rejected; 6 right in all: 720 / 30240 = 0.0238 is not.
    bounds = confidence_sequence(5, 5, 10)
    assert (bounds.low.tolist(), bounds.high.tolist()) == ([6], [10])


def rising(count: int) -> Fraction:
    """The product 1/2 * 3/2 * 5/2 * ... with this many factors."""
    return prod((Fraction(2 * step + 1, 2) for step in range(count)), start=Fraction(1))


def mixture(right: int, wrong: int) -> Fraction:
    """Probability of the sequence of judgments if the share is drawn from Beta(1/2, 1/2)."""
    return rising(right) * rising(wrong) / prod(range(1, right + wrong + 1), start=1)


def likelihood(total: int, right: int, seen: int, size: int) -> Fraction:
    """Probability of the sequence of judgments for a given total of right predictions."""
    ways = comb(total, right) * comb(size - total, seen - right)
    return Fraction(ways, comb(size, seen) * comb(seen, right))


def plausible_totals(right, seen, sizes, level) -> set[int]:
    """All totals that are not rejected for some split over the strata, by exact enumeration."""
    limit = Fraction(level) * prod(mixture(k, n - k) for k, n in zip(right, seen, strict=True))
    splits = itertools.product(*(range(size + 1) for size in sizes))
    return {
        sum(split) for split in splits if prod(map(likelihood, split, right, seen, sizes), start=Fraction(1)) > limit
    }


@st.composite
def reviews(draw):
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    seen = [draw(st.integers(0, size)) for size in sizes]
    return [draw(st.integers(0, n)) for n in seen], seen, sizes


@given(review=reviews(), confidence=st.sampled_from([0.5, 0.8, 0.95]))
@quick
def test_confidence_sequence_equals_enumeration(review, confidence):
    right, seen, sizes = review
    bounds = confidence_sequence([right], [seen], sizes, confidence=confidence)
    totals = plausible_totals(right, seen, sizes, 1 - confidence)
    assert (bounds.low[0], bounds.high[0]) == (min(totals), max(totals))


@given(outcomes=st.lists(st.integers(0, 1), min_size=1, max_size=60), confidence=st.floats(0.5, 0.99))
@quick
def test_confidence_sequence_is_nested_and_ends_in_a_point(outcomes, confidence):
    n = len(outcomes)
    bounds = confidence_sequence(np.cumsum(outcomes), np.arange(1, n + 1), n, confidence=confidence)
    assert (np.diff(bounds.low) >= 0).all() and (np.diff(bounds.high) <= 0).all()
    last = confidence_sequence(sum(outcomes), n, n, confidence=confidence)
    assert last.low[0] == last.high[0] == sum(outcomes)


@pytest.mark.parametrize(("right", "seen"), [(-1, 3), (4, 3), (3, 11)])
def test_confidence_sequence_rejects_impossible_counts(right, seen):
    with pytest.raises(InputError, match="successes <= judged"):
        confidence_sequence(right, seen, 10)


def test_confidence_sequence_covers_at_all_looks_simultaneously():
    rng = np.random.default_rng(3)
    runs, sizes, totals = 400, np.array([900, 600]), np.array([450, 120])
    looks = np.arange(10, 301, 10)
    missed, fixed_missed = 0, 0
    for _ in range(runs):
        right = np.stack([np.cumsum(rng.permutation(n) < k)[looks - 1] for n, k in zip(sizes, totals, strict=True)], 1)
        bounds = confidence_sequence(right, np.stack([looks, looks], axis=1), sizes)
        missed += not bounds.low[-1] <= totals.sum() <= bounds.high[-1]
        fixed = clopper_pearson(right[:, 0], looks)
        fixed_missed += bool(((fixed.low > 0.5) | (fixed.high < 0.5)).any())
    assert missed <= stats.binom.isf(1e-4, runs, 0.05)
    assert fixed_missed > stats.binom.isf(1e-4, runs, 0.05)  # what a fixed-size interval does here


def random_order(outcomes, *, strata=None, weights=None):
    n = len(outcomes)
    return RandomOrder(
        np.array(outcomes, dtype=float),
        np.zeros(n, dtype=int) if strata is None else np.array(strata),
        np.full(n, 1 / max(n, 1)) if weights is None else np.array(weights),
    )


def test_anytime_estimate_by_hand():
    # as above, with 10 settled images, 9 of them right, before the list of 10 novel predictions
    order = random_order([1] * 5 + [np.nan] * 5, weights=[1 / 20] * 10)
    estimate = anytime_estimate(order, start=9 / 20, images=20)
    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((15 / 20, 19 / 20, 19 / 20))
    assert (estimate.n, estimate.method) == (20, "confidence sequence 95%")


def test_anytime_estimate_bounds_use_extreme_weights_of_unjudged():
    # one verdict tells nothing yet: from none of the three others right to all of them
    order = random_order([1, np.nan, np.nan, np.nan], weights=[0.1, 0.2, 0.3, 0.4])
    estimate = anytime_estimate(order, start=0, images=4)
    assert (estimate.low, estimate.high) == pytest.approx((0.1, 1))


@pytest.mark.parametrize("outcomes", [[], [1], [0], [1, 0, 1]])
def test_anytime_estimate_of_a_complete_review_is_a_point(outcomes):
    estimate = anytime_estimate(random_order(outcomes), start=0.25, images=4)
    truth = 0.25 + (np.mean(outcomes) if outcomes else 0)
    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((truth,) * 3, abs=1e-12)


def test_anytime_estimate_without_a_judged_prefix_is_the_possible_range():
    estimate = anytime_estimate(random_order([np.nan, 1, 0, np.nan]), start=0, images=4)
    assert (estimate.low, estimate.high) == pytest.approx((1 / 4, 3 / 4))


@given(outcomes=st.lists(st.sampled_from([0, 1, np.nan]), max_size=40), seed=st.integers(0, 9))
@quick
def test_anytime_estimate_lies_within_the_possible_range(outcomes, seed):
    rng = np.random.default_rng(seed)
    order = random_order(outcomes, strata=rng.integers(0, 3, len(outcomes)), weights=rng.random(len(outcomes)))
    estimate = anytime_estimate(order, start=0, images=40)
    right, open_ = order.weights[order.outcomes == 1].sum(), order.weights[~order.judged].sum()
    assert right - 1e-9 <= estimate.low <= estimate.value <= estimate.high <= right + open_ + 1e-9


def test_anytime_estimate_covers_if_wrong_predictions_are_decided_late():
    # wrong ones are disputed: only one in four of them is decided so far, which the share of all verdicts mistakes
    rng = np.random.default_rng(4)
    runs, size, share = 200, 200, 0.5
    missed, naive_missed = 0, 0
    for _ in range(runs):
        truth = (rng.permutation(size) < share * size).astype(float)
        hidden = (truth == 0) & (rng.random(size) < 0.75) | (np.arange(size) > 150)
        estimate = anytime_estimate(random_order(np.where(hidden, np.nan, truth)), start=0, images=size)
        missed += not estimate.low <= share <= estimate.high
        naive = clopper_pearson(int(truth[~hidden].sum()), int((~hidden).sum()))
        naive_missed += not naive.low <= share <= naive.high
    assert missed <= stats.binom.isf(1e-4, runs, 0.05)
    assert naive_missed > runs / 2


def problematic_review(truth, novel, bad, judged):
    """Listed images in the order of their turns: the first ``judged`` are judged, ``bad`` ones problematic."""
    hidden = np.arange(len(truth)) >= judged
    outcomes = np.where(novel & hidden, np.nan, np.where(novel & bad, 0, truth))
    problems = np.where(hidden, np.nan, bad)
    return partial_review(outcomes, novel, listed=np.ones(len(truth), dtype=bool), problematic=problems)


def test_anytime_accuracy_uses_the_review_order():
    # judged: turns 0 to 4, all right; read in the order of the rows, the second one would end the beginning
    outcomes = np.array([1, np.nan] * 5)
    review = partial_review(outcomes, np.ones(10), turns=[0, 5, 1, 6, 2, 7, 3, 8, 4, 9])
    estimate = anytime_accuracy(review)
    assert (estimate.low, estimate.high) == pytest.approx((0.6, 1))


def test_anytime_accuracy_of_a_complete_review_excludes_problematic_images():
    truth, novel, bad = np.array([1, 0, 1, 1, 0]), np.array([1, 1, 0, 0, 0], dtype=bool), np.array([0, 0, 0, 1, 0])
    estimate = anytime_accuracy(problematic_review(truth, novel, bad == 1, 5))
    assert (estimate.low, estimate.value, estimate.high, estimate.n) == pytest.approx((0.5, 0.5, 0.5, 4))


def test_anytime_accuracy_raises_if_all_problematic_or_weights_unequal():
    with pytest.raises(UndefinedError, match="are problematic"):
        anytime_accuracy(partial_review([0], [1], problematic=[1]))
    with pytest.raises(UndefinedError, match="needs equal weights"):
        anytime_accuracy(partial_review([0, 1], [1, 1], weights=[0.4, 0.6], problematic=[1, 0]))


def test_anytime_accuracy_covers_with_problematic_images():
    rng = np.random.default_rng(5)
    runs, size = 150, 200
    missed = 0
    for _ in range(runs):
        novel, bad, truth = np.arange(size) % 2 == 0, np.arange(size) % 7 == 0, (np.arange(size) % 5 > 1).astype(float)
        turns = rng.permutation(size)
        correct = truth[~bad].mean()
        estimates = [
            anytime_accuracy(problematic_review(truth[turns], novel[turns], bad[turns], judged))
            for judged in (25, 50, 100, 150)
        ]
        missed += any(not e.low <= correct <= e.high for e in estimates)
    assert missed <= stats.binom.isf(1e-4, runs, 0.05)
