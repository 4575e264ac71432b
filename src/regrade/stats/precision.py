"""How many images it takes to know an accuracy to a given half-width."""

from __future__ import annotations

import bisect
from collections.abc import Callable

import numpy as np
from scipy import special

from regrade.core.errors import InputError
from regrade.stats.intervals import exact_bounds
from regrade.stats.power import check_images, check_shares

_MOST = 10**10  # images; no plan needs more


def half_width_power(images: int, accuracy: float, half_width: float, *, confidence: float = 0.95) -> float:
    """The chance that the Clopper-Pearson interval of a true ``accuracy`` has at most this half-width.

    That is half the length of the interval. Computed exactly: the interval is longest at one half.
    """
    check_images(images)
    check_shares(half_width=half_width)
    _check_accuracy(accuracy)
    least = _least_right(images, half_width, confidence)
    if 2 * least <= images:
        return 1.0
    if least > images:
        return 0.0
    above = special.bdtrc(least - 1, images, accuracy)  # at least so many right
    below = special.bdtr(images - least, images, accuracy)  # at least so many wrong
    return float(min(above + below, 1.0))


def images_for_half_width(accuracy: float, half_width: float, *, power: float = 0.8, confidence: float = 0.95) -> int:
    """Images for the Clopper-Pearson interval to be as short as ``half_width`` with this power; 0.5 needs the most.

    >>> images_for_half_width(0.5, 0.01), images_for_half_width(0.8, 0.01)
    (9701, 6341)
    """
    check_shares(half_width=half_width, power=power)
    _check_accuracy(accuracy)
    return fewest_images(lambda n: half_width_power(n, accuracy, half_width, confidence=confidence) >= power)


def fewest_images(enough: Callable[[int], bool]) -> int:
    """The smallest number of images that is enough, if more images are enough too; more than 10 billion raise."""
    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST:
            raise InputError(f"more than {_MOST:,} images would be needed: plan for less")
    return bisect.bisect_left(range(high), True, lo=max(high // 2, 1), key=enough)


def _least_right(images: int, half_width: float, confidence: float) -> int:
    """The least count of right images, from half of them up, whose interval is short enough; else one too many."""

    def short(right: int) -> bool:
        bounds = exact_bounds(np.array(right), np.array(images), confidence=confidence)
        return float(bounds.high - bounds.low) / 2 <= half_width

    return bisect.bisect_left(range(images + 1), True, lo=images // 2, key=short)


def _check_accuracy(accuracy: float) -> None:
    if not 0 <= accuracy <= 1:
        raise InputError(f"an accuracy must lie between 0 and 1, got {accuracy:g}")
