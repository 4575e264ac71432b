import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS

from regrade.core import InputError, UndefinedError
from regrade.stats import (
    absolute_mean,
    bounded_mean,
    clopper_pearson,
    clustered_mean,
    clustered_share,
    reweighted_proportion,
    stratified_mean,
    stratified_proportion,
)
from regrade.stats.intervals import exact_bounds
from regrade.stats.means import MANY

quick = settings(deadline=None, max_examples=60, derandomize=True)


def clustered_shares(rows, clusters, **options):
    """The clustered share of every row."""
    return [clustered_share(row, clusters, **options) for row in np.atleast_2d(rows)]


PROPORTIONS = (clustered_shares, stratified_proportion)
shares = st.lists(st.floats(0, 1), min_size=1, max_size=40)
gaps = st.lists(st.tuples(st.floats(-1, 1), st.floats(1e-6, 0.1), st.integers(1, 1000)), min_size=1, max_size=8)


def bounds(estimates):
    return np.array([e.low for e in estimates]), np.array([e.high for e in estimates])


def covered(estimates, truth):
    low, high = bounds(estimates)
    return ((low <= truth) & (truth <= high)).mean()


# Strata -------------------------------------------------------------------------------------------


def test_stratified_mean_by_hand():
    # strata (1, 3) and (2, 6): means 2 and 4, sums of squares 2 and 8, pooled variance 5;
    # with one image's worth of it (2 + 5) / 2 and (8 + 5) / 2, of the mean 1/8 as much: 7/16 + 13/16 = 5/4;
    # Satterthwaite: (20/16)^2 / ((7/16)^2 + (13/16)^2) = 400 / 218
    (estimate,) = stratified_mean([1, 2, 3, 6], ["a", "b", "a", "b"])
    reach = stats.t.ppf(0.975, 400 / 218) * np.sqrt(5 / 4)
    assert estimate.value == 3
    assert estimate.low == pytest.approx(3 - reach)
    assert estimate.high == pytest.approx(3 + reach)
    assert (estimate.n, estimate.method) == (4, "stratified t 95%")


def test_weights_follow_the_sorted_strata():
    (estimate,) = stratified_mean([10, 0, 10, 0, 1, 1], ["b", "a", "b", "a", "c", "c"], weights=[1, 2, 1])
    assert estimate.value == pytest.approx((0 + 2 * 10 + 1) / 4)


def slow_stratified(values, strata, weights):
    """Mean, variance and degrees of freedom, stratum by stratum."""
    names = sorted(set(strata))
    groups = [values[strata == name] for name in names]
    shares = np.array(weights) / np.sum(weights)
    several = [h for h, g in enumerate(groups) if len(g) > 1]
    deviations = [((g - g.mean()) ** 2).sum() for g in groups]
    by_images = sum(deviations) / sum(len(g) - 1 for g in groups)
    cost = [s**2 / len(g) for s, g in zip(shares, groups, strict=True)]
    by_costs = sum(cost[h] * groups[h].var(ddof=1) for h in several) / sum(cost[h] for h in several)
    borrowed = max(by_images, by_costs)
    parts = [c * (d + borrowed) / len(g) for c, d, g in zip(cost, deviations, groups, strict=True)]
    freedom = sum(parts) ** 2 / sum(p**2 / max(len(g) - 1, 1) for p, g in zip(parts, groups, strict=True))
    return sum(s * g.mean() for s, g in zip(shares, groups, strict=True)), sum(parts), freedom


@pytest.mark.parametrize("seed", range(5))
def test_stratified_matches_slow_reference(seed):
    rng = np.random.default_rng(seed)
    strata = np.r_[np.arange(6), rng.integers(6, size=60), 6]  # the last stratum holds one image
    rng.shuffle(strata)
    values, weights = rng.normal(size=(3, len(strata))), rng.random(7)
    right = values > 0
    means = stratified_mean(values, strata, weights=weights, confidence=0.9)
    shares = stratified_proportion(right, strata, weights=weights, confidence=0.9)
    for row in range(3):
        mean, variance, freedom = slow_stratified(values[row], strata, weights)
        reach = stats.t.ppf(0.95, freedom) * np.sqrt(variance)
        assert [means[row].value, means[row].low, means[row].high] == pytest.approx([mean, mean - reach, mean + reach])
        mean, variance, freedom = slow_stratified(right[row].astype(float), strata, weights)
        size = mean * (1 - mean) / variance
        size *= (stats.t.ppf(0.95, len(strata) - 1) / stats.t.ppf(0.95, freedom)) ** 2
        low = stats.beta.ppf(0.05, mean * size, (1 - mean) * size + 1)
        high = stats.beta.ppf(0.95, mean * size + 1, (1 - mean) * size)
        assert [shares[row].value, shares[row].low, shares[row].high] == pytest.approx([mean, low, high])


