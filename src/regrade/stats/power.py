"""How many images it takes to tell two models apart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.stats.paired import mcnemar_exact

_TOTALS = 2000  # counts of discordant images beyond which only some of them are looked at


def independent_disagreement(first: float, second: float) -> float:
    """The share of images on which exactly one of two models is right, if they erred independently."""
    if not (0 <= first <= 1 and 0 <= second <= 1):
        raise InputError(f"accuracies must lie between 0 and 1, got {first:g} and {second:g}")
    return first * (1 - second) + second * (1 - first)


def images_to_tell_apart(difference: float, disagreement: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Images needed for McNemar's exact test to find a true ``difference`` of accuracies.

    ``disagreement`` is the share of images on which exactly one of the two is right: measure it, or
    take `independent_disagreement` as the pessimist's guess. No difference raises. Connor's formula (1987)
    with a continuity correction, as the exact test has one; `mcnemar_power` says what power is reached.

    >>> images_to_tell_apart(0.01, 0.10)
    8046
    """
    _check(difference, disagreement)
    check_shares(power=power, alpha=alpha)
    return int(needed_images(difference, disagreement, power=power, alpha=alpha))


def mcnemar_power(images: int, difference: float, disagreement: float, *, alpha: float = 0.05) -> float:
    """The chance that McNemar's exact test finds the difference, over all outcomes, or 1,000 of them spread evenly."""
    _check(difference, disagreement)
    check_shares(alpha=alpha)
    check_images(images)
    share = (1 + abs(difference) / disagreement) / 2  # of the discordant images, those the better model wins
    totals = likely_counts(images, disagreement)
    totals = totals[:: len(totals) // _TOTALS * 2 + 1]  # an odd step: odd and even totals differ a little
    weights = binomial(totals, images, disagreement)
    return float(weights @ _rejection(totals, share, alpha) / weights.sum())


def smallest_difference(images: int, disagreement: float, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest true difference that ``images`` images tell apart with this power: `images_to_tell_apart` inverted.

    It raises where even a difference as large as the disagreement would not be found.
    """
    _check(disagreement, disagreement)
    check_shares(power=power, alpha=alpha)
    check_images(images)
    difference = float(detectable_difference(images, disagreement, power=power, alpha=alpha))
    if math.isnan(difference):
        raise UndefinedError(f"{images} images cannot tell apart any two models that disagree on {disagreement:.1%}")
    return difference


def needed_images(difference: ArrayLike, disagreement: ArrayLike, *, power: float, alpha: ArrayLike) -> FloatArray:
    """`images_to_tell_apart` for arrays that broadcast, unchecked; not a number where there is no difference."""
    d, share = np.abs(np.asarray(difference, dtype=np.float64)), np.asarray(disagreement, dtype=np.float64)
    reach = _test_quantile(alpha) * np.sqrt(share) + special.ndtri(power) * np.sqrt(share - d**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = (reach + np.sqrt(reach**2 + 4 * d)) / (2 * d)  # of n: n d - 1 = sqrt(n) reach
        return np.where(d > 0, np.ceil(root**2), np.nan)


def approximate_power(
    images: ArrayLike, difference: ArrayLike, disagreement: ArrayLike, *, alpha: ArrayLike
) -> FloatArray:
    """The power that `needed_images` reckons with, for arrays that broadcast, unchecked; disagreements are above 0."""
    n, d = np.asarray(images, dtype=np.float64), np.abs(np.asarray(difference, dtype=np.float64))
    share = np.asarray(disagreement, dtype=np.float64)
    excess = n * d - 1 - _test_quantile(alpha) * np.sqrt(n * share)
    return special.ndtr(excess / np.sqrt(n * np.maximum(share - d**2, 1e-300)))


def detectable_difference(images: ArrayLike, disagreement: ArrayLike, *, power: float, alpha: ArrayLike) -> FloatArray:
    """`smallest_difference` for arrays that broadcast, unchecked; not a number where there is none."""
    n, share = np.asarray(images, dtype=np.float64), np.asarray(disagreement, dtype=np.float64)
    significant = (1 + _test_quantile(alpha) * np.sqrt(n * share)) / n
    z = float(special.ndtri(power))
    part = z**2 / n
    # (d - significant)^2 = part (share - d^2): above 50 % power the larger root
    square = part * (share * (1 + part) - significant**2)
    difference = (significant + math.copysign(1, z) * np.sqrt(np.maximum(square, 0.0))) / (1 + part)
    return np.where((square >= 0) & (difference <= share), difference, np.nan)


def _test_quantile(alpha: ArrayLike) -> FloatArray:
    return -special.ndtri(np.asarray(alpha, dtype=np.float64) / 2)


def _check(difference: float, disagreement: float) -> None:
    if difference == 0:
        raise UndefinedError("no number of images tells apart two models that are equally good")
    if not abs(difference) <= disagreement <= 1:
        raise InputError(
            f"disagreement must lie between the difference ({abs(difference):g}) and 1, got {disagreement:g}"
        )


def check_shares(**shares: float) -> None:
    """Raise unless every share lies between 0 and 1."""
    for name, value in shares.items():
        if not 0 < value < 1:
            raise InputError(f"{name} must lie between 0 and 1, got {value}")


def check_images(images: int) -> None:
    """Raise where there is no image."""
    if images < 1:
        raise UndefinedError(f"a plan needs at least one image, got {images}")


def likely_counts(images: int, rate: float) -> IntArray:
    """Counts within eight standard deviations: the rest weighs less than 1e-14."""
    reach = 8 * math.sqrt(images * rate * (1 - rate)) + 8
    center = images * rate
    return np.arange(max(0, math.floor(center - reach)), min(images, math.ceil(center + reach)) + 1)


def binomial(k: IntArray, n: int, rate: float) -> FloatArray:
    """The probabilities of counts k (c,) among n trials."""
    log = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.exp(log + special.xlogy(k, rate) + special.xlog1py(n - k, -rate))


def _rejection(totals: IntArray, share: float, alpha: float) -> FloatArray:
    """The chance that the exact test rejects, given how many images are discordant."""
    losses = _most_losses(totals, alpha)
    k, n = np.maximum(losses, 0), np.maximum(totals, 1)
    winning = special.betainc(n - k, k + 1.0, share)  # P(wins >= n - k)
    beaten = special.betaincc(k + 1.0, n - k, share)  # P(wins <= k)
    return np.where(losses >= 0, winning + beaten, 0.0)


def _most_losses(totals: IntArray, alpha: float) -> IntArray:
    """The largest count of losses among the discordant images that is still significant; -1 if none is."""
    low, high = np.full(totals.shape, -1), totals // 2 + 1
    while (open_ := high - low > 1).any():
        middle = np.where(open_, (low + high) // 2, 0)
        significant = mcnemar_exact(middle, totals - middle) <= alpha
        low = np.where(open_ & significant, middle, low)
        high = np.where(open_ & ~significant, middle, high)
    return low
