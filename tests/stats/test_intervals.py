import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from statsmodels.stats.proportion import proportion_confint

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import clopper_pearson, jeffreys, proportion, proportions, quantile, wilson
from regrade.stats.intervals import exact_bounds, method_name, tail_share

quick = settings(deadline=None, max_examples=100, derandomize=True)
ORACLES = {clopper_pearson: "beta", wilson: "wilson", jeffreys: "jeffreys"}
METHODS = list(ORACLES)


@st.composite
def counts(draw, largest=10**7):
    trials = draw(st.integers(1, largest))
    return draw(st.integers(0, trials)), trials


def test_clopper_pearson_without_successes_is_the_rule_of_three():
    bounds = clopper_pearson(0, 20)
    assert bounds.low == 0
    assert bounds.high == pytest.approx(1 - 0.025 ** (1 / 20), rel=1e-12)


def test_clopper_pearson_at_one_of_two_by_hand():
    # P(X >= 1 | p) = 1 - (1 - p)^2 = 0.025 and P(X <= 1 | p) = 1 - p^2 = 0.025
    bounds = clopper_pearson(1, 2)
    assert bounds.low == pytest.approx(1 - np.sqrt(0.975), rel=1e-12)
    assert bounds.high == pytest.approx(np.sqrt(0.975), rel=1e-12)


def test_wilson_solves_the_score_equation_by_hand():
    # k = 1, n = 4, z = 2: (1/4 - p)^2 = 4 p (1 - p) / 4 is 32 p^2 - 24 p + 1 = 0
    bounds = wilson(1, 4, confidence=special.erf(np.sqrt(2)))
    roots = [(6 - np.sqrt(28)) / 16, (6 + np.sqrt(28)) / 16]
    assert [float(bounds.low), float(bounds.high)] == pytest.approx(roots, rel=1e-9)


def test_jeffreys_for_one_of_two_is_symmetric_and_the_arcsine_posterior():
    bounds = jeffreys(1, 2)
    assert bounds.low == pytest.approx(stats.beta.ppf(0.025, 1.5, 1.5), rel=1e-12)
    assert bounds.low + bounds.high == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.9999])
