"""Tests of binned_correlation."""

import numpy as np
import pytest
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.stats import binned_correlation

WIDTH, BINS = 0.1, 100
MIDDLES = (np.arange(BINS) + 0.5) * WIDTH


def draw(rng, images):
    """Images and mistakes by bin: many images of a low score, few of a high one."""
    scores = np.minimum(rng.gamma(1.2, 1.0, images), 9.9)
    wrong = rng.random(images) < 1 / (1 + np.exp(3 - scores))
    places = (scores / WIDTH).astype(int)
    return np.bincount(places[wrong], minlength=BINS), np.bincount(places, minlength=BINS)


def found(hits, images, middles=MIDDLES, **options):
    return binned_correlation(hits, images, middles, rng=np.random.default_rng(0), **options)


def test_by_hand():
    """Shares 0, 1/2, 1/2 and 1 at 1, 2, 3 and 5, and a bin without images at 4: a large bin counts once."""
    result = found([0, 50, 1, 2], [3, 100, 2, 2], [1, 2, 3, 5])
    assert result.value == pytest.approx(np.corrcoef([1, 2, 3, 5], [0, 0.5, 0.5, 1])[0, 1])
    with_empty = found([0, 50, 1, 0, 2], [3, 100, 2, 0, 2], [1, 2, 3, 4, 5])
    assert (with_empty.value, with_empty.n) == (pytest.approx(result.value), 4)
    assert result.low < result.value < result.high <= 1


def test_binned_correlation_matches_scipy():
    hits, images = draw(np.random.default_rng(1), 5_000)
    occupied = images > 0
    expected = stats.pearsonr(MIDDLES[occupied], hits[occupied] / images[occupied]).statistic
    assert found(hits, images).value == pytest.approx(expected)


@pytest.mark.parametrize("images", [1_000, 10_000])
def test_coverage_of_the_mean_correlation(images):
    rng = np.random.default_rng(images)
    many = [np.arctanh(found(*draw(rng, images), draws=20).value) for _ in range(600)]
    target = np.tanh(np.mean(many))
    samples = (binned_correlation(*draw(rng, images), MIDDLES, rng=rng, draws=400) for _ in range(300))
    held = np.mean([each.low <= target <= each.high for each in samples])
    assert held > 0.91  # 0.95 or more, give or take three deviations of 300 draws


def test_binned_correlation_is_reproducible_from_the_seed():
    hits, images = draw(np.random.default_rng(3), 2_000)
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
