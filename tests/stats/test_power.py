import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint, samplesize_proportions_2indep_onetail

from regrade.core.errors import InputError, TooManyImages, UndefinedError
from regrade.stats import (
    clopper_pearson,
    corrected_difference,
    disparity_power,
    extremes_differ,
    group_shares,
    half_width_power,
    images_for_difference,
    images_for_half_width,
    images_for_margin,
    images_for_share,
    images_per_group,
    independent_difference,
    independent_disagreement,
    mcnemar,
    mcnemar_power,
    ordered_pairs,
    share_difference,
    smallest_difference,
    smallest_disparity,
)
from regrade.stats.power import approximate_power, detectable_difference, fewest_images, needed_images

quick = settings(deadline=None, max_examples=60, derandomize=True)
fewer_examples = settings(deadline=None, max_examples=30, derandomize=True)
few_examples = settings(deadline=None, max_examples=15, derandomize=True)


def test_independent_disagreement_by_hand():
    assert independent_disagreement(0.9, 0.8) == pytest.approx(0.9 * 0.2 + 0.1 * 0.8)
    assert independent_disagreement(1, 0) == 1
    assert independent_disagreement(1, 1) == 0


@given(first=st.floats(0, 1), second=st.floats(0, 1))
@quick
def test_independent_disagreement_is_at_least_the_difference(first, second):
    assert independent_disagreement(first, second) == pytest.approx(independent_disagreement(second, first))
    assert abs(first - second) - 1e-12 <= independent_disagreement(first, second) <= 1


def test_images_by_hand():
    # Connor: (1.96 sqrt(0.1) + 0.8416 sqrt(0.1 - 0.0001))^2 / 0.0001; corrected: n / 4 (1 + sqrt(1 + 4 / n / d))^2
    reach = 1.959964 * math.sqrt(0.1) + 0.841621 * math.sqrt(0.0999)
    connor = reach**2 / 0.0001
    corrected = connor / 4 * (1 + math.sqrt(1 + 4 / (connor * 0.01))) ** 2
    assert images_for_difference(0.01, 0.1) == math.ceil(corrected) == 8046
    assert images_for_difference(-0.01, 0.1) == 8046
    assert images_for_difference(1, 1) == 6  # six of six: p = 1/32; five of five: 1/16


