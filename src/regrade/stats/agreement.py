"""How far people agree on classes: the share of equal answers, Fleiss' kappa and Krippendorff's alpha."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import special

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import exact_bounds, method_name, tail_share
from regrade.stats.means import clustered_proportion


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

    Chance is that all answers are drawn from one pool. The interval is over images, by the delta method on the scale
    of log(1 - kappa). Where no one ever disagrees it goes as far down as the images leave open; where all
    answers are one class kappa has no value and raises, as does a missing answer (-1).

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
    if len(counts.shares) < 2:
        raise UndefinedError("all answers are of one class: chance explains all agreement")
    n = len(counts.sizes)
    ratio = counts.disagreement / expected
    method = method_name(name, confidence)
    if ratio == 0:
        most = float(exact_bounds(np.zeros(1), np.full(1, n), confidence=confidence).high[0])
        return Estimate(1.0, max(1 - most / expected, -1.0), 1.0, n, method)
    spread = np.sqrt((_influence(counts) ** 2).sum() / (n * (n - 1)))
    reach = np.exp(special.stdtrit(n - 1, 1 - tail_share(confidence)) * spread)
    return Estimate(1 - ratio, max(1 - ratio * reach, -1.0), 1 - ratio / reach, n, method)


def _influence(counts: _Counts) -> FloatArray:
    """Shape (n,): what an image does to the logarithm of disagreement over that expected."""
    mean_size = counts.sizes.mean()
    chance = 1 - (counts.shares**2).sum()
    observed = (counts.apart - counts.disagreement * counts.sizes) / (mean_size * counts.disagreement)
    by_chance = -2 * (counts.usual - (1 - chance) * counts.sizes) / (mean_size * chance)
    return np.asarray(observed - by_chance)


def _check(answers: IntArray) -> None:
    if answers.ndim != 2 or len(answers) < 2:
        raise UndefinedError(f"agreement is between two people or more: answers (people, images), got {answers.shape}")
