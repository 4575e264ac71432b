"""Pearson's correlation with an interval for non-normal samples, such as a score and correctness (0 or 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.estimate import Estimate
from regrade.stats.correlation import checked_samples
from regrade.stats.intervals import method_name, tail_share


def robust_pearson(x: ArrayLike, y: ArrayLike, *, confidence: float = 0.95) -> Estimate:
    """Return Pearson's r of two samples (n,) of any distribution; for a 0/1 sample, the point-biserial correlation.

    The interval is symmetric on Fisher's scale, with a width estimated from the sample (delta method) instead of a
    normal distribution; n >= 4, neither sample constant. The interval of a perfect correlation has width 0. At 95% its
    coverage is 0.94 to 0.95 with 100 images, and less with fewer images and rare mistakes.
    """
    a, b = checked_samples(x, y)
    n = len(a)
    u, v = ((sample - sample.mean()) / sample.std() for sample in (a, b))
    value = float(np.clip((u * v).mean(), -1.0, 1.0))
    method = method_name("pearson, delta", confidence)
    if abs(value) >= 1 - 1e-12:
        return Estimate(value, value, value, n, method)
    influence = u * v - value * (u**2 + v**2) / 2
    error = np.sqrt((influence**2).sum() / (n - 3) / n) / (1 - value**2)
    half_width = special.stdtrit(n - 3, 1 - tail_share(confidence)) * error
    low, high = np.tanh(np.arctanh(value) + np.array([-half_width, half_width]))
    return Estimate(value, float(low), float(high), n, method)
