import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from scipy.interpolate import CubicSpline

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import kendall, pearson, spearman
from regrade.stats.correlation import _fisher, _score
from regrade.stats.rank_moments import kendall_moments, spearman_moments

quick = settings(deadline=None, max_examples=80, derandomize=True)
METHODS = [pearson, spearman, kendall]
ORACLES = {
    pearson: lambda x, y: stats.pearsonr(x, y).statistic,
    spearman: lambda x, y: stats.spearmanr(x, y).statistic,
    kendall: lambda x, y: stats.kendalltau(x, y).statistic,
}
TRUTHS = {
    pearson: lambda r: r,
    spearman: lambda r: 6 / np.pi * np.arcsin(r / 2),
    kendall: lambda r: 2 / np.pi * np.arcsin(r),
}
samples = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=5, max_size=40)


def varied(pairs):
    x, y = np.array(pairs, dtype=float).T
    return (x, y) if np.ptp(x) and np.ptp(y) else (np.r_[x, x[0] + 1, x[0]], np.r_[y, y[0] + 1, y[0]])


def test_values_by_hand():
    x, y = [1, 2, 3, 4, 5], [2, 1, 4, 3, 5]
    assert pearson(x, y).value == pytest.approx(8 / 10)  # sum of products 8, of squares 10 and 10
    assert spearman(x, y).value == pytest.approx(1 - 6 * 4 / (5 * 24))  # squared rank differences 4
    assert kendall(x, y).value == pytest.approx((8 - 2) / 10)  # two of ten pairs are swapped


def test_intervals_by_hand():
    x, y = [1, 2, 3, 4, 5], [2, 1, 4, 3, 5]
    reach = 1.959963985 / np.sqrt(2)
    estimate = pearson(x, y)
    assert estimate.low == pytest.approx(np.tanh(np.arctanh(0.8) - reach), rel=1e-6)
    assert estimate.high == pytest.approx(np.tanh(np.arctanh(0.8) + reach), rel=1e-6)
    for method in METHODS:
        estimate = method(x, y)
        assert estimate.n == 5
        assert estimate.method.startswith(method.__name__)
        assert estimate.method.endswith("95%")


def allowed(value, tau, moments, n, confidence):
    """Above 0 if P(at least ``value``) exceeds the tail probability for pairs with Kendall's tau ``tau``."""
    moment, grid = moments(n), kendall_moments(n).truth
    mean, variance = (CubicSpline(grid, part)(tau) for part in (moment.mean, moment.variance))
    half = moment.step / 2
    width = 2 * (1 + half)
    share, spread = (mean + 1 + half) / width, (variance + moment.step**2 / 12) / width**2
    size = share * (1 - share) / spread - 1
    chance = stats.beta(share * size, (1 - share) * size, loc=-1 - half, scale=width).sf(value - half)
    return chance - (1 - confidence) / 2


@pytest.mark.parametrize(("method", "moments"), [(kendall, kendall_moments), (spearman, spearman_moments)])
@pytest.mark.parametrize("n", [8, 20, 300])
@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_rank_intervals_agree_with_a_search_for_the_true_value(method, moments, n, confidence):
    x, noise = np.random.default_rng(n).normal(size=(2, n))
    for strength in (0.0, 0.7, 2.0):
        estimate = method(x, strength * x + noise, confidence=confidence)
        for sign, bound in ((1, estimate.low), (-1, estimate.high)):
            tau = optimize.brentq(
                lambda t, value=sign * estimate.value: allowed(value, t, moments, n, confidence), -0.9999, 0.9999
            )
            assert bound == pytest.approx(sign * TRUTHS[method](np.sin(np.pi / 2 * tau)), abs=3e-5)


@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_pearson_interval_agrees_with_scipy(confidence):
    x, y = np.random.default_rng(0).normal(size=(2, 30))
    expected = stats.pearsonr(x, y).confidence_interval(confidence)
    estimate = pearson(x, y, confidence=confidence)
    assert [estimate.low, estimate.high] == pytest.approx(list(expected))


