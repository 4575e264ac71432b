import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize, stats
from statsmodels.stats import contingency_tables

from regrade.core import Estimate
from regrade.core.errors import InputError, UndefinedError
from regrade.stats import (
    corrected_difference,
    discordant_counts,
    exclusive_difference,
    mcnemar,
    mcnemar_all_pairs,
    mcnemar_exact,
    paired,
    paired_difference,
    paired_equivalence,
    proportion,
    wilson,
)

quick = settings(deadline=None, max_examples=100, derandomize=True)
small = st.integers(0, 200)
P_VALUES = ("exact", "mid_p", "chi_square", "corrected")


def test_all_variants_by_hand():
    # 8 to 2: P(X <= 2 | 10) = (1 + 10 + 45) / 1024; the point at 2 is 45 / 1024
    test = mcnemar(8, 2)
    assert test.exact == pytest.approx(2 * 56 / 1024)
    assert test.mid_p == pytest.approx((2 * 56 - 45) / 1024)
    assert test.chi_square_statistic == pytest.approx(36 / 10)
    assert test.corrected_statistic == pytest.approx(25 / 10)
    assert test.chi_square == pytest.approx(stats.chi2.sf(3.6, 1))
    assert test.corrected == pytest.approx(stats.chi2.sf(2.5, 1))


@given(b=small, c=small)
@quick
def test_agrees_with_statsmodels_and_with_scipy(b, c):
    test = mcnemar(b, c)
    if b + c == 0:
        assert [float(getattr(test, name)) for name in P_VALUES] == [1, 1, 1, 1]
        return
    table = [[0, b], [c, 0]]
    assert test.exact == pytest.approx(contingency_tables.mcnemar(table, exact=True).pvalue, rel=1e-9)
    plain = contingency_tables.mcnemar(table, exact=False, correction=False)
    assert test.chi_square == pytest.approx(plain.pvalue, rel=1e-9)
    assert test.chi_square_statistic == pytest.approx(plain.statistic, rel=1e-12)
    if b != c:  # statsmodels corrects a difference of 0 to 1; the correction cannot add evidence
        corrected = contingency_tables.mcnemar(table, exact=False, correction=True)
        assert test.corrected == pytest.approx(corrected.pvalue, rel=1e-9)
        assert test.corrected_statistic == pytest.approx(corrected.statistic, rel=1e-12)
    mid = stats.binom.cdf(min(b, c), b + c, 0.5) - stats.binom.pmf(min(b, c), b + c, 0.5) / 2
    assert test.mid_p == pytest.approx(min(2 * mid, 1), rel=1e-9)


@given(b=small, c=small)
@quick
def test_mcnemar_is_symmetric_and_ordered_by_variant(b, c):
    test, swapped = mcnemar(b, c), mcnemar(c, b)
    for name in P_VALUES:
        assert getattr(test, name) == getattr(swapped, name)
        assert 0 < getattr(test, name) <= 1
    assert test.mid_p <= test.exact
    assert test.chi_square <= test.corrected
    if b == c:
        assert [float(getattr(test, name)) for name in P_VALUES] == [1, 1, 1, 1]


def test_mid_p_size_is_near_nominal_and_exact_is_conservative():
    n = 60
    k = np.arange(n + 1)
    chance = stats.binom.pmf(k, n, 0.5)
    test = mcnemar(k, n - k)
    assert chance[test.exact <= 0.05].sum() <= 0.05
    assert chance[test.mid_p <= 0.05].sum() == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.uint32, np.int64])
def test_small_integer_types_do_not_wrap(kind):
    test = mcnemar(np.array([100, 3], dtype=kind), np.array([120, 5], dtype=kind))
    expected = mcnemar([100, 3], [120, 5])
    for name in (*P_VALUES, "chi_square_statistic", "corrected_statistic", "only_first"):
        np.testing.assert_array_equal(getattr(test, name), getattr(expected, name))
    assert test.chi_square_statistic.tolist() == pytest.approx([400 / 220, 4 / 8])


