"""How many images per group it takes to show that two groups differ in accuracy."""

from __future__ import annotations

import numpy as np
from scipy import special

from regrade.core.arrays import BoolArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.stats.independent import independent_difference
from regrade.stats.intervals import tail_share
from regrade.stats.power import binomial, check_images, check_shares, likely_counts
from regrade.stats.precision import fewest_images


def ordered_pairs(groups: int) -> int:
    """How many differences there are where the best and the worst of so many groups are picked after the fact."""
    if groups < 2:
        raise UndefinedError(f"a disparity needs at least two groups, got {groups}")
    return groups * (groups - 1)


def disparity_power(
    first_images: int,
    second_images: int,
    first: float,
    second: float,
    *,
    comparisons: int = 1,
    confidence: float = 0.95,
) -> float:
    """The chance to show that a group of accuracy ``first`` is above one of accuracy ``second``, on other images.

    It is shown where Newcombe's interval of the difference is above 0, at a level divided by ``comparisons``: 1 for two
    groups named beforehand, `ordered_pairs` for the best and the worst of several. Computed over all outcomes.
    """
    check_images(min(first_images, second_images))
    _check(first, second)
    strict = 1 - 2 * tail_share(confidence) / comparisons
    right = likely_counts(first_images, first)
    most = _most_right(right, first_images, second_images, strict)
    below = np.where(most >= 0, special.bdtr(np.maximum(most, 0).astype(np.float64), second_images, second), 0.0)
    return min(float(binomial(right, first_images, first) @ below), 1.0)


def images_per_group(
    first: float, second: float, *, power: float = 0.8, comparisons: int = 1, confidence: float = 0.95
) -> int:
    """Images in each of two groups for `disparity_power` to reach ``power``.

    >>> images_per_group(0.80, 0.75)
    1092
    """
    check_shares(power=power)
    _check(first, second)

    def enough(images: int) -> bool:
        reached = disparity_power(images, images, first, second, comparisons=comparisons, confidence=confidence)
        return reached >= power

    return fewest_images(enough)


def smallest_disparity(
    first_images: int,
    second_images: int,
    accuracy: float,
    *,
    power: float = 0.8,
    comparisons: int = 1,
    confidence: float = 0.95,
) -> float:
    """How far below ``accuracy`` the second group must be for its disparity to be shown with this power.

    It raises where even a group that is always wrong would not do.
    """
    check_shares(power=power)

    def enough(difference: float) -> bool:
        below = max(accuracy - difference, 0.0)
        reached = disparity_power(
            first_images, second_images, accuracy, below, comparisons=comparisons, confidence=confidence
        )
        return reached >= power

    if accuracy <= 0 or not enough(accuracy):
        raise UndefinedError(f"{first_images} and {second_images} images show no disparity below {accuracy:.1%}")
    low, high = 0.0, accuracy
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check(first: float, second: float) -> None:
    if not 0 <= second <= 1 or not 0 <= first <= 1:
        raise InputError(f"accuracies must lie between 0 and 1, got {first:g} and {second:g}")
    if second >= first:
        raise UndefinedError("no number of images shows a disparity where the first group is not above the second")


def _most_right(right: IntArray, first_images: int, second_images: int, confidence: float) -> IntArray:
    """Shape (c,): the most that the second group may have right for the first to be above it; -1 if nothing will do."""

    def above(count: IntArray) -> BoolArray:
        return independent_difference(right, first_images, count, second_images, confidence=confidence).low > 0

    low, high = np.full(right.shape, -1), np.full(right.shape, second_images + 1)
    while (open_ := high - low > 1).any():
        middle = np.where(open_, (low + high) // 2, 0)
        shown = above(middle)
        low = np.where(open_ & shown, middle, low)
        high = np.where(open_ & ~shown, middle, high)
    return low
