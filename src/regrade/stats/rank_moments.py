"""Means and variances of Spearman's and Kendall's coefficients for n bivariate normal pairs.

Ranks are invariant under monotone transformations, so the results hold for all pairs that are normal after one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.polynomial import Chebyshev

from regrade.core.arrays import FloatArray

# Correlations sin(angle) from -1 to 1, denser towards the ends, where the coefficients vary least.
_ANGLES = np.pi / 2 * np.r_[-1.0, np.tanh(np.linspace(-9, 9, 1801)), 1.0]
_DEGREE = 40  # of the polynomials in the angle, for ten digits
_MIN_STEP = 1e-7  # its square is the rounding error of a variance of 0
_CROSS = ((0, 1), (0, 3), (2, 1), (2, 3))  # index pairs of an x and a y among the differences x, y, x, y


@dataclass(frozen=True)
class RankMoments:
    """Mean and variance of a rank correlation of n normal pairs, for true values from -1 to 1.

    ``step`` is the distance between possible values: the change from swapping two neighbors.
    """

    truth: FloatArray
    mean: FloatArray
    variance: FloatArray
    step: float


def kendall_moments(n: int) -> RankMoments:
    """Return the moments of Kendall's tau (Esscher 1924)."""
    tau, half = 2 / np.pi * _ANGLES, 2 / np.pi * np.arcsin(np.sin(_ANGLES) / 2)
    variance = 2 / (n * (n - 1)) * (1 - tau**2 + 2 * (n - 2) * (1 / 9 - half**2))
    return RankMoments(tau, tau, np.maximum(variance, 0), 4 / (n * (n - 1)))


def spearman_moments(n: int) -> RankMoments:
    """Return the moments of Spearman's rho (Moran 1948; for the variance see David and Mallows 1961)."""
    tau, rho = 2 / np.pi * _ANGLES, 6 / np.pi * np.arcsin(np.sin(_ANGLES) / 2)
    mean = (3 * tau + (n - 2) * rho) / (n + 1)
    squares = sum(math.perm(n, pairs) * expected for pairs, expected in _summed_products())
    variance = 9 / (n**3 - n) ** 2 * squares - mean**2
    return RankMoments(rho, mean, np.maximum(variance, 0), max(12 / (n**3 - n), _MIN_STEP))


@cache
def _summed_products() -> list[tuple[int, FloatArray]]:
    """The expected square of Spearman's rho, split by the number of distinct pairs involved.

    Rho is 3 / (n^3 - n) times the sum, over all i, j and k, of sign(x_i - x_j) sign(y_i - y_k). Its square is a sum of
    products of four signs, whose expectation depends only on which of the six indices are equal.
    """
    parts = []
    for pairs in range(2, 7):
        patterns = np.array([differences for size, differences in _patterns() if size == pairs])
        at_zero = (2 / np.pi) ** 2 * (np.arcsin(patterns[:, 0, 2]) * np.arcsin(patterns[:, 1, 3])).sum()
        free = patterns[(np.abs(patterns[:, 0, 2]) < 1) & (np.abs(patterns[:, 1, 3]) < 1)]
        slope = Chebyshev.interpolate(partial(_slopes, free), _DEGREE, [-np.pi / 2, np.pi / 2])
        parts.append((pairs, at_zero + slope.integ(lbnd=0)(_ANGLES)))
    return parts


def _patterns() -> Iterator[tuple[int, FloatArray]]:
    """Patterns of equality among two index triples i, j, k: the number of distinct indices, and correlations (4, 4).

    The correlations are between the differences in x, y, x and y for y = x.
    """
    for places in itertools.product(*(range(earlier + 1) for earlier in range(6))):
        pairs = max(places) + 1
        first, second = places[:3], places[3:]
        in_order = all(place <= max(places[:at]) + 1 for at, place in enumerate(places) if at)
        if in_order and all(i not in (j, k) for i, j, k in (first, second)):
            unit = np.eye(pairs)
            differences = np.array([unit[i] - unit[j] for i, *rest in (first, second) for j in rest])
            yield pairs, differences @ differences.T / 2


def _slopes(patterns: FloatArray, angles: FloatArray) -> FloatArray:
    """Shape (angles,): derivatives by the angle of the expected products of four signs, summed over patterns (p, 4, 4).

    By Plackett's identity (1954) each correlation contributes its derivative, times the density of its two differences
    at 0, times the expected product of the two remaining signs given these.
    """
    correlations = np.repeat(patterns[:, None], len(angles), axis=1)
    for x, y in _CROSS:
        correlations[..., x, y] *= np.sin(angles)
        correlations[..., y, x] *= np.sin(angles)
    inverse = np.linalg.inv(correlations)
    total = np.zeros(len(angles))
    for x, y in _CROSS:
        u, v = 2 - x, 4 - y
        conditional = -inverse[..., u, v] / np.sqrt(inverse[..., u, u] * inverse[..., v, v])
        growth = patterns[:, None, x, y] * np.cos(angles) / np.sqrt(1 - correlations[..., x, y] ** 2)
        total += (growth * np.arcsin(np.clip(conditional, -1, 1))).sum(axis=0)
    return (2 / np.pi) ** 2 * total
