"""Power and sample size: to tell two models or groups apart, and to estimate an accuracy with a given half-width."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, TooManyImages, UndefinedError
from regrade.stats.independent import independent_difference
from regrade.stats.intervals import exact_bounds, tail_share
from regrade.stats.paired import mcnemar_exact, score_variance

MAX_IMAGES = 10**10
"""Plans with more images raise."""

_COUNTS = 2000  # with more possible counts, only a subset is evaluated


def independent_disagreement(first: float, second: float) -> float:
    """Return the share of images on which exactly one of two models is right, if they err independently."""
    if not (0 <= first <= 1 and 0 <= second <= 1):
        raise InputError(f"accuracies must lie between 0 and 1, got {first:g} and {second:g}")
    return first * (1 - second) + second * (1 - first)


def images_for_difference(difference: float, disagreement: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Return the number of images McNemar's exact test needs to detect a true ``difference`` of accuracies.

    ``disagreement`` is the share of images on which exactly one of the two models is right: measure it, or use
    `independent_disagreement` as a conservative guess. A difference of 0 and more than 10 billion images raise. Uses
    Connor's formula (1987) with a continuity correction; `mcnemar_power` computes the exact power.

    >>> images_for_difference(0.01, 0.10)
    8046
    """
    _check(difference, disagreement)
    check_shares(power=power, alpha=alpha)
    return within_limit(float(needed_images(difference, disagreement, power=power, alpha=alpha)))


