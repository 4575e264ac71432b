"""Agreement: of people on classes (pairwise, Fleiss, Krippendorff), and of two models' correctness (Cohen's kappa)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.clustered_pairs import clustered_share
from regrade.stats.influence import effective_sizes
from regrade.stats.intervals import Intervals, as_counts, method_name, normal_quantile, tail_share

_PSEUDO_IMAGES = 2.5  # added at 90% and above; with more or fewer, coverage for skewed classes drops in simulations
_LARGEST_COVARIANCE = 0.25  # of two models with an accuracy of one half each
_LEAST_CONFIDENCE = 0.8  # below, skewed classes are covered too rarely: 0.61 at 68%, 0.13 at 50%


def pairwise_agreement(answers: IntArray, clusters: ArrayLike | None = None, *, confidence: float = 0.95) -> Estimate:
    """Return the share of equal answers among all pairs of answers to the same image.

    ``answers`` (people, n) holds classes, -1 where a person did not answer. The Korn-Graubard interval is over images,
    or over ``clusters`` (n,) of them. Raises `UndefinedError` if fewer than two images have two answers.
    """
    _check(answers)
    pairs = combinations(answers, 2)
    compared = [(np.flatnonzero((first >= 0) & (second >= 0)), first == second) for first, second in pairs]
    images = np.concatenate([both for both, _ in compared])
    if len(np.unique(images)) < 2:
        raise UndefinedError("agreement needs two images or more that two people answered")
    equal = np.concatenate([same[both] for both, same in compared])
    units = images if clusters is None else np.asarray(clusters)[images]
    estimate = clustered_share(equal, units, confidence=confidence)
    return Estimate(estimate.value, estimate.low, estimate.high, len(np.unique(images)), estimate.method)


def fleiss_kappa(answers: IntArray, *, confidence: float = 0.95) -> Estimate:
    """Return Fleiss' kappa, the agreement beyond chance, for ``answers`` (people, n) without gaps (Fleiss 1971).

    Chance agreement assumes that all answers are drawn from one pool. The interval is over images: delta method with
    Student's t, after adding 2.5 pseudo-images spread evenly over the classes that occur, half of them with full
    agreement and half with none. It therefore has a width even if nobody disagrees, and it contains the sample's kappa.
    At 95% its coverage is at least 0.93 with 5 or more images, 2 to 5 people, 2 to 4 classes and up to 95% of the
    answers in one class, and up to 0.99 with 10 images. At 80%, 90% and 99% it is at least 0.74, 0.87 and 0.96.
    Raises below 80%, where skewed classes are covered too rarely (0.61 at 68%, 0.13 at 50%), if an answer is missing
    (-1), or if all answers are the same class, where kappa is undefined.

    >>> round(fleiss_kappa(np.array([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 0]])).value, 3)
    0.745
    """
    _check(answers)
    if (answers < 0).any():
        raise InputError("Fleiss' kappa needs every person's answer to every image; krippendorff_alpha allows gaps")
    counts = _counts(answers)
    expected = 1 - float((counts.shares**2).sum())
    return _beyond_chance(counts, expected, "fleiss", confidence)


def krippendorff_alpha(answers: IntArray, *, confidence: float = 0.95) -> Estimate:
    """Return Krippendorff's alpha for nominal ``answers`` (people, n), -1 where missing (Krippendorff 2004).

    Images with fewer than two answers are ignored. Chance agreement assumes that two answers are drawn from the pool
    without replacement. The interval and the undefined cases are those of `fleiss_kappa`.
    """
    _check(answers)
    counts = _counts(answers[:, (answers >= 0).sum(axis=0) >= 2])
    total = counts.sizes.sum()
    expected = 1 - float((counts.shares * (counts.shares * total - 1)).sum() / (total - 1))
    return _beyond_chance(counts, expected, "krippendorff", confidence)


@dataclass(frozen=True)
class _Counts:
    """Sufficient statistics of the answers to n images.

    ``sizes`` (n,) is the number of answers per image and ``apart`` (n,) their disagreement, from 0 to ``sizes``.
    ``shares`` is the share of each class among all answers and ``usual`` (n,) the sum of the shares of an image's
    answers.
    """

    sizes: FloatArray
    apart: FloatArray
    shares: FloatArray
    usual: FloatArray

    @property
    def disagreement(self) -> float:
        return float(self.apart.sum() / self.sizes.sum())


def _counts(answers: IntArray) -> _Counts:
    people, images = np.nonzero(answers >= 0)
    if not images.size or answers.shape[1] < 2:
        raise UndefinedError("agreement needs two images or more that two people answered")
    classes, class_index = np.unique(answers[people, images], return_inverse=True)
    pairs, times = np.unique(images * len(classes) + class_index, return_counts=True)
    place = pairs // len(classes)
    sizes = np.bincount(images, minlength=answers.shape[1]).astype(np.float64)
    equal = np.bincount(place, weights=times * (times - 1), minlength=len(sizes)) / (sizes - 1)
    shares = np.bincount(class_index) / len(class_index)
    usual: FloatArray = np.bincount(images, weights=shares[class_index], minlength=len(sizes)).astype(np.float64)
    return _Counts(sizes, sizes - equal, shares, usual)


def _beyond_chance(counts: _Counts, expected: float, name: str, confidence: float) -> Estimate:
    """1 - observed / expected disagreement; the interval is computed with pseudo-images added."""
    if confidence < _LEAST_CONFIDENCE:
        raise InputError(f"intervals of kappa and alpha need a confidence of at least 0.8, got {confidence}")
    if len(counts.shares) < 2:
        raise UndefinedError("all answers are of one class: chance explains all agreement")
    n = len(counts.sizes)
    value = 1 - counts.disagreement / expected
    scale = (1 - float((counts.shares**2).sum())) / expected  # chance with or without replacement
    added = _PSEUDO_IMAGES * min(1.0, normal_quantile(confidence) / normal_quantile(0.9))
    ratio, error = _adjusted(counts, added)
    half_width = scipy.special.stdtrit(n - 1, 1 - tail_share(confidence)) * error
    low, high = (1 - scale * (ratio + side * half_width) for side in (1, -1))
    method = method_name(f"{name}, adjusted delta", confidence)
    return Estimate(value, max(min(low, value), -1.0), min(max(high, value), 1.0), n, method)


def _adjusted(counts: _Counts, added: float) -> tuple[float, float]:
    """Observed / expected disagreement and its standard error, with ``added`` pseudo-images.

    Half of them agree on one class, each class equally often; in the other half all classes are equally frequent.
    """
    n, mean_size, classes = len(counts.sizes), counts.sizes.mean(), len(counts.shares)
    shares = (n * counts.shares + added / classes) / (n + added)
    usual = (n * counts.usual + added / classes * counts.sizes) / (n + added)
    observed = (n * counts.disagreement + added / 2) / (n + added)
    equal = float((shares**2).sum())
    ratio = observed / (1 - equal)

    def influence(apart: FloatArray | float, likely: FloatArray | float) -> FloatArray:
        return np.asarray(apart - observed + 2 * ratio * (likely - equal))

    # an image's weight is its number of answers
    squares = ((counts.sizes * influence(counts.apart / counts.sizes, usual / counts.sizes)) ** 2).sum() / mean_size**2
    squares += added / 2 * ((influence(0.0, shares) ** 2).mean() + float(influence(1.0, 1 / classes)) ** 2)
    return ratio, float(np.sqrt(squares) / ((n + added) * (1 - equal)))


def _check(answers: IntArray) -> None:
    if answers.ndim != 2 or len(answers) < 2:
        raise UndefinedError(f"agreement needs answers (people, images) of two people or more, got {answers.shape}")


def kappa_interval(
    both: ArrayLike,
    only_first: ArrayLike,
    only_second: ArrayLike,
    images: ArrayLike,
    *,
    worth: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Intervals:
    """Return intervals for Cohen's kappa of two models' correctness, from counts of any shapes that broadcast.

    ``both`` counts the images that both have right. Center and variance (Fleiss, Cohen and Everitt 1969) are computed
    from a table with z^2 / 4 images added to each of its four cells, because the plain variance is 0 for models that
    never differ. The interval contains the sample's kappa. At 95% its coverage is at least 0.93 with 20 or more images
    at any accuracy, and at least 0.89 with 10. NaN where both models are always right or both always wrong. ``worth``
    is the number of independent images that clustered images are worth, see `kappa_sizes`; 0 gives [-1, 1].

    >>> bounds = kappa_interval(40, 10, 5, 100)
    >>> round(float(bounds.low), 2), round(float(bounds.high), 2)
    (0.53, 0.82)
    """
    table = _table(both, only_first, only_second, images)
    wider = table.worth(worth).widened(confidence)
    bounds = _around(wider.kappa, wider.spread(wider.kappa_influence()), confidence)
    return _containing(table.kappa, bounds, worth, largest=1.0)


def covariance_interval(
    both: ArrayLike,
    only_first: ArrayLike,
    only_second: ArrayLike,
    images: ArrayLike,
    *,
    worth: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Intervals:
    """Return intervals for the covariance of correctness, P(both right) - P(first right) P(second right).

    Constructed as in `kappa_interval`, and always defined. At 95% its coverage is at least 0.93 with 50 or more images.
    ``worth`` is as in `kappa_interval`, see `covariance_sizes`.
    """
    table = _table(both, only_first, only_second, images)
    wider = table.worth(worth).widened(confidence)
    bounds = _around(wider.covariance, wider.spread(wider.covariance_influence()), confidence)
    return bounds if worth is None else _containing(table.covariance, bounds, worth, largest=_LARGEST_COVARIANCE)


def _containing(values: FloatArray, bounds: Intervals, worth: ArrayLike | None, *, largest: float) -> Intervals:
    """Bounds within the limits; those of clustered images contain the value, and are the limits if they say nothing."""
    low, high = np.maximum(bounds.low, -largest), np.minimum(bounds.high, largest)
    if worth is not None:
        nothing = np.asarray(worth) <= 0
        low = np.where(nothing, -largest, np.minimum(low, values))
        high = np.where(nothing, largest, np.maximum(high, values))
    undefined = np.isnan(values)
    return Intervals(np.where(undefined, np.nan, low), np.where(undefined, np.nan, high))


def kappa_sizes(correct: BoolArray, clusters: ArrayLike, *, confidence: float = 0.95) -> FloatArray:
    """Shape (m, m): the independent images that images in ``clusters`` (n,) are worth to each pair's kappa.

    ``correct`` (m, n) is the correctness of the models; the sizes are those of the influence of each image.
    """
    return _pair_sizes(correct, clusters, _Table.kappa_influence, confidence)


def covariance_sizes(correct: BoolArray, clusters: ArrayLike, *, confidence: float = 0.95) -> FloatArray:
    """Shape (m, m): as `kappa_sizes`, to the covariance of the correctness of each pair."""
    return _pair_sizes(correct, clusters, _Table.covariance_influence, confidence)


def _pair_sizes(
    correct: BoolArray, clusters: ArrayLike, influence: Callable[[_Table], list[FloatArray]], confidence: float
) -> FloatArray:
    models, images = correct.shape
    sizes = np.full((models, models), float(images))
    for place, row in enumerate(correct[:-1]):
        rest = correct[place + 1 :]
        both, second = (row & rest).sum(axis=1), rest.sum(axis=1)
        table = _table(both, int(row.sum()) - both, second - both, images)
        with np.errstate(divide="ignore", invalid="ignore"):
            of_cells = np.nan_to_num(np.stack(influence(table), axis=1))  # 0 where kappa is undefined
        cells = 3 - 2 * row - rest  # both, only the first, only the second, neither
        of_images = np.take_along_axis(of_cells, cells, axis=1)
        own = effective_sizes(of_images, clusters, upper=1 - tail_share(confidence))
        sizes[place, place + 1 :] = sizes[place + 1 :, place] = own
    return sizes


@dataclass(frozen=True)
class _Table:
    """Shares of the images that both, only one and neither of two models have right, and the number of images."""

    both: FloatArray
    only_first: FloatArray
    only_second: FloatArray
    neither: FloatArray
    images: FloatArray

    @property
    def cells(self) -> tuple[tuple[FloatArray, int, int], ...]:
        """Each share with the correctness (0 or 1) of the first and of the second model."""
        return (self.both, 1, 1), (self.only_first, 1, 0), (self.only_second, 0, 1), (self.neither, 0, 0)

    @property
    def first(self) -> FloatArray:
        return self.both + self.only_first

    @property
    def second(self) -> FloatArray:
        return self.both + self.only_second

    @property
    def covariance(self) -> FloatArray:
        return self.both * self.neither - self.only_first * self.only_second

    @property
    def chance(self) -> FloatArray:
        """Expected disagreement of independent models with these accuracies."""
        return self.first * (1 - self.second) + self.second * (1 - self.first)

    @property
    def kappa(self) -> FloatArray:
        undefined = (self.both == 1) | (self.neither == 1)
        return np.where(undefined, np.nan, 2 * self.covariance / np.where(undefined, 1.0, self.chance))

    def worth(self, images: ArrayLike | None) -> _Table:
        """The same shares, of so many images; of as many as counted for None."""
        return self if images is None else replace(self, images=np.asarray(images, dtype=np.float64))

    def widened(self, confidence: float) -> _Table:
        """The table with z^2 / 4 images added to each cell."""
        more = normal_quantile(confidence) ** 2 / 4
        images = self.images + 4 * more
        both, only_first, only_second, neither = ((share * self.images + more) / images for share, _, _ in self.cells)
        return _Table(both, only_first, only_second, neither, images)

    def covariance_influence(self) -> list[FloatArray]:
        """Influence of an image of each cell on the covariance."""
        return [(x - self.first) * (y - self.second) - self.covariance for _, x, y in self.cells]

    def kappa_influence(self) -> list[FloatArray]:
        """Influence of an image of each cell on kappa, which is 2 covariance / chance."""
        on_chance = [
            (x - self.first) * (1 - 2 * self.second) + (y - self.second) * (1 - 2 * self.first)
            for _, x, y in self.cells
        ]
        pairs = zip(self.covariance_influence(), on_chance, strict=True)
        return [(2 * numerator - self.kappa * denominator) / self.chance for numerator, denominator in pairs]

    def spread(self, influence: list[FloatArray]) -> FloatArray:
        """The standard error of a quantity with this influence, by the delta method."""
        squares = (share * value**2 for (share, _, _), value in zip(self.cells, influence, strict=True))
        return np.sqrt(sum(squares, start=np.zeros(())) / self.images)


def _table(both: ArrayLike, only_first: ArrayLike, only_second: ArrayLike, images: ArrayLike) -> _Table:
    counts = as_counts(both, only_first, only_second, images)
    _check_table(*counts)
    a, b, c, n = (count.astype(np.float64) for count in counts)
    return _Table(a / n, b / n, c / n, (n - a - b - c) / n, n)


def _check_table(both: IntArray, only_first: IntArray, only_second: IntArray, images: IntArray) -> None:
    if (images <= 0).any():
        raise UndefinedError("the similarity of models needs at least one image, got 0")
    if (
        min(count.min(initial=0) for count in (both, only_first, only_second)) < 0
        or (both + only_first + only_second > images).any()
    ):
        raise InputError("counts of images must be at least 0 and sum to at most the number of images")


def _around(center: FloatArray, spread: FloatArray, confidence: float) -> Intervals:
    """Normal intervals around the center with standard error ``spread``."""
    half_width = normal_quantile(confidence) * spread
    return Intervals(center - half_width, center + half_width)
