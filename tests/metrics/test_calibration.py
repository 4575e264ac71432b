import math
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from regrade.core import InputError, UndefinedError
from regrade.metrics import brier_score, equal_size_bins, negative_log_likelihood, reliability_bins

FLOATS = (np.float16, np.float32, np.float64)
BOTH_BINNINGS = pytest.mark.parametrize("binned", [reliability_bins, equal_size_bins])
EDGES = [i / 15 for i in range(16)]
ANSWERS = st.lists(
    st.tuples(st.one_of(st.floats(0, 1), st.sampled_from(EDGES)), st.booleans()), min_size=1, max_size=60
)


def answers(pairs, dtype=np.float64):
    confidences, correct = zip(*pairs, strict=True)
    return np.array(confidences, dtype), np.array(correct, bool)


def slow_bins(confidences, correct, bins):
    """{bin: [(confidence, right)]}, each confidence compared with the edges in its own precision."""
    members_of = {}
    for confidence, right in zip(confidences, correct, strict=True):
        edges = [confidences.dtype.type(i / bins) for i in range(bins + 1)]
        holding = [b for b in range(bins) if edges[b] < confidence <= edges[b + 1]]
        members_of.setdefault(holding[0] if holding else 0, []).append((float(confidence), bool(right)))
    return dict(sorted(members_of.items()))


def gap(members):
    return abs(mean(r for _, r in members) - mean(c for c, _ in members))


def test_bins_by_hand():
    bins = reliability_bins(np.array([0.2, 0.9, 0.5, 0.95]), np.array([False, True, True, False]), bins=2)
    assert bins.low.tolist() == [0, 0.5]
    assert bins.high.tolist() == [0.5, 1]
    assert bins.sizes.tolist() == [2, 2]
    assert bins.accuracy.tolist() == [0.5, 0.5]
    assert bins.confidence == pytest.approx([0.35, 0.925])
    assert bins.gaps == pytest.approx([0.15, 0.425])
    assert bins.expected_calibration_error == pytest.approx(0.2875)
    assert bins.maximum_calibration_error == pytest.approx(0.425)


def test_a_large_bin_weighs_more_than_a_small_one():
    bins = reliability_bins(np.array([0.2, 0.2, 0.2, 0.6]), np.array([False] * 4), bins=2)
    assert bins.expected_calibration_error == pytest.approx((3 * 0.2 + 0.6) / 4)


@given(ANSWERS, st.sampled_from([1, 2, 10, 15, 25]), st.sampled_from(FLOATS))
@settings(deadline=None, max_examples=150)
def test_reliability_bins_match_slow_reference(pairs, bins, dtype):
    confidences, correct = answers(pairs, dtype)
    slow = slow_bins(confidences, correct, bins)
    got = reliability_bins(confidences, correct, bins=bins)
    assert got.low.tolist() == [b / bins for b in slow]
    assert got.high.tolist() == [(b + 1) / bins for b in slow]
    assert got.sizes.tolist() == [len(members) for members in slow.values()]
    assert got.gaps == pytest.approx([gap(m) for m in slow.values()], abs=1e-12)
    expected = sum(len(m) * gap(m) for m in slow.values()) / len(pairs)
    assert got.expected_calibration_error == pytest.approx(expected, abs=1e-12)
    assert got.maximum_calibration_error == pytest.approx(max(gap(m) for m in slow.values()), abs=1e-12)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bins", [5, 10, 15, 20, 25, 29, 100])
def test_a_confidence_on_an_edge_belongs_to_the_bin_below_and_the_next_number_to_the_one_above(bins, dtype):
    for i in range(1, bins):
        edge = np.array([i / bins], dtype)
        assert reliability_bins(edge, np.array([True]), bins=bins).high.tolist() == [i / bins]
        above = np.nextafter(edge, dtype(1))
        assert reliability_bins(above, np.array([True]), bins=bins).low.tolist() == [i / bins]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("confidence", "low", "high"),
    [(0.0, 0, 1), (0.2, 2, 3), (0.4, 5, 6), (0.6, 8, 9), (0.8, 11, 12), (1.0, 14, 15), (0.61, 9, 10)],
)
def test_the_fifteen_bins_at_round_confidences(confidence, low, high, dtype):
    bins = reliability_bins(np.array([confidence], dtype), np.array([True]))
    assert (bins.low.tolist(), bins.high.tolist()) == ([low / 15], [high / 15])


