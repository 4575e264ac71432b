import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from scipy.interpolate import CubicSpline

from regrade.core import InputError, UndefinedError
from regrade.stats import (
    binned_correlation,
    kendall,
    kendall_matrix,
    pearson,
    pearson_matrix,
    robust_pearson,
    spearman,
    spearman_matrix,
)
from regrade.stats.correlation import _fisher, _score, kendall_moments, spearman_moments

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
KINDS = [(pearson, pearson_matrix), (spearman, spearman_matrix), (kendall, kendall_matrix)]
WIDTH, BINS = 0.1, 100
MIDDLES = (np.arange(BINS) + 0.5) * WIDTH
MOMENTS = [kendall_moments, spearman_moments]


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


@pytest.mark.parametrize(("pairwise", "matrix"), KINDS)
@given(seed=st.integers(0, 2**32 - 1), models=st.integers(2, 5), n=st.integers(5, 30))
def test_matrix_matches_pairwise_correlations(pairwise, matrix, seed, models, n):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(models, n)) + rng.normal(size=n)
    rows[0] = np.arange(n) / n  # in an order of its own, without noise
    correlations = matrix(rows, confidence=0.9)
    for i in range(models):
        for j in range(models):
            if i == j:
                assert correlations.value[i, j] == correlations.low[i, j] == correlations.high[i, j] == 1
                continue
            alone = pairwise(rows[i], rows[j], confidence=0.9)
            assert (correlations.n, correlations.method) == (alone.n, alone.method)
            assert correlations.value[i, j] == pytest.approx(alone.value, abs=1e-12)
            assert correlations.low[i, j] == pytest.approx(alone.low, abs=1e-9)
            assert correlations.high[i, j] == pytest.approx(alone.high, abs=1e-9)


@pytest.mark.parametrize(("pairwise", "matrix"), KINDS)
def test_ranks_in_perfect_order_keep_their_interval(pairwise, matrix):
    rows = np.array([[1.0, 2, 3, 4, 5, 6], [1, 4, 9, 16, 25, 36]])
    correlations, alone = matrix(rows), pairwise(*rows)
    assert correlations.low[0, 1] == pytest.approx(alone.low)
    assert correlations.value[0, 1] <= correlations.high[0, 1] <= 1


@pytest.mark.parametrize(("_", "matrix"), KINDS)
def test_matrix_raises_if_undefined(_, matrix):
    with pytest.raises(UndefinedError, match="constant"):
        matrix([[1.0, 2, 3, 4, 5], [1, 1, 1, 1, 1]])
    with pytest.raises(UndefinedError, match="at least"):
        matrix([[1.0, 2, 3], [3, 1, 2]])
    with pytest.raises(InputError, match=r"\(rows, n\)"):
        matrix([1.0, 2, 3, 4, 5])


def draw_scores(rng, n):
    """A skewed score and errors whose probability increases with the score."""
    scores = rng.gamma(1.2, 1.0, n)
    return scores, rng.random(n) < 1 / (1 + np.exp(3 - scores))


def test_the_value_is_pearsons_and_point_biserial():
    rng = np.random.default_rng(0)
    scores, wrong = draw_scores(rng, 500)
    estimate = robust_pearson(scores, wrong)
    assert estimate.value == pytest.approx(stats.pointbiserialr(wrong, scores).statistic)
    assert (estimate.n, estimate.method) == (500, "pearson, delta 95%")
    assert estimate.low < estimate.value < estimate.high


def test_interval_of_normal_samples_is_near_fisher():
    rng = np.random.default_rng(1)
    x = rng.normal(size=20_000)
    y = 0.6 * x + 0.8 * rng.normal(size=20_000)
    estimate, fisher = robust_pearson(x, y), pearson(x, y)
    assert (estimate.low, estimate.high) == pytest.approx((fisher.low, fisher.high), abs=5e-4)


def test_robust_pearson_by_hand():
    """x = (0, 0, 1, 1, 2), y = (0, 0, 0, 1, 1): r = 4 / sqrt(4 * 6) and the half-width from the influences."""
    x, y = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 1])
    u, v = (x - 0.8) / np.sqrt(0.56), (y - 0.4) / np.sqrt(0.24)
    r = (u * v).mean()
    influence = u * v - r * (u**2 + v**2) / 2
    reach = stats.t.ppf(0.975, 2) * np.sqrt((influence**2).sum() / 2 / 5) / (1 - r**2)
    estimate = robust_pearson(x, y)
    assert estimate.value == pytest.approx(np.corrcoef(x, y)[0, 1]) == pytest.approx(r)
    assert estimate.low == pytest.approx(np.tanh(np.arctanh(r) - reach))