def mcnemar_power(images: int, difference: float, disagreement: float, *, alpha: float = 0.05) -> float:
    """Return the power of McNemar's exact test, over all outcomes or about 1,000 evenly spaced ones."""
    _check(difference, disagreement)
    check_shares(alpha=alpha)
    check_images(images)
    share = (1 + abs(difference) / disagreement) / 2  # of the discordant images that the better model has right
    totals = _thinned(likely_counts(images, disagreement))
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
    b = _test_quantile(alpha) * np.sqrt(share) + scipy.special.ndtri(power) * np.sqrt(share - d**2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = (b + np.sqrt(b**2 + 4 * d)) / (2 * d)  # solves n d - 1 = b sqrt(n) for sqrt(n)
        return np.where(d > 0, np.ceil(root**2), np.nan)


def images_for_margin(
    difference: float, disagreement: float, margin: float, *, power: float = 0.8, alpha: float = 0.05
) -> int | None:
    """Return the images needed to show that a difference is above ``-margin``, by a one-sided paired score test.

    ``difference`` and ``disagreement`` are the true difference and the share of images on which exactly one of the two
    models is right; 0 is allowed for both. None if the difference is not above ``-margin``, or if more than 10 billion
    images are needed. Approximate, with the continuity correction of `corrected_difference`.

    >>> images_for_margin(0.0, 0.10, 0.01)
    6414
    """
    check_shares(power=power, alpha=alpha)
    excess = difference + margin
    if excess <= 0:
        return None
    gained, lost = (disagreement + difference) / 2, (disagreement - difference) / 2
    at_margin = float(score_variance(-margin, *map(np.asarray, (gained, lost, 1.0))))
    z = [-float(scipy.special.ndtri(tail)) for tail in (alpha, 1 - power)]
    b = z[0] * math.sqrt(at_margin) + z[1] * math.sqrt(max(disagreement - difference**2, 0.0))
    return _corrected_images(excess, b, correction=1.0)


def images_for_share(share: float, threshold: float, *, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """Return the images needed to show that a true ``share`` is above ``threshold``, by a one-sided exact interval.

    None if the share is not above the threshold, or if more than 10 billion images are needed. Approximate: the normal
    distribution with a continuity correction, and exactly for a share of 1.

    >>> images_for_share(0.80, 0.75), images_for_share(1.0, 0.99)
    (460, 299)
    """
    check_shares(power=power, alpha=alpha)
    excess = share - threshold
    if excess <= 0:
        return None
    if share == 1:
        return math.ceil(math.log(alpha) / math.log(threshold)) if threshold > 0 else 1
    z = [-float(scipy.special.ndtri(tail)) for tail in (alpha, 1 - power)]
    b = z[0] * math.sqrt(threshold * (1 - threshold)) + z[1] * math.sqrt(share * (1 - share))
    return _corrected_images(excess, b, correction=0.5)


def _corrected_images(excess: float, b: float, *, correction: float) -> int | None:
    """The smallest n with n excess - correction = b sqrt(n); None above the limit."""
    images = ((b + math.sqrt(b**2 + 4 * correction * excess)) / (2 * excess)) ** 2
    return math.ceil(images) if images <= MAX_IMAGES else None


def approximate_power(
    images: ArrayLike, difference: ArrayLike, disagreement: ArrayLike, *, alpha: ArrayLike
) -> FloatArray:
    """The approximate power used by `needed_images`, without validation; disagreements must be above 0."""
    n, d = np.asarray(images, dtype=np.float64), np.abs(np.asarray(difference, dtype=np.float64))
    share = np.asarray(disagreement, dtype=np.float64)
    excess = n * d - 1 - _test_quantile(alpha) * np.sqrt(n * share)
    return scipy.special.ndtr(excess / np.sqrt(n * np.maximum(share - d**2, 1e-300)))


def detectable_difference(images: ArrayLike, disagreement: ArrayLike, *, power: float, alpha: ArrayLike) -> FloatArray:
    """`smallest_difference` for arrays that broadcast, without validation; NaN where there is none."""
    n, share = np.asarray(images, dtype=np.float64), np.asarray(disagreement, dtype=np.float64)
    significant = (1 + _test_quantile(alpha) * np.sqrt(n * share)) / n
    z = float(scipy.special.ndtri(power))
    part = z**2 / n
    # solve (d - significant)^2 = part (share - d^2); above 50 % power take the larger root
    square = part * (share * (1 + part) - significant**2)
    difference = (significant + math.copysign(1, z) * np.sqrt(np.maximum(square, 0.0))) / (1 + part)
    return np.where((square >= 0) & (difference <= share), difference, np.nan)


def _test_quantile(alpha: ArrayLike) -> FloatArray:
    return -scipy.special.ndtri(np.asarray(alpha, dtype=np.float64) / 2)


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
    """Raise if there are no images, or more than 10 billion."""
    if images < 1:
        raise UndefinedError(f"a plan needs at least one image, got {images}")
    if images > MAX_IMAGES:
        raise InputError(f"a plan is computed for at most {MAX_IMAGES:,} images, got {images:,}")


def within_limit(images: float) -> int:
    """Return a number of images as an integer; more than 10 billion raises."""
    if images > MAX_IMAGES:
        raise TooManyImages(MAX_IMAGES)
    return int(images)


def likely_counts(images: int, rate: float) -> IntArray:
    """Return counts within eight standard deviations of the mean; the rest has probability below 1e-14."""
    width = 8 * math.sqrt(images * rate * (1 - rate)) + 8
    center = images * rate
    return np.arange(max(0, math.floor(center - width)), min(images, math.ceil(center + width)) + 1)


def _thinned(counts: IntArray) -> IntArray:
    """About 1,000 evenly spaced ones of many counts; by an odd step, because odd and even counts differ a little."""
    return counts[:: len(counts) // _COUNTS * 2 + 1]


def binomial(k: IntArray, n: int, rate: float) -> FloatArray:
    """Return the binomial probabilities of counts ``k`` (c,) among n trials."""
    log = scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1)
    return np.exp(log + scipy.special.xlogy(k, rate) + scipy.special.xlog1py(n - k, -rate))


def at_most(k: ArrayLike, n: int, rate: float) -> FloatArray:
    """Return the probabilities of at most ``k`` successes among n trials; `scipy.special.bdtr` is NaN for n > 2**31."""
    counts = np.asarray(k, dtype=np.float64)
    inner = np.clip(counts, 0, n - 1)
    return np.where(counts < 0, 0.0, np.where(counts >= n, 1.0, scipy.special.betaincc(inner + 1, n - inner, rate)))


def _rejection(totals: IntArray, share: float, alpha: float) -> FloatArray:
    """The probability that the exact test rejects, for each number of discordant images."""
    losses = _most_losses(totals, alpha)
    k, n = np.maximum(losses, 0), np.maximum(totals, 1)
    winning = scipy.special.betainc(n - k, k + 1.0, share)  # P(wins >= n - k)
    beaten = scipy.special.betaincc(k + 1.0, n - k, share)  # P(wins <= k)
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
    above = 1 - at_most(least - 1, images, accuracy)  # P(right >= least)
    below = at_most(images - least, images, accuracy)  # P(wrong >= least)
    return min(float(above + below), 1.0)


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
        if high == MAX_IMAGES:
            raise TooManyImages(MAX_IMAGES)
        high = min(2 * high, MAX_IMAGES)
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
    over all outcomes, or about 1,000 evenly spaced counts of the first group.
    """
    for images in (first_images, second_images):
        check_images(images)
    _check_disparity(first, second)
    strict = 1 - 2 * tail_share(confidence) / comparisons
    right = _thinned(likely_counts(first_images, first))
    most = _most_right(right, first_images, second_images, strict)
    below = at_most(most, second_images, second)
    weights = binomial(right, first_images, first)
    return float(weights @ below / weights.sum())


def images_per_group(
    first: float, second: float, *, power: float = 0.8, comparisons: int = 1, confidence: float = 0.95
) -> int:
    """Return the images needed in each of two groups for `disparity_power` to reach ``power``.

    >>> images_per_group(0.80, 0.75)
    1092
    """
    check_shares(power=power)
    _check_disparity(first, second)

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
    while high - low > min(1e-5, 1e-3 * high):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _check_disparity(first: float, second: float) -> None:
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
