"""Two methods on the same images: their accuracies by group over paired seeds, and intervals of their differences.

Every number is a contrast: a weighted sum of the 2g accuracies of both methods. Its variance over seeds and over images
is a quadratic form in the weights, so that all contrasts are computed from three covariance matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy

from regrade.core import Estimate, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import bonferroni_confidence
from regrade.stats.intervals import method_name, tail_share
from regrade.stats.two_way import two_way_half_width

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False)
class PairedGroups:
    """Accuracies ``by_seed`` (k, 2g) of the baseline, then of the remedy, in g groups of the same images.

    ``images`` and ``units`` (g,) are the sizes of the groups in images and in sampling units: clusters, or images
    without clusters. The matrices (2g, 2g) are sampling covariances over the units: of the mean over seeds
    (``of_mean``), and of a single seed on average (``of_seed``).
    """

    by_seed: FloatArray
    images: IntArray
    units: IntArray
    of_mean: FloatArray
    of_seed: FloatArray
    clustered: bool

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.images)

    @property
    def means(self) -> FloatArray:
        """Shape (2g,): the mean accuracies over seeds, of the baseline, then of the remedy."""
        mean: FloatArray = self.by_seed.mean(axis=0)
        return mean

    def of_baseline(self, weights: FloatArray) -> FloatArray:
        """Shape (p, 2g): weights (p, g) of the groups as contrasts of the baseline."""
        return np.hstack([weights, np.zeros_like(weights)])

    def of_remedy(self, weights: FloatArray) -> FloatArray:
        """Shape (p, 2g): weights (p, g) of the groups as contrasts of the remedy."""
        return np.hstack([np.zeros_like(weights), weights])


def paired_groups(correct: BoolArray, members: IntArray, clusters: IntArray | None = None) -> PairedGroups:
    """Return the accuracies of two methods from ``correct`` (2, k, n), by the groups ``members`` (n,), none empty.

    Images of one of the ``clusters`` (n,) are dependent. A group with a single image or cluster raises.
    """
    images = np.bincount(members)
    groups = len(images)
    units = np.arange(len(members)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    counts = np.bincount(np.unique(units * groups + members) % groups, minlength=groups)
    if (counts < 2).any():
        raise UndefinedError("how an accuracy varies over images takes at least two of them, or two clusters")
    by_seed = np.array(
        [
            np.concatenate([np.bincount(members, row, groups) / images for row in pair])
            for pair in correct.swapaxes(0, 1)
        ]
    )
    terms = [
        _error_terms(pair, accuracies.reshape(2, groups), members, units, images)
        for pair, accuracies in zip(correct.swapaxes(0, 1), by_seed, strict=True)
    ]
    scale = np.tile(np.sqrt(counts / (counts - 1)), 2)
    rare = _rare_errors(counts)
    of_mean, of_seed = _products([sum(terms) / len(terms)]), _products(terms)
    scales = np.outer(scale, scale)
    return PairedGroups(by_seed, images, counts, scales * of_mean + rare, scales * of_seed + rare, clusters is not None)


def _error_terms(
    pair: BoolArray, accuracies: FloatArray, members: IntArray, units: IntArray, images: IntArray
) -> sparse.csc_array:
    """Sparse, shape (c, 2g): what each unit adds to the error of each accuracy (2, g) of one seed."""
    from scipy import sparse  # slow to import

    shape = int(units.max()) + 1, len(images)
    added = (pair - accuracies[:, members]) / images[members]
    return sparse.hstack([sparse.csc_array((row, (units, members)), shape=shape) for row in added], format="csc")


def _products(terms: list[sparse.csc_array]) -> FloatArray:
    """Shape (2g, 2g): the mean of the products of the error terms (c, 2g)."""
    mean: FloatArray = np.mean([(errors.T @ errors).toarray() for errors in terms], axis=0)
    return mean


def _rare_errors(units: IntArray) -> FloatArray:
    """Shape (2g, 2g): variance for events that did not occur among few units, so that none looks impossible.

    The difference of two methods in a group gets that of two more discordant images (Bonett and Price 2012), and an
    accuracy about that of two more right and two more wrong images (Agresti and Coull 1998).
    """
    share = np.diag(1 / (units + 2.0) ** 2)
    return np.block([[2 * share, share], [share, 2 * share]])


def contrast(paired: PairedGroups, weights: FloatArray, n: int, *, confidence: float) -> Estimate:
    """Return one contrast with ``weights`` (2g,) and its interval over seeds and images; ``n`` is for the record."""
    value = float(weights @ paired.means)
    half_width = float(_half_widths(paired, weights[None], np.zeros((1, len(weights))), confidence)[0, 0])
    limit = float(max(weights[weights > 0].sum(), -weights[weights < 0].sum()))
    low, high = max(value - half_width, -limit), min(value + half_width, limit)
    return _estimate(paired, (value, low, high), n, "", confidence)


def largest(paired: PairedGroups, weights: FloatArray, *, confidence: float) -> Estimate:
    """Return the largest of the contrasts ``weights`` (p, 2g), with an interval for the truly largest, whichever it is.

    The lower bound is the largest of simultaneous lower bounds; the truly largest contrast is a fixed one, so that the
    largest upper bound needs no correction.
    """
    values, none = weights @ paired.means, np.zeros((1, weights.shape[1]))
    strict, plain = (
        _half_widths(paired, weights, none, level)[:, 0]
        for level in (bonferroni_confidence(len(weights), confidence), confidence)
    )
    bounds = float(values.max()), max(float((values - strict).max()), -1.0), min(float((values + plain).max()), 1.0)
    return _estimate(paired, bounds, int(paired.images.sum()), "simultaneous ", confidence)


def range_weights(groups: int) -> FloatArray:
    """Shape (g (g - 1), g): the differences of all ordered pairs of groups, the largest of which is their range."""
    identity = np.eye(groups)
    high, low = np.nonzero(~np.eye(groups, dtype=bool))
    weights: FloatArray = identity[high] - identity[low]
    return weights


def difference_of_largest(
    paired: PairedGroups, first: FloatArray, second: FloatArray, *, confidence: float
) -> Estimate:
    """Return the largest contrast of ``first`` (p, 2g) minus the largest of ``second`` (p, 2g), whichever these are.

    For the truly largest contrast b of the second, the result is at least a - b for every a of the first: the largest
    over a of the smallest lower bound over b is a lower bound if those of all a hold simultaneously for this b. The
    upper bound follows in the same way. The interval is conservative.
    """
    a, b = first @ paired.means, second @ paired.means
    level = bonferroni_confidence(len(a), confidence)
    low, high = -np.inf, np.full(len(b), -np.inf)
    for rows in _blocks(len(a)):
        half_widths = _half_widths(paired, first[rows], second, level)
        difference = a[rows, None] - b
        low = max(low, float((difference - half_widths).min(axis=1).max()))
        high = np.maximum(high, (difference + half_widths).max(axis=0))
    bounds = float(a.max() - b.max()), max(low, -1.0), min(float(high.min()), 1.0)
    return _estimate(paired, bounds, int(paired.images.sum()), "simultaneous ", confidence)


def _blocks(rows: int, size: int = 256) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, rows, size))


def _half_widths(paired: PairedGroups, first: FloatArray, second: FloatArray, confidence: float) -> FloatArray:
    """Shape (p, q): half-widths of the intervals of each contrast of ``first`` (p, 2g) minus each of ``second``."""
    upper = 1 - tail_share(confidence)
    # with few images or clusters their variance is uncertain: quantiles of t instead of the normal distribution
    factor = np.tile(scipy.special.stdtrit(paired.units - 1.0, upper) / scipy.special.ndtri(upper), 2)
    factors, seeds = np.outer(factor, factor), len(paired.by_seed)
    over_images, of_seed = (_quadratic(factors * matrix, first, second) for matrix in (paired.of_mean, paired.of_seed))
    if seeds == 1:
        return two_way_half_width(0.0, over_images, 0.0, 1.0, confidence=confidence)
    over_seeds = _quadratic(np.cov(paired.by_seed.T) / seeds, first, second)
    in_residuals = (of_seed - over_images) / (seeds - 1)
    return two_way_half_width(over_seeds, over_images, in_residuals, seeds - 1.0, confidence=confidence)


def _quadratic(matrix: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Shape (p, q): the variance of each contrast of ``first`` (p, 2g) minus each of ``second`` (q, 2g)."""
    left, right = first @ matrix, second @ matrix
    squares = (left * first).sum(axis=1)[:, None] + (right * second).sum(axis=1) - 2 * left @ second.T
    variance: FloatArray = np.maximum(squares, 0.0)
    return variance


def _estimate(
    paired: PairedGroups, bounds: tuple[float, float, float], n: int, kind: str, confidence: float
) -> Estimate:
    """The value with its bounds (value, low, high)."""
    value, low, high = bounds
    seeds, units = "seeds and " if len(paired.by_seed) > 1 else "", "clusters" if paired.clustered else "images"
    method = method_name(f"{kind}t over {seeds}{units}", confidence)
    return Estimate(value, low, high, n, method)