def test_away_from_the_edges_the_bins_are_those_of_scikit_learn():
    rng = np.random.default_rng(4)
    confidences = rng.random(3000)
    correct = rng.random(3000) < confidences**2
    accuracy, confidence = calibration_curve(correct, confidences, n_bins=15)
    bins = reliability_bins(confidences, correct)
    assert bins.accuracy == pytest.approx(accuracy)
    assert bins.confidence == pytest.approx(confidence)


@BOTH_BINNINGS
def test_ece_is_small_for_calibrated_and_large_for_overconfident_models(binned):
    rng = np.random.default_rng(7)
    chance = rng.uniform(0.2, 0.9, 60_000)
    correct = rng.random(60_000) < chance
    assert binned(chance, correct).expected_calibration_error < 0.01
    assert binned(chance + 0.1, correct).expected_calibration_error == pytest.approx(0.1, abs=0.005)


def test_bins_of_equal_size_by_hand():
    confidences = np.array([0.9, 0.1, 0.8, 0.3, 0.2])
    bins = equal_size_bins(confidences, np.array([True, False, False, True, False]), bins=2)
    assert bins.sizes.tolist() == [3, 2]
    assert bins.low.tolist() == [0.1, 0.8]
    assert bins.high.tolist() == [0.3, 0.9]
    assert bins.gaps == pytest.approx([1 / 3 - 0.2, 0.85 - 0.5])
    assert bins.expected_calibration_error == pytest.approx((3 * (1 / 3 - 0.2) + 2 * 0.35) / 5)


@given(ANSWERS, st.integers(1, 20))
@settings(deadline=None, max_examples=100)
def test_bins_of_equal_size_differ_by_one_at_most_and_do_not_overlap(pairs, bins):
    confidences, correct = answers(pairs)
    got = equal_size_bins(confidences, correct, bins=bins)
    assert len(got.sizes) == min(bins, len(pairs))
    assert got.sizes.sum() == len(pairs)
    assert np.ptp(got.sizes) <= 1
    assert (got.low <= got.high).all()
    assert (got.high[:-1] <= got.low[1:]).all()
    assert (got.accuracy * got.sizes).sum() == pytest.approx(correct.sum())
    assert (got.confidence * got.sizes).sum() == pytest.approx(confidences.sum())


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40, unique_by=lambda p: p[0]),
    st.integers(1, 20),
)
@settings(deadline=None, max_examples=80)
def test_bins_of_equal_size_are_slices_of_the_sorted_answers(pairs, bins):
    got = equal_size_bins(*answers(pairs), bins=bins)
    ordered, start = sorted(pairs), 0
    for size, expected in zip(got.sizes, got.gaps, strict=True):
        assert gap(ordered[start : start + size]) == pytest.approx(expected, abs=1e-12)
        start += size


def test_equal_size_bins_ignore_the_order_of_ties():
    confidences = np.full(4, 0.5)
    right_first, mixed = np.array([True, True, False, False]), np.array([True, False, True, False])
    for correct in (right_first, mixed):
        bins = equal_size_bins(confidences, correct, bins=2)
        assert bins.sizes.tolist() == [2, 2]
        assert bins.expected_calibration_error == 0


@BOTH_BINNINGS
@pytest.mark.parametrize("bad", [-0.01, 1.01, 7.5, math.nan, math.inf])
def test_confidences_must_be_probabilities(binned, bad):
    with pytest.raises(InputError, match="softmax"):
        binned(np.array([0.5, bad, 0.5]), np.array([True, False, True]))


