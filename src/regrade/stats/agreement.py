"""Agreement between people on classes: pairwise agreement, Fleiss' kappa and Krippendorff's alpha."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import special

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, normal_quantile, tail_share
from regrade.stats.means import clustered_proportion

_PSEUDO_IMAGES = 2.5  # added at 90% and above; with more or fewer, coverage for skewed classes drops in simulations
_LEAST_CONFIDENCE = 0.8  # below, skewed classes are covered too rarely: 0.61 at 68%, 0.13 at 50%


def pairwise_agreement(answers: IntArray, *, confidence: float = 0.95) -> Estimate:
    """Return the share of equal answers among all pairs of answers to the same image.

    ``answers`` (people, n) holds classes, -1 where a person did not answer. The Korn-Graubard interval is over images.
    Raises `UndefinedError` if fewer than two images have two answers.
    """
    _check(answers)
    pairs = combinations(answers, 2)
    compared = [(np.flatnonzero((first >= 0) & (second >= 0)), first == second) for first, second in pairs]
    images = np.concatenate([both for both, _ in compared])
    if len(np.unique(images)) < 2:
        raise UndefinedError("agreement needs two images or more that two people answered")
    equal = np.concatenate([same[both] for both, same in compared])
    estimate = clustered_proportion(equal, images, confidence=confidence)[0]
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
    half_width = special.stdtrit(n - 1, 1 - tail_share(confidence)) * error
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