def test_a_billion_discordant_images_and_tiny_p_values():
    test = mcnemar(10**9, 10**9 + 100_000)
    for name in P_VALUES:
        assert getattr(test, name) == pytest.approx(math.erfc(math.sqrt(5 / 2)), rel=1e-3)
    extreme = mcnemar(0, 1000)
    assert extreme.exact == pytest.approx(2.0**-999, rel=1e-9)
    assert extreme.mid_p == pytest.approx(2.0**-1000, rel=1e-9)
    assert mcnemar(0, 10**6).exact == 0


def test_counts_broadcast_and_wrong_ones_raise():
    test = mcnemar(np.arange(3)[:, None], np.arange(4))
    assert {getattr(test, name).shape for name in (*P_VALUES, "only_first", "only_second")} == {(3, 4)}
    assert mcnemar([], []).exact.shape == (0,)
    assert np.shape(mcnemar(1, 2).exact) == ()
    for wrong in ((-1, 2), (2, -1), (1.5, 2)):
        with pytest.raises(InputError):
            mcnemar(*wrong)


@given(correct=arrays(bool, st.tuples(st.integers(1, 6), st.integers(0, 50))))
@quick
def test_all_pairs_agree_with_a_loop(correct):
    counts = discordant_counts(correct)
    pairs = mcnemar_all_pairs(correct)
    models = len(correct)
    listed = [(i, j) for i in range(models) for j in range(i + 1, models)]
    assert list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == listed
    for place, (i, j) in enumerate(listed):
        only_first, only_second = (correct[i] & ~correct[j]).sum(), (correct[j] & ~correct[i]).sum()
        assert (counts[i, j], counts[j, i]) == (only_first, only_second)
        assert pairs.test.only_first[place] == only_first
        assert pairs.test.exact[place] == mcnemar(int(only_first), int(only_second)).exact
    assert (np.diagonal(counts) == 0).all()


def test_counts_are_exact_over_many_blocks():
    correct = np.random.default_rng(0).random((3, 50_001)) < [[0.9], [0.5], [0.1]]
    counts = discordant_counts(correct)
    assert counts[0, 2] == (correct[0] & ~correct[2]).sum()
    assert counts[2, 0] == (correct[2] & ~correct[0]).sum()
    assert counts.dtype == np.int64


# The score interval of the difference -------------------------------------------------------------


def numeric_score(difference, b, c, n):
    """Tango's statistic with the nuisance rate found by maximizing the likelihood numerically."""

    def loss(q):  # q: the chance that only the second is right; p = q + difference: only the first
        p, rest = q + difference, 1 - 2 * q - difference
        terms = ((b, p), (c, q), (n - b - c, rest))
        return -sum(k * math.log(max(r, 1e-300)) for k, r in terms if k)

    least, most = max(0.0, -difference), (1 - difference) / 2
    q = optimize.minimize_scalar(loss, bounds=(least, most), method="bounded", options={"xatol": 1e-13}).x
    return (b - c - n * difference) / math.sqrt(n * (2 * q + difference * (1 - difference)))


def numeric_bound(b, c, n, z):
    return optimize.brentq(lambda d: numeric_score(d, b, c, n) - z, -1 + 1e-9, 1 - 1e-9, xtol=1e-12)


@pytest.mark.parametrize(
    ("b", "c", "n"),
    [(14, 1, 44), (9, 0, 36), (0, 5, 30), (38, 21, 982), (0, 0, 25), (3, 3, 10), (7, 2, 9), (400, 300, 5000)],
)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_agrees_with_numeric_maximum_likelihood(b, c, n, confidence):
    z = stats.norm.ppf((1 + confidence) / 2)
    bounds = paired_difference(b, c, n, confidence=confidence)
    assert bounds.low == pytest.approx(numeric_bound(b, c, n, z), abs=2e-6)
    assert bounds.high == pytest.approx(numeric_bound(b, c, n, -z), abs=2e-6)


def test_without_discordant_images_by_hand():
    # the score is sqrt(n d / (1 - d)): d = z^2 / (n + z^2)
    z2 = stats.norm.ppf(0.975) ** 2
    bounds = paired_difference(0, 0, 50)
    assert bounds.high == pytest.approx(z2 / (50 + z2), rel=1e-9)
    assert bounds.low == pytest.approx(-z2 / (50 + z2), rel=1e-9)


@st.composite
def paired_counts(draw):
    n = draw(st.integers(1, 5000))
    b = draw(st.integers(0, n))
    return b, draw(st.integers(0, n - b)), n