def test_agrees_with_statsmodels(method, confidence):
    rng = np.random.default_rng(0)
    n = np.r_[3, 10, 978, 2021, 10_000, 50_000, 10**7, rng.integers(3, 1000, 100)]
    k = rng.integers(1, n)  # at 0 and n statsmodels leaves jeffreys open; the edges have their own test
    low, high = proportion_confint(k, n, alpha=1 - confidence, method=ORACLES[method])
    bounds = method(k, n, confidence=confidence)
    np.testing.assert_allclose(bounds.low, low, rtol=1e-7)
    np.testing.assert_allclose(bounds.high, high, rtol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_edges_are_closed_and_mirror_each_other(method):
    n = np.array([1, 2, 17, 10_000])
    none, all_ = method(0 * n, n), method(n, n)
    assert (none.low == 0).all()
    assert (all_.high == 1).all()
    np.testing.assert_allclose(none.high, 1 - all_.low, rtol=1e-9)
    assert ((none.high > 0) & (none.high < 1)).all()


def test_clopper_pearson_edges_agree_with_statsmodels():
    low, high = proportion_confint([0, 30], [30, 30], method="beta")
    bounds = clopper_pearson([0, 30], 30)
    np.testing.assert_allclose(bounds.low, low, rtol=1e-9)
    np.testing.assert_allclose(bounds.high, high, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@given(pair=counts(), confidence=st.floats(0.01, 0.9999))
@quick
def test_bounds_enclose_the_share_and_mirror(method, pair, confidence):
    k, n = pair
    bounds, mirror = method(k, n, confidence=confidence), method(n - k, n, confidence=confidence)
    assert 0 <= bounds.low <= bounds.high <= 1
    if method is clopper_pearson:
        assert bounds.low <= k / n <= bounds.high
    assert 1 - bounds.high == pytest.approx(float(mirror.low), rel=1e-5, abs=1e-9)


@given(pair=counts(largest=10**5))
@quick
def test_exact_is_never_shorter_than_jeffreys(pair):
    exact, bayes = clopper_pearson(*pair), jeffreys(*pair)
    assert exact.low <= bayes.low + 1e-12
    assert bayes.high <= exact.high + 1e-12


@given(pair=counts(largest=10**6), confidence=st.floats(0.05, 0.99))
@quick
def test_more_confidence_is_wider(pair, confidence):
    for method in METHODS:
        narrow, wide = method(*pair, confidence=confidence), method(*pair, confidence=confidence + 0.009)
        assert wide.low <= narrow.low
        assert narrow.high <= wide.high


def coverage(method, trials, rates, confidence=0.95):
    """The exact chance to cover each rate: the sum of the binomial over the counts that do."""
    k = np.arange(trials + 1)
    bounds = method(k, trials, confidence=confidence)
    inside = (bounds.low <= rates[:, None]) & (rates[:, None] <= bounds.high)
    return (stats.binom.pmf(k, trials, rates[:, None]) * inside).sum(axis=1)


RATES = np.linspace(0.001, 0.999, 999)


@pytest.mark.parametrize("trials", [1, 5, 30, 100, 1000])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_clopper_pearson_coverage_is_at_least_nominal(trials, confidence):
    assert coverage(clopper_pearson, trials, RATES, confidence).min() >= confidence - 1e-9


@pytest.mark.parametrize("method", [wilson, jeffreys])
@pytest.mark.parametrize(("trials", "tolerance"), [(10, 0.015), (50, 0.007), (1000, 0.002)])
def test_wilson_and_jeffreys_coverage_is_nominal_on_average(method, trials, tolerance):
    assert coverage(method, trials, RATES).mean() == pytest.approx(0.95, abs=tolerance)


@pytest.mark.parametrize("method", METHODS)
def test_simulated_coverage_on_a_test_set_like_imagenet_v2(method):
    right = np.random.default_rng(7).binomial(10_000, 0.722, size=20_000)
    bounds = method(right, 10_000)
    covered = ((bounds.low <= 0.722) & (bounds.high >= 0.722)).mean()
    assert abs(covered - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 20_000) + 0.002  # 0.002: the counts are whole


@pytest.mark.parametrize("method", METHODS)
def test_huge_counts_neither_overflow_nor_collapse(method):
    trials = 10**12
    bounds = method([trials // 2, trials // 4, 7], [trials, trials, trials])
    reach = 1.959964 * np.sqrt(np.array([0.25, 0.1875]) / trials)
    np.testing.assert_allclose((bounds.high - bounds.low)[:2] / 2, reach, rtol=1e-4)
    assert bounds.low[2] * trials == pytest.approx(stats.chi2.ppf(0.025, 14) / 2, rel=0.25)


def test_pairs_with_different_large_trials_are_kept_apart():
    k, n = [5, 2_000_000_000, 5, 5], [10, 4_000_000_000, 4_000_000_000, 10]
    together = clopper_pearson(k, n)
    alone = [clopper_pearson(*pair) for pair in zip(k, n, strict=True)]
    assert together.low.tolist() == [float(a.low) for a in alone]
    assert together.high.tolist() == [float(a.high) for a in alone]


@pytest.mark.parametrize("method", METHODS)
def test_shapes_broadcast_and_small_integer_types_are_widened(method):
    k = np.array([[200], [255]], dtype=np.uint8)
    bounds = method(k, np.array([255, 1000, 60_000], dtype=np.uint16))
    assert bounds.low.shape == bounds.high.shape == (2, 3)
    assert bounds.high[1, 0] == 1
    assert float(bounds.low[0, 2]) == float(method(200, 60_000).low)
    assert np.shape(method(3, 5).low) == ()
    assert method([], []).low.shape == (0,)


@pytest.mark.parametrize("method", METHODS)
def test_interval_raises_for_invalid_counts(method):
    with pytest.raises(UndefinedError, match="at least 1 trial"):
        method([3, 0], [5, 0])
    with pytest.raises(InputError, match="between 0 and trials"):
        method(6, 5)
    with pytest.raises(InputError, match="between 0 and trials"):
        method(-1, 5)
    with pytest.raises(InputError, match="integers"):
        method(2.5, 5)
    for confidence in (0, 1, 95, -0.1, float("nan")):
        with pytest.raises(InputError, match="confidence"):
            method(2, 5, confidence=confidence)


def test_exact_bounds_accepts_fractional_counts():
    between = exact_bounds(np.array(2.5), np.array(5.0), confidence=0.95)
    assert clopper_pearson(2, 5).low < between.low < clopper_pearson(3, 5).low
    assert float(between.low + between.high) == pytest.approx(1)


def test_proportions_name_their_method_and_keep_order():
    estimates = proportions([[1, 2], [3, 4]], 10, method=wilson, confidence=0.9)
    assert [e.value for e in estimates] == [0.1, 0.2, 0.3, 0.4]
    assert {e.method for e in estimates} == {"wilson 90%"}
    assert {e.n for e in estimates} == {10}
    assert estimates[3].low == float(wilson(4, 10, confidence=0.9).low)
    assert estimates[3].high == float(wilson(4, 10, confidence=0.9).high)


def test_proportion_default_is_clopper_pearson():
    estimate = proportion(82_860, 100_000)
    assert str(estimate) == "82.9 [82.6, 83.1]"
    assert estimate.method == "clopper-pearson 95%"
    assert proportion(1, 2, method=jeffreys).method == "jeffreys 95%"


def test_method_name_formats_confidence():
    assert method_name("wilson", 0.9999) == "wilson 99.99%"
    assert tail_share(0.9) == pytest.approx(0.05)


def test_the_median_of_twenty():
    # the 6th and the 15th of 20 values: P(6 <= Bin(20, 1/2) <= 14) = 0.9586 (tables of the sign test)
    estimate = quantile(np.arange(1, 21)[::-1], 0.5)
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (10.5, 6, 15, 20)
    assert estimate.method == "order statistics 95%"


@given(n=st.integers(1, 200), share=st.sampled_from([0.25, 0.5, 0.75, 0.9]), confidence=st.sampled_from([0.8, 0.95]))
@quick
def test_quantile_bounds_are_the_tightest_that_cover(n, share, confidence):
    lower, upper = stats.binom.ppf((1 - confidence) / 2, n, share), stats.binom.ppf((1 + confidence) / 2, n, share)
    if lower < 1 or upper >= n:
        with pytest.raises(UndefinedError, match="too few"):
            quantile(np.arange(1, n + 1), share, confidence=confidence)
        return
    estimate = quantile(np.arange(1, n + 1), share, confidence=confidence)
    tail = (1 - confidence) / 2
    below = stats.binom.cdf(estimate.low - 1, n, share)
    above = stats.binom.sf(estimate.high - 1, n, share)
    assert below <= tail and above <= tail + 1e-12
    assert stats.binom.cdf(estimate.low, n, share) > tail
    assert stats.binom.sf(estimate.high - 2, n, share) > tail


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_intervals_cover(share):
    rng = np.random.default_rng(0)
    truth = stats.lognorm(0.7).ppf(share)
    estimates = [quantile(rng.lognormal(0, 0.7, 40), share) for _ in range(2000)]
    cover = np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])
    assert 0.945 <= cover <= 0.99


def test_quantile_raises_for_too_few_values():
    for n, share in ((5, 0.5), (12, 0.25), (12, 0.75)):
        with pytest.raises(UndefinedError, match=f"{n} values are too few"):
            quantile(np.arange(n), share)
        quantile(np.arange(n + 1), share)


@pytest.mark.parametrize(("values", "share"), [([1, 2], 0), ([1, 2], 1), ([1, np.nan], 0.5), ([[1, 2]], 0.5)])
def test_quantile_rejects_invalid_values(values, share):
    with pytest.raises(InputError):
        quantile(values, share)
