"""How many images it takes to tell two models apart."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.stats.paired import mcnemar


def independent_disagreement(first: float, second: float) -> float:
    """The share of images on which exactly one of two models is right, if they erred independently."""
    return first * (1 - second) + second * (1 - first)


def images_to_tell_apart(difference: float, disagreement: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Images needed for McNemar's test to find a true ``difference`` of accuracies (Connor 1987).

    ``disagreement`` is the share of images on which exactly one of the two is right: measure it, or
    take `independent_disagreement` as the pessimist's guess. No difference raises.

    >>> images_to_tell_apart(0.01, 0.10)
    7847
    """
    _check(difference, disagreement)
    _check_shares(power=power, alpha=alpha)
    return math.ceil(_images(difference, disagreement, power, alpha))


def mcnemar_power(images: int, difference: float, disagreement: float, *, alpha: float = 0.05) -> float:
    """The chance that McNemar's mid-p test finds the difference, computed exactly over all outcomes."""
    _check(difference, disagreement)
    _check_shares(alpha=alpha)
    _check_images(images)
    share = (1 + abs(difference) / disagreement) / 2  # of the discordant images, those the better model wins
    totals = _likely_counts(images, disagreement)
    return float(_binomial(totals, images, disagreement) @ _rejection(totals, share, alpha))


def smallest_difference(images: int, disagreement: float, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest true difference that ``images`` images tell apart with this power."""
    from scipy import optimize  # slow to import, and needed only here

    _check(disagreement, disagreement)
    _check_shares(power=power, alpha=alpha)
    _check_images(images)

    def shortfall(difference: float) -> float:
        return _images(difference, disagreement, power, alpha) - images

    if shortfall(disagreement) > 0:
        raise UndefinedError(f"{images} images cannot tell apart any two models that disagree on {disagreement:.1%}")
    return float(optimize.brentq(shortfall, disagreement * 1e-6, disagreement, xtol=1e-9))


def _images(difference: float, disagreement: float, power: float, alpha: float) -> float:
    z_test, z_power = special.ndtri(1 - alpha / 2), special.ndtri(power)
    reach = z_test * math.sqrt(disagreement) + z_power * math.sqrt(disagreement - difference**2)
    return float((reach / difference) ** 2)


def _check(difference: float, disagreement: float) -> None:
    if difference == 0:
        raise UndefinedError("no number of images tells apart two models that are equally good")
    if not abs(difference) <= disagreement <= 1:
        raise InputError(
            f"disagreement must lie between the difference ({abs(difference):g}) and 1, got {disagreement:g}"
        )


def _check_shares(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 < value < 1:
            raise InputError(f"{name} must lie between 0 and 1, got {value}")


def _check_images(images: int) -> None:
    if images < 1:
        raise UndefinedError(f"a comparison needs at least one image, got {images}")


def _likely_counts(images: int, rate: float) -> IntArray:
    """Counts within eight standard deviations: the rest weighs less than 1e-14."""
    reach = 8 * math.sqrt(images * rate * (1 - rate)) + 8
    centre = images * rate
    return np.arange(max(0, math.floor(centre - reach)), min(images, math.ceil(centre + reach)) + 1)


def _binomial(k: IntArray, n: int, rate: float) -> FloatArray:
    log = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.exp(log + special.xlogy(k, rate) + special.xlog1py(n - k, -rate))


def _rejection(totals: IntArray, share: float, alpha: float) -> FloatArray:
    """The chance that the mid-p test rejects, given how many images are discordant."""
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
        significant = mcnemar(middle, totals - middle).mid_p <= alpha
        low = np.where(open_ & significant, middle, low)
        high = np.where(open_ & ~significant, middle, high)
    return low