@given(counts=paired_counts(), confidence=st.floats(0.5, 0.999))
@quick
def test_swapping_the_models_mirrors_the_interval_around_the_difference(counts, confidence):
    b, c, n = counts
    bounds = paired_difference(b, c, n, confidence=confidence)
    swapped = paired_difference(c, b, n, confidence=confidence)
    assert -1 <= bounds.low <= bounds.high <= 1
    assert bounds.low - 1e-12 <= (b - c) / n <= bounds.high + 1e-12
    assert bounds.low == pytest.approx(-float(swapped.high), abs=1e-9)


@given(counts=paired_counts())
@quick
def test_leaves_out_zero_exactly_when_the_chi_square_is_significant(counts):
    b, c, n = counts
    p_value = float(mcnemar(b, c).chi_square)
    for confidence in (0.8, 0.95, 0.99):
        bounds = paired_difference(b, c, n, confidence=confidence)
        if abs(p_value - (1 - confidence)) > 1e-9:
            assert (bounds.low > 0 or bounds.high < 0) == (p_value < 1 - confidence)


@pytest.mark.parametrize(
    ("both", "first", "second", "n"),
    [(0.6, 0.15, 0.1, 200), (0.9, 0.02, 0.03, 1000), (0.75, 0.12, 0.12, 50), (0.95, 0.001, 0.02, 500)],
)
def test_coverage(both, first, second, n):
    trials = 10_000
    rates = [both, first, second, 1 - both - first - second]
    drawn = np.random.default_rng(5).multinomial(n, rates, size=trials)
    bounds = paired_difference(drawn[:, 1], drawn[:, 2], n)
    truth = first - second
    covered = ((bounds.low <= truth) & (truth <= bounds.high)).mean()
    # a score interval is approximate, and errs on the safe side with few images
    error = 3 * math.sqrt(0.95 * 0.05 / trials)
    assert 0.95 - error - 0.002 < covered < 0.95 + error + 0.007


def test_large_counts_approach_the_normal_interval():
    b, c, n = 3 * 10**8, 2 * 10**8, 10**9
    reach = 1.959964 * math.sqrt((0.3 + 0.2 - 0.1**2) / n)
    bounds = paired_difference(b, c, n)
    assert [float(bounds.low), float(bounds.high)] == pytest.approx([0.1 - reach, 0.1 + reach], abs=1e-8)


def test_difference_broadcasts_and_wrong_counts_raise():
    assert paired_difference(np.arange(3)[:, None], np.arange(4), 10).low.shape == (3, 4)
    assert np.shape(paired_difference(1, 2, 10).low) == ()
    bounds = paired_difference(np.uint8([200]), np.uint8([100]), 1000)
    assert float(bounds.low[0]) == float(paired_difference(200, 100, 1000).low)
    with pytest.raises(UndefinedError, match="at least one image"):
        paired_difference(0, 0, 0)
    for wrong in ((6, 5, 10), (-1, 5, 10), (5, -1, 10), (1.5, 2, 10)):
        with pytest.raises(InputError):
            paired_difference(*wrong)
    with pytest.raises(InputError, match="confidence"):
        paired_difference(1, 2, 10, confidence=95)


def test_mcnemar_exact_is_the_exact_test_of_all_variants(monkeypatch):
    rng = np.random.default_rng(0)
    only_first, only_second = rng.integers(0, 50, (2, 1000)).astype(np.int32)
    only_first[:3] = only_second[:3] = 0
    monkeypatch.setattr(paired, "_BLOCK", 64)
    np.testing.assert_array_equal(mcnemar_exact(only_first, only_second), mcnemar(only_first, only_second).exact)


