"""The correlation of bins' middles with the shares found in them, as papers draw it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share

_DRAWS = 1_000
_REACH = 5.0  # bins to either side that a bin's share is smoothed over, as the deviation of a normal weight
_BORROWED = 20  # images' worth of its neighbors that a bin is given
_LEAST = 4  # bins that have an interval
_PERFECT = 1 - 1e-12  # beyond this Fisher's scale has no place


def binned_correlation(
    hits: ArrayLike,
    images: ArrayLike,
    middles: ArrayLike,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    draws: int = _DRAWS,
) -> Estimate:
    """Pearson's r between ``middles`` (b,) and the shares ``hits`` / ``images`` (b,), every bin counted once.

    Empty bins are left out; at least 4 must be left, and neither middles nor shares may be all the same. Sparse bins
    are noise, which draws r towards 0: r depends on how many images there are, and the interval is for what it is on
    average over samples of as many images. It comes from drawing images anew, the shares of sparse bins smoothed over
    their neighbors, with the draws centerd on r on Fisher's scale. In simulations it covers 0.93 to 0.99.
    """
    wrong, sizes, x = (np.asarray(each) for each in (hits, images, middles))
    if not wrong.shape == sizes.shape == x.shape or wrong.ndim != 1:
        raise InputError(f"one entry a bin is wanted, got {wrong.shape}, {sizes.shape} and {x.shape}")
    if (wrong < 0).any() or (wrong > sizes).any():
        raise InputError("hits must lie between 0 and the images of their bin")
    if (bins := int((sizes > 0).sum())) < _LEAST:
        raise UndefinedError(f"a correlation over bins needs at least {_LEAST} that hold images, got {bins}")
    value = float(_correlations(wrong, sizes, x))
    if np.isnan(value):
        raise UndefinedError("a correlation with a constant sample has no value")
    method = method_name("pearson over bins, bootstrap of images", confidence)
    total = int(sizes.sum())
    drawn = rng.multinomial(total, sizes / total, size=draws)
    correlations = _correlations(rng.binomial(drawn, _smoothed(wrong, sizes)), drawn, x)
    low, high = _around(value, correlations[np.isfinite(correlations)], tail_share(confidence))
    return Estimate(value, low, high, bins, method)


def _around(value: float, drawn: FloatArray, tail: float) -> tuple[float, float]:
    """The interval around r from the spread of draws on Fisher's scale; around 1 and -1 the draws themselves."""
    if abs(value) > _PERFECT:
        low, high = np.quantile(drawn, [tail, 1 - tail])
        return min(float(low), value), max(float(high), value)
    scaled = np.arctanh(np.clip(drawn, -_PERFECT, _PERFECT))
    low, high = np.arctanh(value) - _own_noise(value) * np.quantile(scaled - scaled.mean(), [1 - tail, tail])
    return float(np.tanh(low)), float(np.tanh(high))


def _own_noise(value: float) -> float:
    """How much wider than the draws a new sample's r spreads: they add noise to shares that hold the sample's own.

    Near 0 the half of a draw's noise that is fixed leaves it half of the variance. Near 1, where r depends on the sum
    of squared residuals, each term of it varies by 6/4 of its squared mean in a draw, and by 2 in a sample.
    """
    return float(np.sqrt(2 - 2 / 3 * value**2))


def _correlations(hits: IntArray, sizes: IntArray, x: FloatArray) -> FloatArray:
    """Shape (...): r over the last axis, without empty bins; not a number where it is undefined."""
    there = sizes > 0
    count = np.maximum(there.sum(axis=-1, keepdims=True), 1)
    shares = np.where(there, hits / np.maximum(sizes, 1), 0.0)
    across = np.where(there, x, 0.0)
    dx = np.where(there, across - across.sum(axis=-1, keepdims=True) / count, 0.0)
    dy = np.where(there, shares - shares.sum(axis=-1, keepdims=True) / count, 0.0)
    spread = np.sqrt((dx**2).sum(axis=-1) * (dy**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(np.where(spread > 1e-15, (dx * dy).sum(axis=-1) / spread, np.nan), -1.0, 1.0)


def _smoothed(hits: IntArray, sizes: IntArray) -> FloatArray:
    """Shape (b,): shares of which sparse bins owe most to their neighbors, none of them certain."""
    places = np.arange(len(sizes))
    near = np.exp(-0.5 * ((places[:, None] - places) / _REACH) ** 2)
    around = (near @ hits + 0.05) / (near @ sizes + 0.1)
    return (hits + _BORROWED * around) / (sizes + _BORROWED)