def test_strata_of_one_size_have_the_textbook_variance():
    rng = np.random.default_rng(0)
    values, strata = rng.normal(size=60), np.repeat(np.arange(6), 10)
    (estimate,) = stratified_mean(values, strata)
    variance = sum(values[strata == h].var(ddof=1) / 10 for h in range(6)) / 36
    assert slow_stratified(values, strata, np.ones(6))[1] == pytest.approx(variance)
    freedom = slow_stratified(values, strata, np.ones(6))[2]
    assert estimate.half_width == pytest.approx(stats.t.ppf(0.975, freedom) * np.sqrt(variance))


STRATA = {
    "many classes of ten": ([10] * 100, np.linspace(0.5, 1, 100)),
    "near one": ([10] * 100, [0.99] * 100),
    "two images a class": ([2] * 200, [0.9] * 200),
    "a small and a large": ([5, 1000], [0.95, 0.95]),
    "doubling": ([3, 6, 12, 24, 48, 96, 192], [0.8, 0.7, 0.9, 0.6, 0.8, 0.9, 0.7]),
    "doubling near one": ([3, 6, 12, 24, 48, 96, 192], [0.97] * 7),
    "hard single images beside a large easy class": ([1] * 19 + [2000], [0.6] * 19 + [0.99]),
    "a long tail of single images": ([1] * 60 + [100] * 40, [0.7] * 60 + [0.98] * 40),
    "hard small ones": ([3] * 20 + [100] * 10, [0.6] * 20 + [0.99] * 10),
}


@pytest.mark.parametrize("design", STRATA)
def test_stratified_proportion_covers(design):
    sizes, rates = (np.array(part) for part in STRATA[design])
    strata = np.repeat(np.arange(len(sizes)), sizes)
    right = np.random.default_rng(2).random((2000, len(strata))) < rates[strata]
    share = covered(stratified_proportion(right, strata), rates.mean())
    assert share >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 2000)


def test_stratified_mean_covers():
    sizes, centers = np.array([5, 20, 40, 10]), np.array([0.0, 3.0, 1.0, -2.0])
    strata = np.repeat(np.arange(4), sizes)
    spread = np.array([1.0, 2.0, 0.5, 3.0])[strata]
    values = np.random.default_rng(3).normal(centers[strata], spread, size=(4000, len(strata)))
    weights = np.array([1, 2, 3, 4])
    share = covered(stratified_mean(values, strata, weights=weights), centers @ weights / 10)
    assert abs(share - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 4000) + 0.005  # Satterthwaite is approximate


def test_few_agreeing_images_keep_a_positive_variance():
    # half the weight rests on two images, both right: the thousand others cannot make up for them
    right, strata = np.r_[1, 1, np.tile([0, 1], 500)], np.r_[0, 0, np.ones(1000)]
    (estimate,) = stratified_proportion(right, strata)
    assert estimate.value == 0.75
    assert estimate.low < 0.55


# Clusters -----------------------------------------------------------------------------------------


def test_clustered_mean_by_hand():
    # clusters (1, 0) and (1, 1, 1, 0): mean 2/3; residual totals 1 - 4/3 and 3 - 8/3; Var = 2 * (2/9) / 36
    (estimate,) = clustered_mean([1, 0, 1, 1, 1, 0], [5, 5, 7, 7, 7, 7])
    reach = stats.t.ppf(0.975, 1) / 9
    assert estimate.value == pytest.approx(2 / 3)
    assert estimate.low == pytest.approx(2 / 3 - reach)
    assert estimate.high == pytest.approx(2 / 3 + reach)
    assert (estimate.n, estimate.method) == (6, "clustered t 95%")


