"""Tests of calibration_error."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.metrics import equal_size_bins
from regrade.stats import calibration_error

quick = settings(deadline=None, max_examples=60, derandomize=True)


def test_by_hand():
    # two bins of 4 and 6 images: 3 of 4 right at 0.5, 3 of 6 right at 0.8
    confidences = np.array([0.5] * 4 + [0.8] * 6)
    correct = np.array([1, 1, 1, 0, 1, 1, 1, 0, 0, 0], dtype=bool)
    squares = 0.4 * 0.25**2 + 0.6 * 0.3**2
    chance = 0.4 * (0.75 * 0.25 * 4 / 3) / 4 + 0.6 * (0.5 * 0.5 * 6 / 5) / 6
    assert calibration_error(confidences, correct).value == pytest.approx(np.sqrt(squares - chance))


def test_agrees_with_the_plain_error_of_many_images():
    rng = np.random.default_rng(0)
    confidences = rng.uniform(0.5, 1, 300_000)
    correct = rng.random(300_000) < confidences - 0.1
    bins = equal_size_bins(confidences, correct)
    plain = np.sqrt((bins.sizes * bins.gaps**2).sum() / bins.sizes.sum())
    assert calibration_error(confidences, correct).value == pytest.approx(plain, rel=0.01)
    assert plain == pytest.approx(0.1, rel=0.03)


def test_calibration_error_is_debiased():
    """The debiased mean square is near the truth, while the plain error is many times larger."""
    rng = np.random.default_rng(1)
    plain, squares = [], []
    for _ in range(300):
        confidences = rng.uniform(0.5, 1, 300)
        correct = rng.random(300) < confidences
        bins = equal_size_bins(confidences, correct)
        plain.append((bins.sizes * bins.gaps**2).sum() / 300)
        squares.append(calibration_error(confidences, correct).value ** 2)
    assert np.mean(squares) < 0.4 * np.mean(plain)  # cut off at 0, half of them
    assert np.mean(np.array(squares) == 0) > 0.35


@quick
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.3, 0.5, 0.99, 1.0]), st.booleans()), min_size=2, max_size=80))
def test_the_order_of_images_does_not_matter_and_the_interval_has_a_width(pairs):
    confidences, correct = np.array([c for c, _ in pairs]), np.array([right for _, right in pairs])
    error = calibration_error(confidences, correct)
    again = calibration_error(confidences[::-1], correct[::-1])
    assert (again.value, again.low, again.high) == pytest.approx((error.value, error.low, error.high), abs=1e-9)
    assert 0 <= error.low <= error.value <= error.high <= 1
    assert error.low < error.high


@pytest.mark.parametrize("too_sure", [0.0, 0.5])
def test_coverage(too_sure):
    rng = np.random.default_rng(2)
    missed = 0
    for _ in range(400):
        confidences = np.repeat(rng.uniform(0.5, 1, 15), 20)
        accuracy = confidences - too_sure * (confidences - 0.5)
        error = calibration_error(confidences, rng.random(300) < accuracy)
        missed += not error.low <= np.sqrt(np.mean((accuracy - confidences) ** 2)) <= error.high
    assert missed <= stats.binom.isf(1e-4, 400, 0.07)


def test_calibration_error_raises_if_undefined():
    with pytest.raises(UndefinedError, match="at least two"):
        calibration_error(np.array([0.5]), np.array([True]))
    with pytest.raises(InputError, match="softmax"):
        calibration_error(np.array([0.5, np.nan]), np.array([True, False]))
    with pytest.raises(InputError, match="both be"):
        calibration_error(np.array([0.5, 0.6]), np.array([True]))
