"""Power and sample size of McNemar's test for two models."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.stats.paired import mcnemar_exact

_TOTALS = 2000  # with more possible counts of discordant images, only a subset is evaluated


def independent_disagreement(first: float, second: float) -> float:
    """Return the share of images on which exactly one of two models is right, if they err independently."""
    if not (0 <= first <= 1 and 0 <= second <= 1):
        raise InputError(f"accuracies must lie between 0 and 1, got {first:g} and {second:g}")
    return first * (1 - second) + second * (1 - first)


def images_for_difference(difference: float, disagreement: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Return the number of images McNemar's exact test needs to detect a true ``difference`` of accuracies.

    ``disagreement`` is the share of images on which exactly one of the two models is right: measure it, or use
    `independent_disagreement` as a conservative guess. A difference of 0 raises. Uses Connor's formula (1987) with a
    continuity correction; `mcnemar_power` computes the exact power.

    >>> images_for_difference(0.01, 0.10)
    8046
    """
    _check(difference, disagreement)
    check_shares(power=power, alpha=alpha)
    return int(needed_images(difference, disagreement, power=power, alpha=alpha))


def mcnemar_power(images: int, difference: float, disagreement: float, *, alpha: float = 0.05) -> float:
    """Return the power of McNemar's exact test, over all outcomes or about 1,000 evenly spaced ones."""
    _check(difference, disagreement)
    check_shares(alpha=alpha)
    check_images(images)
    share = (1 + abs(difference) / disagreement) / 2  # of the discordant images that the better model has right
    totals = likely_counts(images, disagreement)
    totals = totals[:: len(totals) // _TOTALS * 2 + 1]  # an odd step: odd and even totals differ a little
    weights = binomial(totals, images, disagreement)
    return float(weights @ _rejection(totals, share, alpha) / weights.sum())


def smallest_difference(images: int, disagreement: float, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the smallest true difference detectable with this power; the inverse of `images_for_difference`.

    Raises if not even a difference as large as the disagreement is detectable.
    """
    _check(disagreement, disagreement)
    check_shares(power=power, alpha=alpha)
    check_images(images)
    difference = float(detectable_difference(images, disagreement, power=power, alpha=alpha))
    if math.isnan(difference):
        raise UndefinedError(f"{images} images are too few to detect any difference at {disagreement:.1%} disagreement")
    return difference


def needed_images(difference: ArrayLike, disagreement: ArrayLike, *, power: float, alpha: ArrayLike) -> FloatArray:
    """`images_for_difference` for arrays that broadcast, without validation; NaN where the difference is 0."""
    d, share = np.abs(np.asarray(difference, dtype=np.float64)), np.asarray(disagreement, dtype=np.float64)
    b = _test_quantile(alpha) * np.sqrt(share) + special.ndtri(power) * np.sqrt(share - d**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = (b + np.sqrt(b**2 + 4 * d)) / (2 * d)  # solves n d - 1 = b sqrt(n) for sqrt(n)
        return np.where(d > 0, np.ceil(root**2), np.nan)


def approximate_power(
    images: ArrayLike, difference: ArrayLike, disagreement: ArrayLike, *, alpha: ArrayLike
) -> FloatArray:
    """The approximate power used by `needed_images`, without validation; disagreements must be above 0."""
    n, d = np.asarray(images, dtype=np.float64), np.abs(np.asarray(difference, dtype=np.float64))
    share = np.asarray(disagreement, dtype=np.float64)
    excess = n * d - 1 - _test_quantile(alpha) * np.sqrt(n * share)
    return special.ndtr(excess / np.sqrt(n * np.maximum(share - d**2, 1e-300)))


def detectable_difference(images: ArrayLike, disagreement: ArrayLike, *, power: float, alpha: ArrayLike) -> FloatArray:
    """`smallest_difference` for arrays that broadcast, without validation; NaN where there is none."""
    n, share = np.asarray(images, dtype=np.float64), np.asarray(disagreement, dtype=np.float64)
    significant = (1 + _test_quantile(alpha) * np.sqrt(n * share)) / n
    z = float(special.ndtri(power))
    part = z**2 / n
    # solve (d - significant)^2 = part (share - d^2); above 50 % power take the larger root
    square = part * (share * (1 + part) - significant**2)
    difference = (significant + math.copysign(1, z) * np.sqrt(np.maximum(square, 0.0))) / (1 + part)
    return np.where((square >= 0) & (difference <= share), difference, np.nan)


def _test_quantile(alpha: ArrayLike) -> FloatArray:
    return -special.ndtri(np.asarray(alpha, dtype=np.float64) / 2)


def _check(difference: float, disagreement: float) -> None:
    if difference == 0:
        raise UndefinedError("a difference of 0 cannot be detected with any number of images")
    if not abs(difference) <= disagreement <= 1:
        raise InputError(
            f"disagreement must lie between the difference ({abs(difference):g}) and 1, got {disagreement:g}"
        )


def check_shares(**shares: float) -> None:
    """Raise if a share is not strictly between 0 and 1."""
    for name, value in shares.items():
        if not 0 < value < 1:
            raise InputError(f"{name} must lie between 0 and 1, got {value}")


def check_images(images: int) -> None:
    """Raise if there are no images."""
    if images < 1:
        raise UndefinedError(f"a plan needs at least one image, got {images}")


def likely_counts(images: int, rate: float) -> IntArray:
    """Return counts within eight standard deviations of the mean; the rest has probability below 1e-14."""
    width = 8 * math.sqrt(images * rate * (1 - rate)) + 8
    center = images * rate
    return np.arange(max(0, math.floor(center - width)), min(images, math.ceil(center + width)) + 1)


def binomial(k: IntArray, n: int, rate: float) -> FloatArray:
    """Return the binomial probabilities of counts ``k`` (c,) among n trials."""
    log = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.exp(log + special.xlogy(k, rate) + special.xlog1py(n - k, -rate))


def _rejection(totals: IntArray, share: float, alpha: float) -> FloatArray:
    """The probability that the exact test rejects, for each number of discordant images."""
    losses = _most_losses(totals, alpha)
    k, n = np.maximum(losses, 0), np.maximum(totals, 1)
    winning = special.betainc(n - k, k + 1.0, share)  # P(wins >= n - k)
    beaten = special.betaincc(k + 1.0, n - k, share)  # P(wins <= k)
    return np.where(losses >= 0, winning + beaten, 0.0)


def _most_losses(totals: IntArray, alpha: float) -> IntArray:
    """The largest number of losses among the discordant images that is significant; -1 if none is."""
    low, high = np.full(totals.shape, -1), totals // 2 + 1
    while (undecided := high - low > 1).any():
        middle = np.where(undecided, (low + high) // 2, 0)
        significant = mcnemar_exact(middle, totals - middle) <= alpha
        low = np.where(undecided & significant, middle, low)
        high = np.where(undecided & ~significant, middle, high)
    return low