@BOTH_BINNINGS
def test_bins_reject_empty_input_and_wrong_shapes(binned):
    with pytest.raises(UndefinedError, match="at least one image"):
        binned(np.array([]), np.array([], bool))
    with pytest.raises(InputError, match="bins must be at least 1"):
        binned(np.array([0.5]), np.array([True]), bins=0)
    with pytest.raises(InputError, match=r"must both be \(n,\)"):
        binned(np.array([0.5, 0.6]), np.array([True]))
    with pytest.raises(InputError, match=r"must both be \(n,\)"):
        binned(np.array([[0.5]]), np.array([[True]]))


PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
LABELS = np.array([0, 1])


def test_brier_score_by_hand():
    first, second = 0.3**2 + 0.2**2 + 0.1**2, 0.1**2 + 0.7**2 + 0.6**2
    assert brier_score(PROBABILITIES, LABELS) == pytest.approx((first + second) / 2)


def test_brier_score_lies_between_certainly_right_and_certainly_wrong():
    assert brier_score(np.eye(3), np.arange(3)) == 0
    assert brier_score(np.eye(3), np.array([1, 2, 0])) == 2


def test_negative_log_likelihood_by_hand():
    expected = -(math.log(0.7) + math.log(0.3)) / 2
    assert negative_log_likelihood(PROBABILITIES, LABELS) == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.integers(1, 30))
@settings(deadline=None, max_examples=60)
def test_both_scores_are_those_of_scikit_learn(seed, classes, images):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(classes), size=images)
    labels = rng.integers(classes, size=images)
    every = list(range(classes))
    brier = brier_score_loss(labels, probabilities, labels=every, scale_by_half=False)
    assert brier_score(probabilities, labels) == pytest.approx(brier)
    loss = log_loss(labels, probabilities, labels=every)
    assert negative_log_likelihood(probabilities, labels, floor=1e-300) == pytest.approx(loss)


@pytest.mark.parametrize("score", [brier_score, negative_log_likelihood])
def test_half_precision_loses_no_more_than_its_own_rounding(score):
    rng = np.random.default_rng(9)
    probabilities = rng.dirichlet(np.full(1000, 0.01), size=500)
    labels = probabilities.argmax(axis=1)
    half = probabilities.astype(np.float16)
    assert score(half, labels) == pytest.approx(score(half.astype(np.float64), labels), rel=1e-12)
    assert score(half, labels) == pytest.approx(score(probabilities, labels), abs=1e-3)


def test_a_probability_of_zero_counts_as_the_floor():
    certain = np.array([[1.0, 0.0]])
    assert negative_log_likelihood(certain, np.array([1])) == pytest.approx(24 * math.log(2))
    assert negative_log_likelihood(certain, np.array([1]), floor=1e-3) == pytest.approx(-math.log(1e-3))
    assert negative_log_likelihood(certain, np.array([0])) == 0


def test_default_floor_is_the_smallest_float16():
    smallest = np.array([[1.0, np.nextafter(np.float16(0), np.float16(1))]], np.float16)
    nll = negative_log_likelihood(smallest, np.array([1]), floor=0.0)
    assert negative_log_likelihood(np.zeros((1, 2)), np.array([1])) == pytest.approx(nll)


@pytest.mark.parametrize("score", [brier_score, negative_log_likelihood])
def test_bad_probabilities_and_labels_are_refused(score):
    for labels in (np.array([0, 3]), np.array([-1, 0])):
        with pytest.raises(InputError, match="needs a label from 0 to"):
            score(PROBABILITIES, labels)
    with pytest.raises(InputError, match=r"must have shape \(3, classes\)"):
        score(PROBABILITIES, np.array([0, 1, 2]))
    with pytest.raises(InputError, match="must have shape"):
        score(PROBABILITIES[0], LABELS)
    with pytest.raises(UndefinedError, match="at least one image"):
        score(PROBABILITIES[:0], LABELS[:0])
    for bad in (5.0, -0.2, math.nan):
        with pytest.raises(InputError, match="softmax"):
            score(np.where(PROBABILITIES == 0.1, bad, PROBABILITIES), LABELS)