@pytest.mark.parametrize(
    ("difference", "disagreement"), [(0.01, 0.1), (0.02, 0.05), (0.05, 0.3), (0.1, 0.4), (0.003, 0.02)]
)
@pytest.mark.parametrize(("power", "alpha"), [(0.8, 0.05), (0.95, 0.01)])
def test_the_images_reach_the_power(difference, disagreement, power, alpha):
    images = images_for_difference(difference, disagreement, power=power, alpha=alpha)
    # the formula is an approximation to the test that is then made
    assert power - 0.001 < mcnemar_power(images, difference, disagreement, alpha=alpha) < power + 0.02
    assert mcnemar_power(images // 2, difference, disagreement, alpha=alpha) < power - 0.1


def simulated_power(images, difference, disagreement, alpha, trials=20_000):
    rates = [(disagreement + difference) / 2, (disagreement - difference) / 2, 1 - disagreement]
    drawn = np.random.default_rng(0).multinomial(images, rates, size=trials)
    return (mcnemar(drawn[:, 0], drawn[:, 1]).exact <= alpha).mean()


@pytest.mark.parametrize(
    ("images", "difference", "disagreement", "alpha"),
    [
        (1000, 0.03, 0.1, 0.05),
        (200, 0.1, 0.3, 0.01),
        (50, 0.1, 0.12, 0.05),
        (5000, 0.005, 0.05, 0.1),
        (12, 0.5, 1, 0.05),
    ],
)
def test_power_agrees_with_simulation(images, difference, disagreement, alpha):
    power = mcnemar_power(images, difference, disagreement, alpha=alpha)
    tolerance = 4 * math.sqrt(power * (1 - power) / 20_000) + 1e-4
    assert simulated_power(images, difference, disagreement, alpha) == pytest.approx(power, abs=tolerance)


def slow_power(images, difference, disagreement, alpha):
    """Over every outcome: the discordant images, and those of them the better model wins."""
    share = (1 + difference / disagreement) / 2
    power = 0.0
    for total in range(images + 1):
        wins = np.arange(total + 1)
        rejected = 2 * stats.binom.cdf(np.minimum(wins, total - wins), total, 0.5) <= alpha
        chance = stats.binom.pmf(total, images, disagreement)
        power += chance * stats.binom.pmf(wins, total, share)[rejected].sum()
    return power


@given(
    images=st.integers(1, 60),
    disagreement=st.floats(0.05, 1),
    part=st.floats(0.01, 1),
    alpha=st.floats(0.001, 0.99),
)
@quick
def test_power_agrees_with_all_outcomes(images, disagreement, part, alpha):
    difference = part * disagreement
    expected = slow_power(images, difference, disagreement, alpha)
    assert mcnemar_power(images, difference, disagreement, alpha=alpha) == pytest.approx(expected, abs=1e-9)
    assert mcnemar_power(images, -difference, disagreement, alpha=alpha) == pytest.approx(expected, abs=1e-9)


def test_power_of_millions_of_images_is_quick_and_right():
    images = 3_000_000
    reach = 0.001 * math.sqrt(images / 0.2)
    expected = stats.norm.cdf(reach - 1.959964) + stats.norm.cdf(-reach - 1.959964)
    assert mcnemar_power(images, 0.001, 0.2) == pytest.approx(expected, abs=1e-3)


def test_power_at_the_edges():
    assert mcnemar_power(6, 1, 1) == pytest.approx(1)  # six of six: p = 1/32
    assert mcnemar_power(5, 1, 1) == 0  # five of five: p = 1/16
    assert mcnemar_power(1, 0.5, 0.5) == 0


@given(
    images=st.integers(50, 10**6),
    disagreement=st.floats(0.01, 1),
    power=st.floats(0.5, 0.99),
    alpha=st.floats(0.001, 0.2),
)
@quick
def test_smallest_difference_inverts_the_images(images, disagreement, power, alpha):
    try:
        difference = smallest_difference(images, disagreement, power=power, alpha=alpha)
    except UndefinedError:
        assert images_for_difference(disagreement, disagreement, power=power, alpha=alpha) > images
        return
    assert 0 < difference <= disagreement
    needed = images_for_difference(difference, disagreement, power=power, alpha=alpha)
    assert needed == pytest.approx(images, rel=1e-4, abs=1)


def test_smallest_difference_by_hand():
    # without z for power (0.5) the formula is difference = 1.96 sqrt(disagreement / images) + 1 / images
    assert smallest_difference(10_000, 0.09, power=0.5) == pytest.approx(1.959964 * 0.3 / 100 + 1e-4, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.1, 0.05, 0.001, 0.05 / 2211])
def test_a_difference_that_is_not_significant_needs_more_images(alpha):
    total = np.repeat(np.arange(1, 151), np.arange(1, 151))
    losses = np.concatenate([np.arange(k) for k in range(1, 151)])
    unclear = (losses * 2 < total) & (stats.binom.cdf(losses, total, 0.5) * 2 > alpha)
    d, discordant = (total - 2 * losses)[unclear], total[unclear]
    for images in (discordant, discordant + 1, 3 * discordant, 50 * discordant):
        assert (needed_images(d / images, discordant / images, power=0.8, alpha=alpha) > images).all()


@given(disagreement=st.floats(0.05, 0.9), part=st.floats(0.05, 0.9), images=st.integers(20, 3000))
@quick
def test_more_images_have_more_power(disagreement, part, images):
    difference = part * disagreement
    assert mcnemar_power(2 * images, difference, disagreement) >= mcnemar_power(images, difference, disagreement) - 1e-9


@given(disagreement=st.floats(0.01, 0.5), images=st.integers(200, 10**5))
@quick
def test_more_images_detect_smaller_differences(disagreement, images):
    now, later = detectable_difference([images, 2 * images], disagreement, power=0.8, alpha=0.05)
    assert np.isnan(now) or later < now


@given(disagreement=st.floats(0.05, 0.9), part=st.floats(0.05, 0.9))
@quick
def test_more_power_less_alpha_or_a_smaller_difference_need_more_images(disagreement, part):
    difference = part * disagreement
    images = images_for_difference(difference, disagreement)
    assert images_for_difference(difference, disagreement, power=0.9) > images
    assert images_for_difference(difference, disagreement, alpha=0.01) > images
    assert images_for_difference(difference / 2, disagreement) > images


