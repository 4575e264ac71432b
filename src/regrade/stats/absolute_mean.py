"""The mean size of several errors, each known only with noise: what calibration errors are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, normal_quantile, tail_share

_HALF_NORMAL_MEAN = np.sqrt(2 / np.pi)


def absolute_mean(
    means: ArrayLike, variances: ArrayLike, sizes: ArrayLike, *, largest: float = np.inf, confidence: float = 0.95
) -> Estimate:
    """The mean over images of the absolute ``means`` (b,) of their bins, ``sizes`` (b,) images each.

    ``variances`` (b,) are those of the means. Noise makes absolute values larger: the value is too large on average,
    and the interval reaches further down than up. Its upper end is that of the mean with the true signs, which is never
    larger than the value and has normal noise. Its lower end allows for the mean size of the noise, by which the value
    may be too large at most; its distribution is taken as a gamma with the same mean and variance.

    >>> print(absolute_mean([0.1, -0.05], [0.0001, 0.0001], [500, 500]))
    7.5 [5.7, 8.9]
    """
    gaps, noise, counts = (np.asarray(numbers, dtype=np.float64) for numbers in (means, variances, sizes))
    if not gaps.shape == noise.shape == counts.shape or gaps.ndim != 1:
        raise InputError(f"means {gaps.shape}, variances {noise.shape} and sizes {counts.shape} must all be (b,)")
    if not counts.sum() > 0:
        raise UndefinedError("a mean over no images has no value")
    weighted = counts / counts.sum() * np.sqrt(noise)
    value = float(counts @ np.abs(gaps) / counts.sum())
    up = normal_quantile(confidence) * float(np.sqrt(weighted @ weighted))
    down = _largest_noise(float(weighted.sum()), float(weighted @ weighted), confidence)
    method = method_name("absolute mean, gamma and normal", confidence)
    return Estimate(value, max(value - down, 0.0), min(value + up, largest), int(counts.sum()), method)


def _largest_noise(total: float, squares: float, confidence: float) -> float:
    """The quantile of a sum of absolute normal numbers whose deviations add up to ``total``, squared to ``squares``."""
    if total <= 0:
        return 0.0
    mean, variance = _HALF_NORMAL_MEAN * total, (1 - 2 / np.pi) * squares
    shape = mean**2 / variance
    return float(special.gammaincinv(shape, 1 - tail_share(confidence)) * variance / mean)
