"""Tests of paired_equivalence: by hand, against Tango's interval, and its size at the margin."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import paired_difference, paired_equivalence

quick = settings(deadline=None, max_examples=60, derandomize=True)


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
