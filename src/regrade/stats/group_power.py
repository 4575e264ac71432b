"""Power and sample size per group for showing that two groups differ in accuracy."""

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
    """Return the number of ordered pairs of groups: the comparisons when best and worst are picked from the data."""
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
    """Return the power to show that accuracy ``first`` of one group is above ``second`` of another.

    The groups have different images. The difference is shown if Newcombe's interval is above 0, at a level divided by
    ``comparisons``: 1 for two groups chosen in advance, `ordered_pairs` for the best and the worst of several. Computed
    exactly over all outcomes.
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
    """Return the images needed in each of two groups for `disparity_power` to reach ``power``.

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
    """Return the smallest gap below ``accuracy`` that is shown with this power.

    Raises if not even a group with accuracy 0 would be shown to be below.
    """
    check_shares(power=power)

    def enough(difference: float) -> bool:
        below = max(accuracy - difference, 0.0)
        reached = disparity_power(
            first_images, second_images, accuracy, below, comparisons=comparisons, confidence=confidence
        )
        return reached >= power

    if accuracy <= 0 or not enough(accuracy):
        raise UndefinedError(f"{first_images} and {second_images} images cannot show any gap below {accuracy:.1%}")
    low, high = 0.0, accuracy
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check(first: float, second: float) -> None:
    if not 0 <= second <= 1 or not 0 <= first <= 1:
        raise InputError(f"accuracies must lie between 0 and 1, got {first:g} and {second:g}")
    if second >= first:
        raise UndefinedError("the first accuracy must be above the second: otherwise there is no disparity to show")


def _most_right(right: IntArray, first_images: int, second_images: int, confidence: float) -> IntArray:
    """Shape (c,): largest count of right images in the second group that is shown to be below; -1 if none is."""

    def above(count: IntArray) -> BoolArray:
        return independent_difference(right, first_images, count, second_images, confidence=confidence).low > 0

    low, high = np.full(right.shape, -1), np.full(right.shape, second_images + 1)
    while (undecided := high - low > 1).any():
        middle = np.where(undecided, (low + high) // 2, 0)
        shown = above(middle)
        low = np.where(undecided & shown, middle, low)
        high = np.where(undecided & ~shown, middle, high)
    return low
