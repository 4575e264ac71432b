"""How far people agree on classes: the share of equal answers, Fleiss' kappa and Krippendorff's alpha."""

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

_ADDED = 2.5  # imagined images from 90% on: with fewer or more, intervals of skewed classes cover less in simulations


def equal_answers(answers: IntArray, *, confidence: float = 0.95) -> Estimate:
    """The share of pairs of answers to the same image that are equal, from ``answers`` (people, n), -1 for none.

    The interval is over images, a Korn-Graubard one. Fewer than two images with two answers raise.
    """
    _check(answers)
    pairs = combinations(answers, 2)
    found = [(np.flatnonzero((one >= 0) & (two >= 0)), one == two) for one, two in pairs]
    images = np.concatenate([both for both, _ in found])
    if len(np.unique(images)) < 2:
        raise UndefinedError("agreement needs two images or more that two people answered")
    equal = np.concatenate([same[both] for both, same in found])
    estimate = clustered_proportion(equal, images, confidence=confidence)[0]
    return Estimate(estimate.value, estimate.low, estimate.high, len(np.unique(images)), estimate.method)


def fleiss_kappa(answers: IntArray, *, confidence: float = 0.95) -> Estimate:
    """Agreement beyond chance among people who answered every image, from ``answers`` (people, n) (Fleiss 1971).

    Chance is that all answers are drawn from one pool. The interval is over images: the delta method with Student's t,
    after two and a half imagined images are added, on all classes that occur alike: in half of them everyone agrees, in
    the other half no one does. So it has a width even where no one disagrees. At 95% it covers 0.93 or more from 5
    images on, for 2 to 5 people, 2 to 4 classes and up to 95% of the answers of one class; up to 0.99 with 10 images.
    At 80% it covers 0.76 or more, at 90% 0.87 and at 99% 0.96. It contains the sample's own kappa. Where all answers
    are one class kappa has no value and raises, as does a missing answer (-1).

    >>> round(fleiss_kappa(np.array([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 0]])).value, 3)
    0.745
    """
    _check(answers)
    if (answers < 0).any():
        raise InputError("Fleiss' kappa needs an answer of everyone to every image: krippendorff_alpha does not")
    counts = _counts(answers)
    expected = 1 - float((counts.shares**2).sum())
    return _beyond_chance(counts, expected, "fleiss", confidence)


def krippendorff_alpha(answers: IntArray, *, confidence: float = 0.95) -> Estimate:
    """Agreement beyond chance on classes from ``answers`` (people, n), -1 where there is none (Krippendorff 2004).

    Images with fewer than two answers say nothing and are left out. Chance is that two answers are drawn from the pool
    without putting back. Interval and undefined cases are as for `fleiss_kappa`.
    """
    _check(answers)
    counts = _counts(answers[:, (answers >= 0).sum(axis=0) >= 2])
    total = counts.sizes.sum()
    expected = 1 - float((counts.shares * (counts.shares * total - 1)).sum() / (total - 1))
    return _beyond_chance(counts, expected, "krippendorff", confidence)


@dataclass(frozen=True)
class _Counts:
    """Answers to n images, as all that agreement asks of them.

    ``sizes`` (n,) counts an image's answers and ``apart`` (n,) is how far they disagree, from 0 to ``sizes``;
    ``shares`` are those of the classes in all answers and ``usual`` (n,) the sum of these over an image's own answers.
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
    classes, given = np.unique(answers[people, images], return_inverse=True)
    pairs, times = np.unique(images * len(classes) + given, return_counts=True)
    place = pairs // len(classes)
    sizes = np.bincount(images, minlength=answers.shape[1]).astype(np.float64)
    equal = np.bincount(place, weights=times * (times - 1), minlength=len(sizes)) / (sizes - 1)
    shares = np.bincount(given) / len(given)
    usual: FloatArray = np.bincount(images, weights=shares[given], minlength=len(sizes)).astype(np.float64)
    return _Counts(sizes, sizes - equal, shares, usual)


def _beyond_chance(counts: _Counts, expected: float, name: str, confidence: float) -> Estimate:
    """One less disagreement over that expected; the interval is of the same with imagined images added."""
    if len(counts.shares) < 2:
        raise UndefinedError("all answers are of one class: chance explains all agreement")
    n = len(counts.sizes)
    value = 1 - counts.disagreement / expected
    scale = (1 - float((counts.shares**2).sum())) / expected  # with or without putting back
    added = _ADDED * min(1.0, normal_quantile(confidence) / normal_quantile(0.9))
    ratio, error = _adjusted(counts, added)
    reach = special.stdtrit(n - 1, 1 - tail_share(confidence)) * error
    low, high = (1 - scale * (ratio + side * reach) for side in (1, -1))
    method = method_name(f"{name}, adjusted delta", confidence)
    return Estimate(value, max(min(low, value), -1.0), min(max(high, value), 1.0), n, method)


def _adjusted(counts: _Counts, added: float) -> tuple[float, float]:
    """Disagreement over that expected with so many images added, half of them with full disagreement; standard error.

    An added image of agreement is of one class, each as often; in one of disagreement all classes are as frequent.
    """
    n, mean_size, classes = len(counts.sizes), counts.sizes.mean(), len(counts.shares)
    shares = (n * counts.shares + added / classes) / (n + added)
    usual = (n * counts.usual + added / classes * counts.sizes) / (n + added)
    observed = (n * counts.disagreement + added / 2) / (n + added)
    equal = float((shares**2).sum())
    ratio = observed / (1 - equal)

    def influence(apart: FloatArray | float, likely: FloatArray | float) -> FloatArray:
        return np.asarray(apart - observed + 2 * ratio * (likely - equal))

    # an image counts as often as it has answers
    squares = ((counts.sizes * influence(counts.apart / counts.sizes, usual / counts.sizes)) ** 2).sum() / mean_size**2
    squares += added / 2 * ((influence(0.0, shares) ** 2).mean() + float(influence(1.0, 1 / classes)) ** 2)
    return ratio, float(np.sqrt(squares) / ((n + added) * (1 - equal)))


def _check(answers: IntArray) -> None:
    if answers.ndim != 2 or len(answers) < 2:
        raise UndefinedError(f"agreement is between two people or more: answers (people, images), got {answers.shape}")