def test_coverage_where_fishers_interval_fails():
    rng = np.random.default_rng(2)
    scores, wrong = draw_scores(rng, 2_000_000)
    truth = np.corrcoef(scores, wrong)[0, 1]
    samples = [draw_scores(rng, 400) for _ in range(800)]
    held = np.mean([estimate.low <= truth <= estimate.high for estimate in (robust_pearson(*each) for each in samples)])
    fisher = np.mean([estimate.low <= truth <= estimate.high for estimate in (pearson(*each) for each in samples)])
    assert 0.92 < held < 0.975  # 0.95, give or take three deviations of 800 draws
    assert fisher < 0.91


def test_perfect_correlation_is_not_certain():
    """Four images in perfect order may well come from a weaker correlation; more images leave less doubt."""
    few, many = (robust_pearson([0, 1] * half, [0, 1] * half) for half in (2, 200))
    assert (few.value, few.high, many.value, many.high) == (1, 1, 1, 1)
    assert few.low < 0.7
    assert 0.98 < many.low < 1
    assert few.low == spearman(range(4), range(4)).low
    negative = robust_pearson([0, 1, 0, 1], [1, 0, 1, 0])
    assert (negative.value, negative.low, negative.high) == (-1, -1, -few.low)


@pytest.mark.parametrize(
    ("x", "y", "error"),
    [
        ([1, 2, 3], [1, 2, 4], UndefinedError),
        ([1, 1, 1, 1], [0, 1, 0, 1], UndefinedError),
        ([1, 2, 3, np.nan], [0, 1, 0, 1], InputError),
        ([1, 2, 3, 4], [0, 1, 0], InputError),
    ],
)
def test_robust_pearson_raises_if_undefined(x, y, error):
    with pytest.raises(error):
        robust_pearson(x, y)


def draw_bins(rng, images):
    """Images and mistakes by bin: many images of a low score, few of a high one."""
    scores = np.minimum(rng.gamma(1.2, 1.0, images), 9.9)
    wrong = rng.random(images) < 1 / (1 + np.exp(3 - scores))
    places = (scores / WIDTH).astype(int)
    return np.bincount(places[wrong], minlength=BINS), np.bincount(places, minlength=BINS)


def found(hits, images, middles=MIDDLES, **options):
    return binned_correlation(hits, images, middles, rng=np.random.default_rng(0), **options)


def test_binned_correlation_by_hand():
    """Shares 0, 1/2, 1/2 and 1 at 1, 2, 3 and 5, and a bin without images at 4: a large bin counts once."""
    result = found([0, 50, 1, 2], [3, 100, 2, 2], [1, 2, 3, 5])
    assert result.value == pytest.approx(np.corrcoef([1, 2, 3, 5], [0, 0.5, 0.5, 1])[0, 1])
    with_empty = found([0, 50, 1, 0, 2], [3, 100, 2, 0, 2], [1, 2, 3, 4, 5])
    assert (with_empty.value, with_empty.n) == (pytest.approx(result.value), 4)
    assert result.low < result.value < result.high <= 1


def test_binned_correlation_matches_scipy():
    hits, images = draw_bins(np.random.default_rng(1), 5_000)
    occupied = images > 0
    expected = stats.pearsonr(MIDDLES[occupied], hits[occupied] / images[occupied]).statistic
    assert found(hits, images).value == pytest.approx(expected)


@pytest.mark.parametrize("images", [1_000, 10_000])
def test_coverage_of_the_mean_correlation(images):
    rng = np.random.default_rng(images)
    many = [np.arctanh(found(*draw_bins(rng, images), draws=20).value) for _ in range(600)]
    target = np.tanh(np.mean(many))
    samples = (binned_correlation(*draw_bins(rng, images), MIDDLES, rng=rng, draws=400) for _ in range(300))
    held = np.mean([each.low <= target <= each.high for each in samples])
    assert held > 0.91  # 0.95 or more, give or take three deviations of 300 draws


def test_binned_correlation_is_reproducible_from_the_seed():
    hits, images = draw_bins(np.random.default_rng(3), 2_000)
    assert found(hits, images) == found(hits, images)


def test_perfect_correlation_has_an_interval_of_positive_width():
    result = found([1, 2, 3, 4], [10, 10, 10, 10], [1, 2, 3, 4])
    assert result.value == pytest.approx(1)
    assert result.low < 0.9 < result.high <= 1


@pytest.mark.parametrize(
    ("hits", "images", "error"),
    [
        ([1, 2, 0, 0], [5, 5, 5, 0], UndefinedError),  # three bins
        ([1, 1, 1, 1], [5, 5, 5, 5], UndefinedError),  # one share
        ([6, 1, 1, 1], [5, 5, 5, 5], InputError),
        ([-1, 1, 1, 1], [5, 5, 5, 5], InputError),
        ([1, 1, 1], [5, 5, 5, 5], InputError),
    ],
)
def test_binned_correlation_raises_if_undefined(hits, images, error):
    with pytest.raises(error):
        found(hits, images, [1, 2, 3, 4])