class TestExclusiveDifference:
    def test_by_hand(self):
        gained, lost = Estimate(0.5, 0.4, 0.6, 100, ""), Estimate(0.2, 0.1, 0.4, 100, "")
        difference = exclusive_difference(gained, lost)
        correlation = math.sqrt(0.5 * 0.2 / (0.5 * 0.8))
        assert difference.value == pytest.approx(0.3)
        assert difference.low == pytest.approx(0.3 - math.sqrt(0.1**2 + 0.2**2 + 2 * correlation * 0.1 * 0.2))
        assert difference.high == pytest.approx(0.3 + math.sqrt(0.1**2 + 0.1**2 + 2 * correlation * 0.1 * 0.1))

    @quick
    @given(small, small, st.integers(0, 400))
    def test_exclusive_difference_is_antisymmetric(self, gained, lost, rest):
        images = gained + lost + rest
        if not images:
            return
        shares = [proportion(count, images) for count in (gained, lost)]
        forward, back = exclusive_difference(*shares), exclusive_difference(*reversed(shares))
        assert (forward.value, forward.low, forward.high) == pytest.approx((-back.value, -back.high, -back.low))
        assert -1 <= forward.low < forward.high <= 1

    def test_agrees_with_the_score_interval_of_large_counts(self):
        """With Wilson's intervals it is Newcombe's square-and-add, close to Tango's for many images."""
        bounds = [wilson(count, 20_000) for count in (900, 700)]
        shares = [
            Estimate(count / 20_000, float(own.low), float(own.high), 20_000, "")
            for count, own in zip((900, 700), bounds, strict=True)
        ]
        tango, mover = paired_difference(900, 700, 20_000), exclusive_difference(*shares)
        assert (mover.low, mover.high) == pytest.approx((float(tango.low), float(tango.high)), abs=2e-5)

    def test_everything_gained(self):
        difference = exclusive_difference(proportion(10, 10), proportion(0, 10))
        assert (difference.value, difference.high) == (1, 1)
        assert difference.low < 1


def test_paired_equivalence_by_hand():
    # b = c = 0: the nuisance rate is 0, so that the variance is n m (1 - m) and z = (n m - 1/2) / its root
    z = (1000 * 0.01 - 0.5) / math.sqrt(1000 * 0.01 * 0.99)
    assert float(paired_equivalence(0, 0, 1000, margin=0.01)) == pytest.approx(stats.norm.sf(z))


def test_paired_equivalence_is_close_to_the_interval_within_the_margin():
    """Without the correction for continuity, p <= 5 % where the 90 % interval lies within the margin."""
    rng = np.random.default_rng(0)
    b, c = rng.integers(900, 1100, (2, 500))
    bounds = paired_difference(b, c, 20_000, confidence=0.9)
    reach = np.maximum(-bounds.low, bounds.high)
    p = paired_equivalence(b, c, 20_000, margin=0.01)
    half_image = 0.5 / 20_000
    assert (p[reach < 0.01 - 1.01 * half_image] <= 0.05).all()
    assert (p[reach > 0.01 - 0.99 * half_image] > 0.05).all()
    assert 50 < (p <= 0.05).sum() < 450


