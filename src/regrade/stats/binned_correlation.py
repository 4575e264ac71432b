"""Correlation between bin centers and the shares observed in the bins, as plotted in papers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share

_DRAWS = 1_000
_BANDWIDTH = 5.0  # standard deviation, in bins, of the normal kernel that smooths the shares
_PRIOR_IMAGES = 20  # weight, in images, of the smoothed share in each bin
_MIN_BINS = 4  # fewest non-empty bins for an interval
_PERFECT = 1 - 1e-12  # Fisher's z is infinite beyond this


def binned_correlation(
    hits: ArrayLike,
    images: ArrayLike,
    middles: ArrayLike,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    draws: int = _DRAWS,
) -> Estimate:
    """Return Pearson's r between ``middles`` (b,) and the shares ``hits`` / ``images`` (b,), one point per bin.

    Empty bins are ignored; at least 4 must remain, and neither middles nor shares may be constant. Noise in sparse
    bins attenuates r, so r depends on the number of images; the interval is for its mean over samples of that size. It
    is a bootstrap of images, with the shares of sparse bins smoothed over their neighbors and the draws centered on r
    on Fisher's scale. In simulations its coverage is 0.93 to 0.99.
    """
    wrong, sizes, x = (np.asarray(values) for values in (hits, images, middles))
    if not wrong.shape == sizes.shape == x.shape or wrong.ndim != 1:
        raise InputError(f"hits, images and middles must all be (bins,), got {wrong.shape}, {sizes.shape}, {x.shape}")
    if (wrong < 0).any() or (wrong > sizes).any():
        raise InputError("hits must lie between 0 and the images of their bin")
    if (bins := int((sizes > 0).sum())) < _MIN_BINS:
        raise UndefinedError(f"a correlation over bins needs at least {_MIN_BINS} non-empty bins, got {bins}")
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
    """Interval around r from the draws on Fisher's scale; for |r| = 1, percentiles of the draws themselves."""
    if abs(value) > _PERFECT:
        low, high = np.quantile(drawn, [tail, 1 - tail])
        return min(float(low), value), max(float(high), value)
    scaled = np.arctanh(np.clip(drawn, -_PERFECT, _PERFECT))
    low, high = np.arctanh(value) - _inflation(value) * np.quantile(scaled - scaled.mean(), [1 - tail, tail])
    return float(np.tanh(low)), float(np.tanh(high))


def _inflation(value: float) -> float:
    """Ratio of the standard deviation of r over new samples to that over draws.

    Draws add noise to shares that already contain the sample's noise. Near r = 0 this leaves a draw half of the
    variance. Near 1, where r depends on the sum of squared residuals, the variance of each term relative to its
    squared mean is 6/4 in a draw and 2 in a sample.
    """
    return float(np.sqrt(2 - 2 / 3 * value**2))


def _correlations(hits: IntArray, sizes: IntArray, x: FloatArray) -> FloatArray:
    """Shape (...): r over the last axis without empty bins; NaN where undefined."""
    occupied = sizes > 0
    count = np.maximum(occupied.sum(axis=-1, keepdims=True), 1)
    shares = np.where(occupied, hits / np.maximum(sizes, 1), 0.0)
    across = np.where(occupied, x, 0.0)
    dx = np.where(occupied, across - across.sum(axis=-1, keepdims=True) / count, 0.0)
    dy = np.where(occupied, shares - shares.sum(axis=-1, keepdims=True) / count, 0.0)
    spread = np.sqrt((dx**2).sum(axis=-1) * (dy**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(np.where(spread > 1e-15, (dx * dy).sum(axis=-1) / spread, np.nan), -1.0, 1.0)


def _smoothed(hits: IntArray, sizes: IntArray) -> FloatArray:
    """Shape (b,): shares shrunk towards their neighbors, sparse bins most; none is exactly 0 or 1."""
    places = np.arange(len(sizes))
    kernel = np.exp(-0.5 * ((places[:, None] - places) / _BANDWIDTH) ** 2)
    around = (kernel @ hits + 0.05) / (kernel @ sizes + 0.1)
    return (hits + _PRIOR_IMAGES * around) / (sizes + _PRIOR_IMAGES)