@pytest.mark.parametrize("seed", range(4))
def test_clustered_agrees_with_statsmodels(seed):
    rng = np.random.default_rng(seed)
    clusters = rng.integers(12, size=200)
    values = rng.normal(size=(2, 200)) + 0.5 * rng.normal(size=12)[clusters]
    for row, estimate in zip(values, clustered_mean(values, clusters), strict=True):
        fit = OLS(row, np.ones(200)).fit(
            cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": True}, use_t=True
        )
        assert estimate.value == pytest.approx(fit.params[0])
        # statsmodels also multiplies by (n - 1) / (n - 1) = 1 with one regressor
        assert [estimate.low, estimate.high] == pytest.approx(fit.conf_int()[0])


def test_clustered_share_is_exact_at_the_effective_size():
    rng = np.random.default_rng(1)
    clusters = rng.integers(15, size=120)
    right = rng.random(120) < 0.8
    (mean,), share = clustered_mean(right, clusters), clustered_share(right, clusters)
    reach = stats.t.ppf(0.975, 14)
    size = share.value * (1 - share.value) / (mean.half_width / reach) ** 2
    size *= (stats.t.ppf(0.975, 119) / reach) ** 2
    expected = exact_bounds(np.array(share.value * size), np.array(size), confidence=0.95)
    assert [share.low, share.high] == pytest.approx([float(expected.low), float(expected.high)])


def test_clusters_of_one_image_agree_with_the_plain_t_interval():
    values = np.random.default_rng(0).normal(size=40)
    (estimate,) = clustered_mean(values, np.arange(40))
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert [estimate.low, estimate.high] == pytest.approx(list(interval))


def households(rate, correlation, trials, rng, number=40):
    """Correctness (trials, n) whose probability varies between households."""
    sizes = 1 + np.arange(number) % 9
    clusters = np.repeat(np.arange(number), sizes)
    strength = 1 / correlation - 1
    chances = rng.beta(rate * strength, (1 - rate) * strength, size=(trials, number))
    return rng.random((trials, len(clusters))) < chances[:, clusters], clusters


@pytest.mark.parametrize(("rate", "correlation"), [(0.6, 0.3), (0.9, 0.2), (0.97, 0.1), (0.99, 0.05), (0.5, 0.01)])
def test_clustered_share_covers(rate, correlation):
    right, clusters = households(rate, correlation, 3000, np.random.default_rng(4))
    share = covered(clustered_shares(right, clusters), rate)
    assert share >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 3000)


def test_clustered_mean_covers():
    rng = np.random.default_rng(6)
    clusters = np.repeat(np.arange(30), 8)
    values = rng.normal(size=(4000, 240)) + rng.normal(size=(4000, 30))[:, clusters]
    share = covered(clustered_mean(values, clusters), 0.0)
    assert abs(share - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 4000)


# Both ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", PROPORTIONS)
@given(
    groups=st.lists(st.lists(st.booleans(), min_size=2, max_size=30), min_size=2, max_size=12),
    confidence=st.floats(0.5, 0.999),
)
@quick
def test_shares_have_a_width_and_stay_inside(method, groups, confidence):
    right = np.concatenate(groups)
    members = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    (estimate,) = method(right, members, confidence=confidence)
    assert 0 <= estimate.low <= estimate.value + 1e-12
    assert estimate.value <= estimate.high + 1e-12
    assert estimate.high <= 1
    # never surer than ten times as many images, drawn one by one, would make it
    assert estimate.high - estimate.low > 0.1 / len(right)
    (mirror,) = method(~right, members, confidence=confidence)
    assert mirror.low == pytest.approx(1 - estimate.high, abs=1e-7)


@pytest.mark.parametrize("size", range(2, 40))
def test_identical_clusters_have_an_interval_of_positive_width(size):
    # rounding in the mean must not pass for a tiny variance, worth a million images
    for right in range(1, size):
        values = np.tile(np.arange(size) < right, 10)
        estimate = clustered_share(values, np.repeat(np.arange(10), size))
        assert estimate.high - estimate.low > 0.2


@pytest.mark.parametrize(("method", "worth", "freedom"), [(clustered_shares, 10, 9), (stratified_proportion, 100, 90)])
def test_effective_size_without_variance_is_number_of_clusters_or_images(method, worth, freedom):
    (estimate,) = method(np.ones(100), np.repeat(np.arange(10), 10))
    size = worth * (stats.t.ppf(0.975, 99) / stats.t.ppf(0.975, freedom)) ** 2
    assert estimate.value == pytest.approx(1, abs=1e-15)
    assert estimate.high == 1
    assert estimate.low == pytest.approx(0.025 ** (1 / size))


