"""Sample size for estimating an accuracy with a given half-width."""

from __future__ import annotations

import bisect
from collections.abc import Callable

import numpy as np
from scipy import special

from regrade.core.errors import InputError
from regrade.stats.intervals import exact_bounds
from regrade.stats.power import check_images, check_shares

_MAX_IMAGES = 10**10


def half_width_power(images: int, accuracy: float, half_width: float, *, confidence: float = 0.95) -> float:
    """Return the probability that the Clopper-Pearson interval at a true ``accuracy`` has at most this half-width.

    The half-width is half the length of the interval. The probability is exact.
    """
    check_images(images)
    check_shares(half_width=half_width)
    _check_accuracy(accuracy)
    least = _least_right(images, half_width, confidence)
    if 2 * least <= images:
        return 1.0
    if least > images:
        return 0.0
    above = special.bdtrc(least - 1, images, accuracy)  # P(right >= least)
    below = special.bdtr(images - least, images, accuracy)  # P(wrong >= least)
    return float(min(above + below, 1.0))


def images_for_half_width(accuracy: float, half_width: float, *, power: float = 0.8, confidence: float = 0.95) -> int:
    """Return the images needed for a Clopper-Pearson ``half_width`` with this power; accuracy 0.5 needs the most.

    >>> images_for_half_width(0.5, 0.01), images_for_half_width(0.8, 0.01)
    (9701, 6341)
    """
    check_shares(half_width=half_width, power=power)
    _check_accuracy(accuracy)
    return fewest_images(lambda n: half_width_power(n, accuracy, half_width, confidence=confidence) >= power)


def fewest_images(enough: Callable[[int], bool]) -> int:
    """Return the smallest number of images that is ``enough`` (a monotone test); more than 10 billion raises."""
    high = 1
    while not enough(high):
        high *= 2
        if high > _MAX_IMAGES:
            raise InputError(f"more than {_MAX_IMAGES:,} images would be needed: relax the target")
    return bisect.bisect_left(range(high), True, lo=max(high // 2, 1), key=enough)


def _least_right(images: int, half_width: float, confidence: float) -> int:
    """The smallest count of right images, from images // 2 up, with a short enough interval; images + 1 if none."""

    def short(right: int) -> bool:
        bounds = exact_bounds(np.array(right), np.array(images), confidence=confidence)
        return float(bounds.high - bounds.low) / 2 <= half_width

    return bisect.bisect_left(range(images + 1), True, lo=images // 2, key=short)


def _check_accuracy(accuracy: float) -> None:
    if not 0 <= accuracy <= 1:
        raise InputError(f"an accuracy must lie between 0 and 1, got {accuracy:g}")