def test_power_raises_if_undefined():
    with pytest.raises(UndefinedError, match="difference of 0"):
        images_for_difference(0, 0.1)
    with pytest.raises(UndefinedError, match="difference of 0"):
        mcnemar_power(100, 0, 0.1)
    with pytest.raises(UndefinedError, match="too few to detect"):
        smallest_difference(5, 0.1)
    for images in (0, -3):
        with pytest.raises(UndefinedError, match="at least one image"):
            mcnemar_power(images, 0.05, 0.1)
        with pytest.raises(UndefinedError, match="at least one image"):
            smallest_difference(images, 0.1)
    for difference, disagreement in ((0.2, 0.1), (-0.2, 0.1), (0.1, 1.2)):
        with pytest.raises(InputError, match="disagreement"):
            images_for_difference(difference, disagreement)
        with pytest.raises(InputError, match="disagreement"):
            mcnemar_power(100, difference, disagreement)
    with pytest.raises(InputError, match="disagreement"):
        smallest_difference(100, 1.2)
    for share in (0, 1, 5, -0.1):
        with pytest.raises(InputError, match="alpha"):
            images_for_difference(0.01, 0.1, alpha=share)
        with pytest.raises(InputError, match="power"):
            images_for_difference(0.01, 0.1, power=share)
        with pytest.raises(InputError, match="alpha"):
            mcnemar_power(100, 0.01, 0.1, alpha=share)
        with pytest.raises(InputError, match="power"):
            smallest_difference(100, 0.1, power=share)


def test_images_for_half_width_by_hand():
    # no image right: the interval is [0, 1 - 0.025^(1/n)], half of it at most 0.01 from n = ln 0.025 / ln 0.98 on
    assert images_for_half_width(0, 0.01) == math.ceil(math.log(0.025) / math.log(0.98)) == 183
    assert images_for_half_width(1, 0.01) == 183
    # in the middle Clopper-Pearson is the normal interval and about one image of one in x more
    assert images_for_half_width(0.5, 0.01) == pytest.approx(1.959964**2 / 4 / 0.01**2 + 1 / 0.01, abs=5)


@given(
    images=st.integers(1, 80),
    accuracy=st.floats(0, 1),
    half_width=st.floats(0.02, 0.5),
    confidence=st.floats(0.5, 0.99),
)
@fewer_examples
def test_half_width_power_agrees_with_all_outcomes(images, accuracy, half_width, confidence):
    right = np.arange(images + 1)
    low, high = proportion_confint(right, images, 1 - confidence, method="beta")
    short = (high - low) / 2 <= half_width
    expected = stats.binom.pmf(right, images, accuracy)[short].sum()
    power = half_width_power(images, accuracy, half_width, confidence=confidence)
    assert power == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("accuracy", "half_width"), [(0.8, 0.02), (0.95, 0.01), (0.5, 0.05), (0.02, 0.01)])
def test_half_width_is_reached_as_often_as_planned(accuracy, half_width):
    images = images_for_half_width(accuracy, half_width, power=0.8)
    drawn = np.random.default_rng(0).binomial(images, accuracy, size=20_000)
    bounds = clopper_pearson(drawn, images)
    reached = ((bounds.high - bounds.low) / 2 <= half_width).mean()
    power = half_width_power(images, accuracy, half_width)
    assert power >= 0.8
    assert reached == pytest.approx(power, abs=4 * math.sqrt(0.25 / 20_000))
    assert half_width_power(images - 1, accuracy, half_width) < 0.8


@given(accuracy=st.floats(0, 1), half_width=st.floats(0.005, 0.2))
@fewer_examples
def test_wider_target_needs_fewer_images(accuracy, half_width):
    images = images_for_half_width(accuracy, half_width)
    assert images_for_half_width(accuracy, half_width * 1.2) <= images
    assert images_for_half_width(accuracy, half_width, power=0.5) <= images
    assert images_for_half_width(accuracy, half_width, confidence=0.9) <= images
    assert images <= images_for_half_width(0.5, half_width) + 1


def test_fewest_images_is_the_first_that_is_enough():
    for least in (1, 2, 3, 64, 65, 1000):
        assert fewest_images(lambda n, least=least: n >= least) == least
    with pytest.raises(InputError, match="more than 10,000,000,000"):
        fewest_images(lambda n: n < 0)


def test_precision_raises_for_invalid_input():
    with pytest.raises(UndefinedError, match="at least one image"):
        half_width_power(0, 0.5, 0.1)
    for accuracy in (-0.1, 1.1, math.nan):
        with pytest.raises(InputError, match="accuracy"):
            images_for_half_width(accuracy, 0.1)
    for half_width in (0, -1, 1, math.nan):
        with pytest.raises(InputError, match="half_width"):
            images_for_half_width(0.5, half_width)