@given(weights=st.lists(st.floats(0.01, 10), min_size=3, max_size=3))
@quick
def test_rounded_weights_keep_shares_at_most_1(weights):
    (estimate,) = stratified_proportion(np.ones(12), np.arange(12) % 3, weights=weights)
    assert 1 - 1e-12 < estimate.value <= estimate.high == 1
    assert 0.3 < estimate.low < 0.85  # four to twelve images' worth


@pytest.mark.parametrize("method", [clustered_mean, stratified_mean])
@given(shift=st.floats(-1e6, 1e6), scale=st.floats(0.01, 100))
@quick
def test_means_are_equivariant_to_shift_and_scale(method, shift, scale):
    values = np.random.default_rng(0).normal(size=30)
    groups = np.repeat(np.arange(5), 6)
    (before,), (after,) = method(values, groups), method(shift + scale * values, groups)
    assert after.value == pytest.approx(shift + scale * before.value, rel=1e-9, abs=1e-8)
    assert after.half_width == pytest.approx(scale * before.half_width, rel=1e-5)


@pytest.mark.parametrize("method", [clustered_mean, clustered_shares, stratified_mean, stratified_proportion])
def test_rows_are_models_and_groups_may_be_named(method):
    right = np.random.default_rng(0).random((3, 40)) < 0.6
    names = np.array(["oak", "elm", "ash", "fir"])[np.arange(40) % 4]
    for row, estimate in zip(right, method(right, names), strict=True):
        (alone,) = method(row, np.arange(40) % 4)
        assert [estimate.value, estimate.low, estimate.high] == pytest.approx([alone.value, alone.low, alone.high])
        assert estimate.value == pytest.approx(row.mean())


@pytest.mark.parametrize("method", [clustered_mean, clustered_shares, stratified_mean, stratified_proportion])
def test_means_raise_for_invalid_input(method):
    with pytest.raises(InputError, match="3 values but 2"):
        method([0, 1, 1], [0, 1])
    with pytest.raises(UndefinedError, match="at least one image"):
        method([], [])
    with pytest.raises(InputError):
        method([0, 1, float("nan")], [0, 0, 1])
    with pytest.raises(InputError, match="confidence"):
        method([0, 1, 1, 0], [0, 0, 1, 1], confidence=95)


def test_too_few_groups_raise():
    with pytest.raises(UndefinedError, match="two clusters"):
        clustered_mean([1, 0, 1], [3, 3, 3])
    with pytest.raises(UndefinedError, match="single image"):
        stratified_mean([1, 0, 1], [1, 2, 3])


@pytest.mark.parametrize("weights", [[1], [1, -1], [0, 0], [1, 1, 1]])
def test_wrong_weights_raise(weights):
    with pytest.raises(InputError, match="weights"):
        stratified_mean([1, 0, 1, 0], [0, 0, 1, 1], weights=weights)


def test_stratified_proportion_rejects_values_other_than_0_and_1():
    with pytest.raises(InputError, match="right"):
        stratified_proportion([0.5, 1, 0, 1], [0, 0, 1, 1])


def test_by_hand():
    """1 of 4 in the first stratum and 3 of 4 in the second, which is three times as frequent among the targets."""
    estimate = reweighted_proportion([1, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 1, 1])
    assert estimate.value == pytest.approx(0.25 * 0.25 + 0.75 * 0.75)
    assert (estimate.n, estimate.method) == (8, "post-stratified korn-graubard 95%")
    assert 0 <= estimate.low < estimate.value < estimate.high <= 1


def test_many_target_images_give_the_stratified_share():
    rng = np.random.default_rng(0)
    strata, values = rng.integers(4, size=400), rng.random(400) < 0.3
    estimate = reweighted_proportion(values, strata, np.repeat([0, 1, 2, 3], [10**6, 10**6, 2 * 10**6, 4 * 10**6]))
    (expected,) = stratified_proportion(values, strata, weights=[1, 1, 2, 4])
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-4
    )