def at(moments, correlation):
    """Truth, mean and variance at one correlation of the normal pairs."""
    kendalls = 2 / np.pi * np.arcsin(correlation)
    grid = kendall_moments(2).truth  # the grid is one for all
    return [float(CubicSpline(grid, part)(kendalls)) for part in (moments.truth, moments.mean, moments.variance)]


def test_kendall_by_hand():
    # four pairs at 1/2: tau = 2/pi * pi/6, and 2/pi * arcsin(1/4) = 0.160861
    truth, mean, variance = at(kendall_moments(4), 0.5)
    assert truth == mean == pytest.approx(1 / 3)
    assert variance == pytest.approx((1 - 1 / 9 + 4 * (1 / 9 - 0.160861**2)) / 6, rel=1e-5)
    assert kendall_moments(4).step == pytest.approx(4 / 12)  # one of six pairs changes from 1 to -1


def test_spearman_by_hand():
    # 6/pi * arcsin(1/4) = 0.482584; of four pairs the mean is (3 * 1/3 + 2 * 0.482584) / 5
    truth, mean, _ = at(spearman_moments(4), 0.5)
    assert truth == pytest.approx(0.482584, abs=1e-5)
    assert mean == pytest.approx(0.393034, abs=1e-5)
    assert spearman_moments(4).step == pytest.approx(6 * 2 / (4 * 15))  # two ranks move by one


@pytest.mark.parametrize("n", [2, 3, 4, 7, 50, 1000])
def test_without_correlation_the_variances_are_the_textbooks(n):
    assert at(kendall_moments(n), 0)[2] == pytest.approx(2 * (2 * n + 5) / (9 * n * (n - 1)))
    assert at(spearman_moments(n), 0)[2] == pytest.approx(1 / (n - 1))


def test_two_pairs_have_exact_moments():
    moments, tau = spearman_moments(2), kendall_moments(2).truth
    np.testing.assert_allclose(moments.mean, tau, atol=1e-12)
    np.testing.assert_allclose(moments.variance, 1 - tau**2, atol=1e-9)


def test_three_pairs_follow_from_kendall():
    # in perfect order or its reverse both squares are 1; in the four others 1/9 and 1/4
    kendalls, spearmans = kendall_moments(3), spearman_moments(3)
    square = kendalls.variance + kendalls.mean**2
    perfect = (square - 1 / 9) / (1 - 1 / 9)
    np.testing.assert_allclose(spearmans.variance + spearmans.mean**2, perfect + (1 - perfect) / 4, atol=1e-9)


@pytest.mark.parametrize("correlation", [0.1, 0.3, 0.5])
def test_spearman_agrees_with_the_series_for_many_pairs(correlation):
    # David and Mallows 1961
    series = np.polynomial.Polynomial([1, -1.563465, 0.304743, 0.155286, 0.061552, 0.022099])
    assert 1e6 * at(spearman_moments(10**6), correlation)[2] == pytest.approx(series(correlation**2), abs=1e-5)


@pytest.mark.parametrize("n", [4, 7])
@pytest.mark.parametrize("correlation", [-0.8, 0.4, 0.97])
def test_agree_with_simulation(n, correlation):
    trials = 40_000
    x, noise = np.random.default_rng(n).normal(size=(2, trials, n))
    x, y = (stats.rankdata(part, axis=1) for part in (x, correlation * x + np.sqrt(1 - correlation**2) * noise))
    pairs = np.triu_indices(n, k=1)
    signs = np.sign(x[:, pairs[0]] - x[:, pairs[1]]) * np.sign(y[:, pairs[0]] - y[:, pairs[1]])
    drawn = {kendall_moments: signs.mean(axis=1), spearman_moments: 1 - 6 * ((x - y) ** 2).sum(axis=1) / (n**3 - n)}
    for moments, values in drawn.items():
        _, mean, variance = at(moments(n), correlation)
        assert values.mean() == pytest.approx(mean, abs=4 * np.sqrt(variance / trials))
        squares = (values - mean) ** 2
        assert squares.mean() == pytest.approx(variance, abs=4 * squares.std() / np.sqrt(trials))


@pytest.mark.parametrize("moments", MOMENTS)
@pytest.mark.parametrize("n", [2, 12, 1000, 10**6])
def test_perfect_order_does_not_vary_and_the_mirror_varies_as_much(moments, n):
    moment = moments(n)
    assert moment.truth[[0, -1]] == pytest.approx([-1, 1])
    assert moment.mean[[0, -1]] == pytest.approx([-1, 1])
    assert moment.variance[[0, -1]] == pytest.approx([0, 0], abs=1e-9)
    assert (np.diff(moment.truth) >= 0).all()
    np.testing.assert_allclose(moment.mean, -moment.mean[::-1], atol=1e-12)
    np.testing.assert_allclose(moment.variance, moment.variance[::-1], atol=1e-9)
