import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import (
    images_to_tell_apart,
    independent_disagreement,
    mcnemar,
    mcnemar_power,
    smallest_difference,
)

quick = settings(deadline=None, max_examples=60, derandomize=True)


def test_independent_disagreement_by_hand():
    assert independent_disagreement(0.9, 0.8) == pytest.approx(0.9 * 0.2 + 0.1 * 0.8)
    assert independent_disagreement(1, 0) == 1
    assert independent_disagreement(1, 1) == 0


@given(first=st.floats(0, 1), second=st.floats(0, 1))
@quick
def test_independent_disagreement_holds_the_difference(first, second):
    assert independent_disagreement(first, second) == pytest.approx(independent_disagreement(second, first))
    assert abs(first - second) - 1e-12 <= independent_disagreement(first, second) <= 1


def test_images_by_hand():
    # (1.96 sqrt(0.1) + 0.8416 sqrt(0.1 - 0.0001))^2 / 0.0001
    reach = 1.959964 * math.sqrt(0.1) + 0.841621 * math.sqrt(0.0999)
    assert images_to_tell_apart(0.01, 0.1) == math.ceil(reach**2 / 0.0001) == 7847
    assert images_to_tell_apart(-0.01, 0.1) == 7847


@pytest.mark.parametrize(
    ("difference", "disagreement"), [(0.01, 0.1), (0.02, 0.05), (0.05, 0.3), (0.1, 0.4), (0.003, 0.02)]
)
@pytest.mark.parametrize(("power", "alpha"), [(0.8, 0.05), (0.95, 0.01)])
def test_the_images_reach_the_power(difference, disagreement, power, alpha):
    images = images_to_tell_apart(difference, disagreement, power=power, alpha=alpha)
    # Connor's formula is an approximation to the test that is then made
    assert mcnemar_power(images, difference, disagreement, alpha=alpha) == pytest.approx(power, abs=0.02)
    assert mcnemar_power(images // 2, difference, disagreement, alpha=alpha) < power - 0.1


def simulated_power(images, difference, disagreement, alpha, trials=20_000):
    rates = [(disagreement + difference) / 2, (disagreement - difference) / 2, 1 - disagreement]
    drawn = np.random.default_rng(0).multinomial(images, rates, size=trials)
    return (mcnemar(drawn[:, 0], drawn[:, 1]).mid_p <= alpha).mean()


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
        rejected = mcnemar(wins, total - wins).mid_p <= alpha
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
    assert mcnemar_power(5, 1, 1) == pytest.approx(1)  # five of five: mid-p 1/32
    assert mcnemar_power(4, 1, 1) == 0  # four of four: mid-p 1/16
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
        assert images_to_tell_apart(disagreement, disagreement, power=power, alpha=alpha) > images
        return
    assert 0 < difference <= disagreement
    needed = images_to_tell_apart(difference, disagreement, power=power, alpha=alpha)
    assert needed == pytest.approx(images, rel=1e-4, abs=1)


def test_smallest_difference_by_hand():
    # without z for power (0.5) the formula is difference = 1.96 sqrt(disagreement / images)
    assert smallest_difference(10_000, 0.09, power=0.5) == pytest.approx(1.959964 * 0.3 / 100, rel=1e-6)


@given(disagreement=st.floats(0.05, 0.9), part=st.floats(0.05, 0.9))
@quick
def test_more_power_less_alpha_or_a_smaller_difference_need_more_images(disagreement, part):
    difference = part * disagreement
    images = images_to_tell_apart(difference, disagreement)
    assert images_to_tell_apart(difference, disagreement, power=0.9) > images
    assert images_to_tell_apart(difference, disagreement, alpha=0.01) > images
    assert images_to_tell_apart(difference / 2, disagreement) > images


def test_what_has_no_value_raises():
    with pytest.raises(UndefinedError, match="equally good"):
        images_to_tell_apart(0, 0.1)
    with pytest.raises(UndefinedError, match="equally good"):
        mcnemar_power(100, 0, 0.1)
    with pytest.raises(UndefinedError, match="cannot tell apart"):
        smallest_difference(5, 0.1)
    for images in (0, -3):
        with pytest.raises(UndefinedError, match="at least one image"):
            mcnemar_power(images, 0.05, 0.1)
        with pytest.raises(UndefinedError, match="at least one image"):
            smallest_difference(images, 0.1)
    for difference, disagreement in ((0.2, 0.1), (-0.2, 0.1), (0.1, 1.2)):
        with pytest.raises(InputError, match="disagreement"):
            images_to_tell_apart(difference, disagreement)
        with pytest.raises(InputError, match="disagreement"):
            mcnemar_power(100, difference, disagreement)
    with pytest.raises(InputError, match="disagreement"):
        smallest_difference(100, 1.2)
    for share in (0, 1, 5, -0.1):
        with pytest.raises(InputError, match="alpha"):
            images_to_tell_apart(0.01, 0.1, alpha=share)
        with pytest.raises(InputError, match="power"):
            images_to_tell_apart(0.01, 0.1, power=share)
        with pytest.raises(InputError, match="alpha"):
            mcnemar_power(100, 0.01, 0.1, alpha=share)
        with pytest.raises(InputError, match="power"):
            smallest_difference(100, 0.1, power=share)