def test_few_target_images_widen_the_interval():
    rng = np.random.default_rng(1)
    strata = rng.integers(5, size=1000)
    values = rng.random(1000) < strata / 5
    widths = []
    for targets in (20, 200, 20_000):
        estimate = reweighted_proportion(values, strata, np.arange(targets) % 5)
        widths.append(estimate.high - estimate.low)
    assert widths[0] > 2 * widths[1] > 2 * widths[2]


def test_without_any_mistake_there_is_still_an_upper_bound():
    estimate = reweighted_proportion(np.zeros(100), np.arange(100) % 4, np.arange(40) % 4)
    assert (estimate.value, estimate.low) == (0, 0)
    assert estimate.high == pytest.approx(float(clopper_pearson(0, 100).high), rel=0.05)


def test_stratum_without_target_images_has_no_weight():
    estimate = reweighted_proportion([1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1])
    assert estimate.value == 0


def test_coverage_if_errors_depend_only_on_strata():
    """Errors depend only on the stratum, and the targets have a different mix of strata."""
    rng = np.random.default_rng(2)
    rates, source_mix, target_mix = np.array([0.02, 0.1, 0.3, 0.6]), [0.6, 0.2, 0.15, 0.05], [0.2, 0.2, 0.3, 0.3]
    truth = rates @ target_mix
    held = []
    for _ in range(800):
        strata, target_strata = rng.choice(4, 300, p=source_mix), rng.choice(4, 150, p=target_mix)
        estimate = reweighted_proportion(rng.random(300) < rates[strata], strata, target_strata)
        held.append(estimate.low <= truth <= estimate.high)
    assert 0.93 < np.mean(held) < 0.99


@pytest.mark.parametrize(
    ("values", "strata", "target_strata", "error"),
    [
        ([0, 1], [0, 0], [], UndefinedError),
        ([0, 1], [0, 0], [0, 1], InputError),
        ([], [], [0], InputError),
    ],
)
def test_reweighted_proportion_rejects_invalid_strata(values, strata, target_strata, error):
    with pytest.raises(error):
        reweighted_proportion(values, np.array(strata, dtype=int), np.array(target_strata, dtype=int))


def test_bounded_mean_of_many_zeros_and_ones_is_clopper_pearson():
    estimate = bounded_mean(np.arange(2000) < 300, largest=1.0)
    exact = clopper_pearson(300, 2000)
    assert estimate.value == 0.15
    assert (estimate.low, estimate.high) == pytest.approx((float(exact.low), float(exact.high)), rel=1e-3)


def test_bounded_mean_of_equal_values_has_a_width():
    estimate = bounded_mean(np.zeros(MANY), largest=2.0)
    assert (estimate.value, estimate.low) == (0, 0)
    assert estimate.high == pytest.approx(2 * (1 - 0.025 ** (1 / MANY)))


def test_bounded_mean_of_equal_values_that_round_differently_has_bounds():
    estimate = bounded_mean(np.full(1_797, 7.0), largest=10.0)  # the variance of 0.7 is not exactly 0
    assert estimate.low == pytest.approx(6.78, abs=0.01)
    assert estimate.high == pytest.approx(7.21, abs=0.01)


def test_bounded_mean_of_one_value_says_nothing():
    estimate = bounded_mean([0.5], largest=1.0)
    assert (estimate.low, estimate.value, estimate.high) == (0, 0.5, 1)


def log_capital(values, mean):
    """The logs of what bets on a larger and on a smaller mean make of 1, value by value as in the paper."""
    total, squares, larger, smaller = 0.5, 0.25, 0.0, 0.0
    for number, value in enumerate(values, start=1):
        bet = np.sqrt(2 * np.log(2 / 0.05) / (len(values) * squares / number))
        larger += np.log(1 + min(bet, 0.75 / mean) * (value - mean))
        smaller += np.log(1 - min(bet, 0.75 / (1 - mean)) * (value - mean))
        total += value
        squares += (value - total / (number + 1)) ** 2
    return larger, smaller


def test_bounded_mean_bounds_are_where_a_bettor_gains_the_level():
    values = np.random.default_rng(3).beta(1, 3, 80)
    estimate = bounded_mean(values, largest=1.0)
    shuffled = values[np.argsort(np.arange(80) * 0.6180339887498949 % 1)]
    assert log_capital(shuffled, estimate.low)[0] == pytest.approx(np.log(40), abs=1e-6)
    assert log_capital(shuffled, estimate.high)[1] == pytest.approx(np.log(40), abs=1e-6)