def test_disparity_power_by_hand():
    # of 4 images each, Wilson: 4 right [0.510, 1], 3 right [0.301, 0.954], 1 right [0.046, 0.699], 0 right [0, 0.490]
    # 4 and 0: 1 - hypot(0.490, 0.490) > 0; 4 and 1, 3 and 0: 0.75 - hypot(0.490, 0.449) > 0
    # 3 and 1: 0.5 - hypot(0.449, 0.449) < 0; 4 and 2: 0.5 - hypot(0.490, 0.350) < 0
    four, three, none, single = 0.9**4, 4 * 0.9**3 * 0.1, 0.8**4, 4 * 0.8**3 * 0.2
    assert disparity_power(4, 4, 0.9, 0.2) == pytest.approx(four * (none + single) + three * none)


@given(
    sizes=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    second=st.floats(0, 0.9),
    part=st.floats(0.05, 1),
    comparisons=st.sampled_from([1, 2, 30]),
)
@few_examples
def test_disparity_power_agrees_with_all_outcomes(sizes, second, part, comparisons):
    first = second + part * (1 - second)
    a, b = np.meshgrid(np.arange(sizes[0] + 1), np.arange(sizes[1] + 1), indexing="ij")
    shown = independent_difference(a, sizes[0], b, sizes[1], confidence=1 - 0.05 / comparisons).low > 0
    chance = stats.binom.pmf(a, sizes[0], first) * stats.binom.pmf(b, sizes[1], second)
    result = disparity_power(*sizes, first, second, comparisons=comparisons)
    assert result == pytest.approx(chance[shown].sum(), abs=1e-9)


@pytest.mark.parametrize(("first", "second"), [(0.8, 0.75), (0.6, 0.5), (0.55, 0.53)])
@pytest.mark.parametrize("power", [0.8, 0.95])
def test_images_per_group_agree_with_statsmodels(first, second, power):
    expected = samplesize_proportions_2indep_onetail(first - second, second, power, alternative="two-sided")
    assert images_per_group(first, second, power=power) == pytest.approx(expected, rel=0.02)


def test_a_disparity_is_shown_as_often_as_planned():
    """The two tests of `study geography`: groups named beforehand, and the best and the worst of several."""
    rng, draws, groups = np.random.default_rng(0), 400, 4
    accuracies = np.array([0.9, 0.8, 0.8, 0.7])
    images = images_per_group(0.9, 0.7, comparisons=ordered_pairs(groups))
    named = images_per_group(0.9, 0.7)
    picked_shown = named_shown = 0
    for _ in range(draws):
        scores = rng.random((groups, images)) < accuracies[:, None]
        members = np.repeat(np.arange(groups), images)
        picked_shown += extremes_differ(group_shares(scores.ravel(), members))
        scores = rng.random((2, named)) < np.array([[0.9], [0.7]])
        named_shown += share_difference(group_shares(scores.ravel(), np.repeat([0, 1], named)), 0, 1).low > 0
    tolerance = 4 * math.sqrt(0.16 / draws)
    assert picked_shown / draws > 0.8 - tolerance  # the extremes are sometimes others, and then further apart
    assert named_shown / draws == pytest.approx(0.8, abs=tolerance)


@given(second=st.floats(0.05, 0.8), difference=st.floats(0.05, 0.15))
@few_examples
def test_a_larger_disparity_needs_fewer_images(second, difference):
    images = images_per_group(second + difference, second)
    assert images_per_group(second + 1.25 * difference, second) <= images
    assert images_per_group(second + difference, second, comparisons=30) > images
    power = disparity_power(images, images, second + difference, second)
    assert power >= 0.8
    assert disparity_power(2 * images, 2 * images, second + difference, second) > power


@pytest.mark.parametrize(("images", "accuracy"), [(1700, 0.8), (100, 0.6), (40, 1.0)])
def test_smallest_disparity_is_where_the_power_is_reached(images, accuracy):
    result = smallest_disparity(images, images, accuracy)
    assert disparity_power(images, images, accuracy, accuracy - result) >= 0.8
    assert disparity_power(images, images, accuracy, accuracy - 0.99 * result) < 0.8