@pytest.mark.parametrize("method", METHODS)
@given(pairs=samples)
@quick
def test_values_agree_with_scipy_also_under_ties(method, pairs):
    x, y = varied(pairs)
    assert method(x, y).value == pytest.approx(float(ORACLES[method](x, y)), abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@given(pairs=samples, confidence=st.floats(0.5, 0.999))
@quick
def test_bounds_enclose_swap_and_mirror(method, pairs, confidence):
    x, y = varied(pairs)
    estimate = method(x, y, confidence=confidence)
    assert -1 <= estimate.low <= estimate.value <= estimate.high <= 1
    swapped, mirrored = method(y, x, confidence=confidence), method(x, -y, confidence=confidence)
    assert [swapped.low, swapped.high] == pytest.approx([estimate.low, estimate.high], abs=1e-9)
    assert [mirrored.low, mirrored.high] == pytest.approx([-estimate.high, -estimate.low], abs=1e-9)


@pytest.mark.parametrize("method", [spearman, kendall])
def test_rank_correlations_are_invariant_to_monotone_transformations(method):
    x, y = np.random.default_rng(0).normal(size=(2, 25))
    assert method(np.exp(x), y**3) == method(x, y)


def drawn(n, correlation, trials, seed):
    """Values (trials,) of each coefficient on normal pairs."""
    rng = np.random.default_rng([seed, n])
    x, noise = rng.normal(size=(2, trials, n))
    x.sort(axis=1)
    y = correlation * x + np.sqrt(1 - correlation**2) * noise
    ranks, centered = stats.rankdata(y, axis=1), x - x.mean(axis=1, keepdims=True)
    rising = sum((y[:, apart:] > y[:, :-apart]).sum(axis=1) for apart in range(1, n))
    return {
        pearson: (centered * y).sum(axis=1) / (n * x.std(axis=1) * y.std(axis=1)),
        spearman: 1 - 6 * ((ranks - np.arange(1, n + 1)) ** 2).sum(axis=1) / (n**3 - n),
        kendall: 4 * rising / (n * (n - 1)) - 1,
    }


def intervals(method, values, n, confidence):
    """Vectorized intervals; `test_vectorized_intervals_match_the_functions` compares them with the functions."""
    if method is pearson:
        return _fisher(values, n, confidence)
    return _score(values, {spearman: spearman_moments, kendall: kendall_moments}[method], n, confidence)


@pytest.mark.parametrize("method", METHODS)
def test_vectorized_intervals_match_the_functions(method):
    x, noise = np.random.default_rng(0).normal(size=(2, 15))
    estimate = method(x, x + noise, confidence=0.9)
    bounds = intervals(method, np.array(estimate.value), 15, 0.9)
    assert [estimate.low, estimate.high] == [bounds.low, bounds.high]


TRIALS = 20_000


def misses(method, values, truth, n, confidence=0.95):
    """How often the truth lies below the interval, and how often above."""
    bounds = intervals(method, values, n, confidence)
    return np.mean(truth < bounds.low), np.mean(truth > bounds.high)


def monte_carlo(confidence):
    """Three standard errors of a simulated coverage."""
    return 3 * np.sqrt(confidence * (1 - confidence) / TRIALS)


@pytest.mark.parametrize("n", [4, 5, 6, 8, 12, 20, 60])
@pytest.mark.parametrize("correlation", [0.0, 0.3, -0.5, 0.7, 0.9, -0.97])
def test_coverage_on_normal_pairs(correlation, n):
    for method, values in drawn(n, correlation, TRIALS, seed=1).items():
        truth = TRUTHS[method](correlation)
        covered = 1 - sum(misses(method, values, truth, n))
        assert covered > 0.95 - monte_carlo(0.95) - 0.005
        # fewer pairs, and such as agree closely, leave ranks few orders: their intervals must cover more
        if method is pearson and n >= 6:
            assert covered < 0.95 + monte_carlo(0.95) + 0.005
        elif n >= 12:
            assert covered < 0.95 + monte_carlo(0.95) + 0.3 / n


@pytest.mark.parametrize("n", [6, 12, 30])
@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.9, 0.97])
def test_rank_intervals_have_nominal_tail_errors(correlation, n):
    samples = drawn(n, correlation, TRIALS, seed=2)
    for method in (spearman, kendall):
        for confidence in (0.8, 0.95, 0.99):
            below, above = misses(method, samples[method], TRUTHS[method](correlation), n, confidence)
            side = (1 - confidence) / 2
            assert max(below, above) < side + 3 * np.sqrt(side / TRIALS) + 0.005


