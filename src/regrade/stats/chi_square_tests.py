"""Pearson's chi-square test for contingency tables, and its counterpart for two samples that share images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """Result of `chi_square`; ``warning`` is set if an expected count is below 5 and empty otherwise."""

    statistic: float
    freedom: int
    p_value: float
    n: int
    smallest_expected: float
    warning: str


def chi_square(table: ArrayLike, *, effect: float = 1.0) -> ChiSquare:
    """Return Pearson's test of independence for a table of counts, without Yates' correction.

    Raises if a row or column is empty: the test is then undefined. Counts of images in clusters are divided by their
    design ``effect`` (Rao and Scott 1992).

    >>> test = chi_square([[296, 380], [47, 53]])  # Vasudevan et al. 2022, section 4
    >>> round(test.statistic, 4), round(test.p_value, 4)
    (0.3646, 0.5459)
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or min(counts.shape) < 2 or not (counts >= 0).all():
        raise InputError("a chi-square test needs a table of counts with at least two rows and two columns")
    images = int(counts.sum())
    counts = counts / effect
    total, rows, columns = counts.sum(), counts.sum(axis=1, keepdims=True), counts.sum(axis=0, keepdims=True)
    if (rows == 0).any() or (columns == 0).any():
        raise UndefinedError("a row or column of the table is empty: leave it out and test again")
    expected = rows * columns / total
    statistic = float(((counts - expected) ** 2 / expected).sum())
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    smallest = float(expected.min())
    warning = f"the smallest expected count is {smallest:.1f}, below 5" if smallest < 5 else ""
    p_value = float(scipy.special.chdtrc(freedom, statistic))
    return ChiSquare(statistic, freedom, p_value, images, smallest, warning)


@dataclass(frozen=True, slots=True)
class PairedChiSquare:
    """Result of `paired_chi_square`; ``images`` are in either sample and ``shared`` in both."""

    statistic: float
    freedom: tuple[int, int]
    p_value: float
    images: int
    shared: int


def paired_chi_square(first: IntArray, second: IntArray, clusters: IntArray | None = None) -> PairedChiSquare:
    """Test whether categories are equally frequent in two samples that may share images.

    ``first`` and ``second`` (n,) hold the category of each image, numbered from 0, or -1 if the image is not in the
    sample. Unlike Pearson's test, which assumes independent samples, this Wald test uses the covariance over images of
    the difference of the shares (Bhapkar 1966 for identical images), with Hotelling's F for few images. Raises for
    fewer than two categories, or too few images to estimate the covariance. Images of one of the ``clusters`` (n,) are
    dependent: the covariance is over clusters, and the degrees of freedom are those of their number.

    >>> first, second = np.array([0, 0, 0, 1, 1, 0, -1, 1]), np.array([0, 0, 0, 1, 1, -1, 0, 0])
    >>> test = paired_chi_square(first, second)
    >>> test.shared, test.freedom
    (6, (1, 7))
    """
    if first.shape != second.shape or first.ndim != 1:
        raise InputError(f"both samples must be arrays (n,) over the same images, got {first.shape}, {second.shape}")
    inside = (first >= 0) | (second >= 0)
    kinds = np.unique(np.concatenate([first[first >= 0], second[second >= 0]]))
    if len(kinds) < 2 or not (first >= 0).any() or not (second >= 0).any():
        raise UndefinedError("the test needs two non-empty samples with at least two categories between them")
    shares, parts = zip(*(_shares(sample[inside], kinds[1:]) for sample in (first, second)), strict=True)
    errors, images = parts[0] - parts[1], int(inside.sum())
    if clusters is not None:
        numbers = np.unique(clusters[inside], return_inverse=True)[1]
        errors = np.stack([np.bincount(numbers, column) for column in errors.T], axis=1)
    units = len(errors)
    statistic, freedom = _wald(shares[0] - shares[1], errors)
    p_value = float(scipy.special.fdtrc(freedom, units - freedom, statistic * (units - freedom) / (units * freedom)))
    shared = int(((first >= 0) & (second >= 0)).sum())
    return PairedChiSquare(statistic, (freedom, units - freedom), p_value, images, shared)


def _shares(sample: IntArray, kinds: IntArray) -> tuple[FloatArray, FloatArray]:
    """The share of each category (k,), and each image's contribution to its error (n, k)."""
    counted = (sample >= 0)[:, None]
    flags = sample[:, None] == kinds
    shares: FloatArray = flags.sum(axis=0) / counted.sum()
    return shares, np.where(counted, flags - shares, 0.0) / counted.sum()


def _wald(difference: FloatArray, parts: FloatArray) -> tuple[float, int]:
    """The Wald statistic of ``difference`` (k,) under the covariance of ``parts`` (n, k), and its rank."""
    covariance = parts.T @ parts
    freedom = int(np.linalg.matrix_rank(covariance))
    if not freedom or freedom >= len(parts):
        raise UndefinedError("the two samples do not vary over their images: the test is undefined")
    return float(difference @ np.linalg.pinv(covariance) @ difference), freedom