def test_group_power_raises_if_undefined():
    with pytest.raises(UndefinedError, match="must be above"):
        images_per_group(0.5, 0.5)
    with pytest.raises(InputError, match="between 0 and 1"):
        images_per_group(1.5, 0.5)
    with pytest.raises(InputError, match="between 0 and 1"):
        images_per_group(0.5, math.nan)
    with pytest.raises(UndefinedError, match="at least one image"):
        disparity_power(0, 10, 0.9, 0.5)
    with pytest.raises(UndefinedError, match="cannot show any gap"):
        smallest_disparity(2, 2, 0.5)
    with pytest.raises(UndefinedError, match="cannot show any gap"):
        smallest_disparity(200, 200, 0.0)
    with pytest.raises(UndefinedError, match="two groups"):
        ordered_pairs(1)


def test_powers_hold_for_billions_of_images():
    images = images_for_difference(1.6e-5, 0.25)
    assert images > 2**32
    assert mcnemar_power(images, 1.6e-5, 0.25) == pytest.approx(0.8, abs=1e-3)
    assert mcnemar_power(images, 3e-5, 1.0) == pytest.approx(approximate_power(images, 3e-5, 1.0, alpha=0.05), abs=1e-3)
    images = images_per_group(0.9, 0.9 - 1.3e-5)
    assert images == pytest.approx((1.959964 + 0.841621) ** 2 * 2 * 0.9 * 0.1 / 1.3e-5**2, rel=1e-3)
    assert smallest_disparity(images, images, 0.9) == pytest.approx(1.3e-5, rel=2e-3)
    images = images_for_half_width(0.5, 1.1e-5)
    assert images == pytest.approx(0.25 * (1.959964 / 1.1e-5) ** 2, rel=1e-3)


def test_disparity_power_of_selected_counts_is_that_of_all(monkeypatch):
    selected = disparity_power(200_000, 100_000, 0.5, 0.494)
    monkeypatch.setattr("regrade.stats.power._COUNTS", 10**6)
    assert selected == pytest.approx(disparity_power(200_000, 100_000, 0.5, 0.494), abs=1e-5)


@pytest.mark.parametrize("plan", [
    lambda: images_for_difference(1e-9, 0.1),
    lambda: images_for_half_width(0.5, 1e-9),
    lambda: images_per_group(0.9, 0.9 - 1e-9),
])  # fmt: skip
def test_more_than_ten_billion_images_raise(plan):
    with pytest.raises(TooManyImages, match="more than 10,000,000,000 images would be needed"):
        plan()
    with pytest.raises(InputError, match="at most 10,000,000,000 images"):
        disparity_power(10**11, 100, 0.9, 0.8)


@pytest.mark.parametrize(
    ("difference", "disagreement", "margin"), [(0, 0.1, 0.01), (0.01, 0.06, 0.0), (-0.005, 0.05, 0.02)]
)
def test_images_for_margin_have_the_power(difference, disagreement, margin):
    images = images_for_margin(difference, disagreement, margin, power=0.8, alpha=0.025)
    rates = [(disagreement + difference) / 2, (disagreement - difference) / 2, 1 - disagreement]
    counts = np.random.default_rng(0).multinomial(images, rates, size=4000)
    low = corrected_difference(counts[:, 0], counts[:, 1], images, confidence=0.95).low
    assert np.mean(low > -margin) == pytest.approx(0.8, abs=0.03)
    # Liu et al. 2002, without a continuity correction
    textbook = (stats.norm.isf(0.025) + stats.norm.isf(0.2)) ** 2 * (disagreement - difference**2)
    assert images == pytest.approx(textbook / (difference + margin) ** 2, rel=0.15)


def test_images_for_margin_of_equal_predictions():
    images = images_for_margin(0.0, 0.0, 0.01)
    assert corrected_difference(0, 0, images, confidence=0.9).low > -0.01
    assert images_for_margin(-0.01, 0.05, 0.01) is None and images_for_margin(0.0, 0.1, 1e-8) is None


@pytest.mark.parametrize(("share", "threshold"), [(0.8, 0.75), (0.99, 0.95), (0.06, 0.01)])
def test_images_for_share_have_the_power(share, threshold):
    images = images_for_share(share, threshold, power=0.8, alpha=0.05)
    right = np.arange(images + 1)
    passes = clopper_pearson(right, images, confidence=0.9).low >= threshold
    assert stats.binom.pmf(right, images, share)[passes].sum() == pytest.approx(0.8, abs=0.06)


def test_images_for_share_without_an_error():
    images = images_for_share(1.0, 0.99)
    assert clopper_pearson(images, images, confidence=0.9).low >= 0.99
    assert clopper_pearson(images - 1, images - 1, confidence=0.9).low < 0.99
    assert images_for_share(0.5, 0.5) is None