@pytest.mark.parametrize("method", [spearman, kendall])
def test_coverage_where_perfect_order_is_common(method):
    # six pairs at 0.97: a third of the samples are in perfect order, and that proves nothing
    values = drawn(6, 0.97, TRIALS, seed=0)[method]
    assert np.mean(values > 1 - 1e-9) > 0.2
    assert sum(misses(method, values, TRUTHS[method](0.97), 6)) < 0.05 + monte_carlo(0.95)


@pytest.mark.parametrize("method", [spearman, kendall])
@pytest.mark.parametrize("sign", [1, -1])
def test_perfect_order_has_an_interval_that_shrinks_with_the_sample(method, sign):
    widths = []
    for n in (6, 12, 48, 1000):
        estimate = method(np.arange(n), sign * np.arange(n))
        assert estimate.value == pytest.approx(sign)
        assert -1 <= estimate.low < estimate.high <= 1
        widths.append(estimate.high - estimate.low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2] > 8 * widths[3] > 0


def test_perfect_pearson_correlation_has_zero_width():
    estimate = pearson([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
    assert [estimate.value, estimate.low, estimate.high] == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("method", METHODS)
def test_correlation_raises_if_undefined(method):
    with pytest.raises(UndefinedError, match="constant"):
        method([1, 1, 1, 1, 1], [1, 2, 3, 4, 5])
    with pytest.raises(UndefinedError, match="at least"):
        method([1, 2, 3], [1, 2, 3])
    for wrong in (([1, 2, 3, 4, 5], [1, 2, 3, 4]), ([[1, 2]], [[1, 2]]), (1, 2)):
        with pytest.raises(InputError, match="two samples of shape"):
            method(*wrong)
    with pytest.raises(InputError, match="finite"):
        method([1, 2, 3, 4, np.nan], [1, 2, 3, 4, 5])
    with pytest.raises(InputError, match="confidence"):
        method([1, 2, 3, 4, 5], [1, 3, 2, 5, 4], confidence=95)


@pytest.mark.parametrize("method", METHODS)
def test_correlation_needs_four_pairs(method):
    assert method([1, 2, 3, 5], [1, 3, 2, 4]).n == 4
    with pytest.raises(UndefinedError, match="at least 4"):
        method([1, 2, 3], [1, 3, 2])


def test_ranks_take_large_samples():
    x, noise = np.random.default_rng(0).normal(size=(2, 200_000))
    for method in (spearman, kendall):
        estimate = method(x, x + noise)
        truth = TRUTHS[method](np.sqrt(1 / 2))
        assert estimate.value == pytest.approx(truth, abs=0.005)
        assert estimate.low < truth < estimate.high
        assert estimate.high - estimate.low < 0.01


def test_many_ties_shorten_kendalls_interval():
    # the shortfall that its docstring names
    rng, trials = np.random.default_rng(0), 2000
    x = rng.integers(5, size=(2 * trials, 20)).astype(float)
    covered = np.mean([estimate.low <= 0 <= estimate.high for estimate in map(kendall, x[::2], x[1::2])])
    assert 0.88 < covered < 0.94