@given(shares, st.floats(0.1, 10))
def test_bounded_mean_contains_its_value_and_scales(values, largest):
    unit = bounded_mean(values, largest=1.0)
    scaled = bounded_mean(largest * np.array(values), largest=largest)
    assert 0 <= unit.low <= unit.value <= unit.high <= 1
    assert unit.low < unit.high
    assert (scaled.low, scaled.high) == pytest.approx((largest * unit.low, largest * unit.high), rel=1e-6, abs=1e-9)


@given(shares)
def test_bounded_mean_is_symmetric(values):
    numbers = np.array(values)
    up, down = bounded_mean(numbers, largest=1.0), bounded_mean(1 - numbers, largest=1.0)
    assert (up.low, up.high) == pytest.approx((1 - down.high, 1 - down.low), abs=1e-6)


def test_bounded_mean_covers_where_rare_losses_decide():
    """Two images in a hundred lose 8 of at most 16: a t interval of 50 images covers two times in three."""
    rng, runs = np.random.default_rng(0), 400
    losses = np.where(rng.random((runs, 50)) < 0.02, 8.0, 0.01)
    truth = 0.02 * 8 + 0.98 * 0.01
    bounds = np.array([(e.low, e.high) for e in (bounded_mean(row, largest=16.0) for row in losses)])
    reach = stats.t.ppf(0.975, 49) * losses.std(axis=1, ddof=1) / np.sqrt(50)
    assert ((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean() >= 0.95
    assert (np.abs(losses.mean(axis=1) - truth) <= reach).mean() < 0.75


def test_bounded_mean_rejects_bad_input():
    with pytest.raises(UndefinedError):
        bounded_mean([], largest=1.0)
    with pytest.raises(InputError, match=r"got \(1, 2\)"):
        bounded_mean([[0.1, 0.2]], largest=1.0)
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(InputError, match="between 0 and 1"):
            bounded_mean([0.5, bad], largest=1.0)


def test_absolute_mean_by_hand():
    estimate = absolute_mean([0.2, -0.1], [0.0004, 0.0001], [100, 300])
    assert estimate.value == pytest.approx((100 * 0.2 + 300 * 0.1) / 400)
    deviations = np.array([0.25 * 0.02, 0.75 * 0.01])
    assert estimate.high - estimate.value == pytest.approx(1.959964 * np.sqrt((deviations**2).sum()), rel=1e-6)
    assert estimate.n == 400


def test_absolute_mean_lower_bound_exceeds_the_exact_quantile_of_one_bin():
    """The noise of a single bin is half normal, with a 97.5% quantile of 2.2414 deviations."""
    estimate = absolute_mean([0.5], [0.01], [10])
    assert 0.1 * stats.halfnorm.ppf(0.975) <= estimate.value - estimate.low <= 0.1 * 2.5


def test_absolute_mean_lower_bound_agrees_with_simulated_noise():
    deviations, sizes = np.array([0.01, 0.03, 0.02, 0.05]), np.array([10, 20, 30, 40])
    noise = np.abs(np.random.default_rng(0).normal(0, deviations, (100_000, 4))) @ sizes / 100
    estimate = absolute_mean(np.full(4, 0.5), deviations**2, sizes)
    assert estimate.value - estimate.low == pytest.approx(np.quantile(noise, 0.975), rel=0.03)


@given(gaps)
def test_absolute_mean_interval_contains_its_value_and_ignores_signs(rows):
    means, variances, sizes = map(np.array, zip(*rows, strict=True))
    estimate = absolute_mean(means, variances, sizes)
    assert 0 <= estimate.low <= estimate.value < estimate.high
    assert absolute_mean(-means, variances, sizes) == estimate


def test_absolute_mean_is_bounded_above():
    assert absolute_mean([0.99], [0.01], [5], largest=1.0).high == 1.0


def test_absolute_mean_rejects_bad_input():
    with pytest.raises(InputError, match=r"must all be \(b,\)"):
        absolute_mean([0.1, 0.2], [0.1], [1, 2])
    with pytest.raises(UndefinedError):
        absolute_mean([], [], [])