@pytest.mark.parametrize(
    ("images", "margin", "disagreement"),
    [
        (100, 0.1, 0.12),
        (100, 0.2, 0.4),
        (500, 0.05, 0.06),
        (1000, 0.02, 0.1),
        (10_000, 0.005, 0.02),
        (10_000, 0.01, 0.1),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_paired_equivalence_has_nominal_size_at_the_margin(images, margin, disagreement, sign):
    trials = 40_000
    rates = [(disagreement + sign * margin) / 2, (disagreement - sign * margin) / 2, 1 - disagreement]
    drawn = np.random.default_rng(1).multinomial(images, rates, size=trials)
    declared = (paired_equivalence(drawn[:, 0], drawn[:, 1], images, margin=margin) <= 0.05).mean()
    assert declared <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)


@pytest.mark.parametrize("images", [1, 2, 5, 20, 37, 60, 90])
@pytest.mark.parametrize("margin", [0.05, 0.1, 0.2])
def test_paired_equivalence_size_for_few_images_over_all_outcomes(images, margin):
    b, c = (counts.ravel() for counts in np.meshgrid(np.arange(images + 1), np.arange(images + 1)))
    b, c = b[b + c <= images], c[b + c <= images]
    declared = paired_equivalence(b, c, images, margin=margin) <= 0.05
    outcomes = np.stack([b, c, images - b - c], axis=1)[declared]
    for disagreement in (margin, 1.2 * margin, 2 * margin, 4 * margin, 1.0):
        rates = [(disagreement + margin) / 2, (disagreement - margin) / 2, 1 - disagreement]
        assert stats.multinomial.pmf(outcomes, images, rates).sum() <= 0.051


def test_models_without_a_difference_are_called_equivalent_on_enough_images():
    drawn = np.random.default_rng(2).multinomial(20_000, [0.05, 0.05, 0.9], size=2000)
    assert (paired_equivalence(drawn[:, 0], drawn[:, 1], 20_000, margin=0.01) <= 0.05).mean() > 0.95


@given(b=st.integers(0, 40), c=st.integers(0, 40), rest=st.integers(1, 2000), margin=st.floats(0.001, 0.18))
@quick
def test_paired_equivalence_is_symmetric_and_easier_with_a_wider_margin(b, c, rest, margin):
    images = b + c + rest
    p = float(paired_equivalence(b, c, images, margin=margin))
    assert 0 <= p <= 1
    assert p == pytest.approx(float(paired_equivalence(c, b, images, margin=margin)))
    assert float(paired_equivalence(b, c, images, margin=1.1 * margin)) <= p + 1e-12
    if abs(b - c) / images >= margin:
        assert p > 0.5


def test_paired_equivalence_rejects_invalid_input():
    for margin in (0, -0.1, 0.21, 50, math.nan):
        with pytest.raises(InputError, match="margin"):
            paired_equivalence(1, 2, 10, margin=margin)
    with pytest.raises(UndefinedError, match="at least one image"):
        paired_equivalence(0, 0, 0, margin=0.1)
    with pytest.raises(InputError, match="sum to at most"):
        paired_equivalence(8, 8, 10, margin=0.1)


def test_corrected_difference_by_hand():
    # without discordant images: n m - 1 = z sqrt(n m (1 - m)), a quadratic equation in m
    n, z = 200, stats.norm.isf(0.05)
    a, b, c = n * n + z * z * n, -(2 * n + z * z * n), 1
    margin = (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
    interval = corrected_difference(0, 0, n, confidence=0.9)
    assert (-interval.low, interval.high) == pytest.approx((margin, margin))


@quick
@given(small, small, st.integers(0, 2000), st.sampled_from([0.8, 0.9, 0.99]))
def test_corrected_difference_inverts_the_corrected_test_and_contains_the_uncorrected_interval(b, c, more, confidence):
    n = b + c + more + 1
    interval, plain = (method(b, c, n, confidence=confidence) for method in (corrected_difference, paired_difference))
    assert -1 <= interval.low <= plain.low + 1e-12 and plain.high - 1e-12 <= interval.high <= 1
    reverse = corrected_difference(c, b, n, confidence=confidence)
    assert (float(reverse.low), float(reverse.high)) == pytest.approx((-interval.high, -interval.low), abs=1e-9)
    table = [[0, b], [c, 0]]
    p_value = contingency_tables.mcnemar(table, exact=False, correction=True).pvalue if b + c else 1.0
    if abs(p_value - (1 - confidence)) > 1e-9 and b != c:
        assert (interval.low > 0 or interval.high < 0) == (p_value < 1 - confidence)


def rejection_rates(n: int, margin: float, only_first: float, level: float) -> tuple[float, float]:
    """The exact probability that a bound excludes a difference of -margin, from below and from above."""
    rates = (only_first, only_first + margin)
    most = [int(stats.binom.isf(1e-9, n, rate)) + 2 for rate in rates]
    b, c = (grid.ravel() for grid in np.meshgrid(*(np.arange(count) for count in most), indexing="ij"))
    b, c = b[b + c <= n], c[b + c <= n]
    weights = stats.multinomial.pmf(np.stack([b, c, n - b - c], axis=1), n, [*rates, 1 - sum(rates)])
    interval = corrected_difference(b, c, n, confidence=1 - 2 * level)
    return float(weights[interval.low > -margin].sum()), float(weights[interval.high < -margin].sum())


@pytest.mark.parametrize("level", [0.05, 0.005])
def test_corrected_difference_keeps_its_level_on_each_side(level):
    cases = [(n, margin, rate) for n in (50, 300) for margin in (0.0, 0.005, 0.02) for rate in (0.0, 0.01, 0.1)]
    from_below, from_above = np.max([rejection_rates(*case, level) for case in cases if case[1:] != (0, 0)], axis=0)
    assert 0.3 * level < from_below <= 0.9 * level and 0.3 * level < from_above <= 1.1 * level
