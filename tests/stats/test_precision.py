"""Tests of images for a half-width: over all outcomes, against other implementations, and by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import clopper_pearson, half_width_power, images_for_half_width
from regrade.stats.precision import fewest_images

quick = settings(deadline=None, max_examples=30, derandomize=True)


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
@quick
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
@quick
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
