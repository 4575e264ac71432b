import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import kendall, pearson, spearman

quick = settings(deadline=None, max_examples=80, derandomize=True)
METHODS = [pearson, spearman, kendall]
ORACLES = {
    pearson: lambda x, y: stats.pearsonr(x, y).statistic,
    spearman: lambda x, y: stats.spearmanr(x, y).statistic,
    kendall: lambda x, y: stats.kendalltau(x, y).statistic,
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
    for method, value, variance in (
        (pearson, 0.8, 1 / 2),
        (spearman, 0.8, (1 + 0.32) / 2),
        (kendall, 0.6, 0.437 / 1),
    ):
        reach = 1.959963985 * np.sqrt(variance)
        estimate = method(x, y)
        assert estimate.low == pytest.approx(np.tanh(np.arctanh(value) - reach), rel=1e-6)
        assert estimate.high == pytest.approx(np.tanh(np.arctanh(value) + reach), rel=1e-6)
        assert estimate.n == 5
        assert estimate.method.startswith(method.__name__)
        assert estimate.method.endswith("95%")


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
def test_ranks_are_blind_to_any_rising_scale(method):
    x, y = np.random.default_rng(0).normal(size=(2, 25))
    assert method(np.exp(x), y**3) == method(x, y)


def drawn(n, correlation, trials, seed):
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=(2, trials, n))
    return zip(x, correlation * x + np.sqrt(1 - correlation**2) * noise, strict=True)


TRUTHS = {
    pearson: lambda r: r,
    spearman: lambda r: 6 / np.pi * np.arcsin(r / 2),
    kendall: lambda r: 2 / np.pi * np.arcsin(r),
}


# Fisher's interval is nearly exact; for ranks Bonett and Wright's and Fieller's are approximations, the
# latter rough (0.89) where a small sample is strongly correlated
TOLERANCES = {(pearson, 12): 0.005, (pearson, 60): 0.005, (spearman, 12): 0.025, (spearman, 60): 0.015}
TOLERANCES |= {(kendall, 12): 0.045, (kendall, 60): 0.02}


@pytest.mark.parametrize(("method", "n"), TOLERANCES)
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_coverage_on_normal_pairs(method, correlation, n):
    trials, truth = 2000, TRUTHS[method](correlation)
    estimates = [method(x, y) for x, y in drawn(n, correlation, trials, seed=n)]
    covered = np.mean([e.low <= truth <= e.high for e in estimates])
    assert abs(covered - 0.95) < 3 * np.sqrt(0.95 * 0.05 / trials) + TOLERANCES[method, n]


@pytest.mark.parametrize("method", [spearman, kendall])
def test_coverage_where_perfect_order_is_common(method):
    # six pairs at 0.97: a third of the samples are in perfect order, and that proves nothing
    trials, truth = 2000, TRUTHS[method](0.97)
    estimates = [method(x, y) for x, y in drawn(6, 0.97, trials, seed=0)]
    assert np.mean([e.value > 1 - 1e-9 for e in estimates]) > 0.2
    covered = np.mean([e.low <= truth <= e.high for e in estimates])
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / trials)


@pytest.mark.parametrize("method", [spearman, kendall])
@pytest.mark.parametrize("sign", [1, -1])
def test_perfect_order_has_an_interval_that_shrinks_with_the_sample(method, sign):
    widths = []
    for n in (6, 12, 48):
        estimate = method(np.arange(n), sign * np.arange(n))
        assert estimate.value == pytest.approx(sign)
        assert -1 <= estimate.low < estimate.high <= 1
        widths.append(estimate.high - estimate.low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2] > 0


def test_a_perfect_line_is_its_own_interval():
    estimate = pearson([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
    assert [estimate.value, estimate.low, estimate.high] == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("method", METHODS)
def test_what_has_no_value_raises(method):
    with pytest.raises(UndefinedError, match="constant"):
        method([1, 1, 1, 1, 1], [1, 2, 3, 4, 5])
    with pytest.raises(UndefinedError, match="at least"):
        method([1, 2, 3], [1, 2, 3])
    for wrong in (([1, 2, 3, 4, 5], [1, 2, 3, 4]), ([[1, 2]], [[1, 2]]), (1, 2)):
        with pytest.raises(InputError, match="flat samples"):
            method(*wrong)
    with pytest.raises(InputError, match="finite"):
        method([1, 2, 3, 4, np.nan], [1, 2, 3, 4, 5])
    with pytest.raises(InputError, match="confidence"):
        method([1, 2, 3, 4, 5], [1, 3, 2, 5, 4], confidence=95)


def test_the_least_sample_that_has_an_interval():
    assert pearson([1, 2, 3, 5], [1, 3, 2, 4]).n == spearman([1, 2, 3, 5], [1, 3, 2, 4]).n == 4
    with pytest.raises(UndefinedError, match="at least 5"):
        kendall([1, 2, 3, 5], [1, 3, 2, 4])


def test_kendall_takes_large_samples():
    x, noise = np.random.default_rng(0).normal(size=(2, 200_000))
    estimate = kendall(x, x + noise)
    assert estimate.value == pytest.approx(0.5, abs=0.005)  # 2 / pi * arcsin(sqrt(1/2))
