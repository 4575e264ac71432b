"""Pearson's chi-square test for tables of counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.errors import InputError, UndefinedError


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """The statistic, its degrees of freedom, the p-value and how far it can be trusted.

    ``warning`` says so where an expected count is below 5 and is empty otherwise.
    """

    statistic: float
    freedom: int
    p_value: float
    n: int
    smallest_expected: float
    warning: str


def chi_square(table: ArrayLike) -> ChiSquare:
    """Pearson's test of independence for a table of counts, without Yates' correction.

    A row or column without any count leaves the test undefined and raises.

    >>> test = chi_square([[296, 380], [47, 53]])  # Vasudevan et al. 2022, section 4
    >>> round(test.statistic, 4), round(test.p_value, 4)
    (0.3646, 0.5459)
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or min(counts.shape) < 2 or not (counts >= 0).all():
        raise InputError("a chi-square test needs a table of counts with at least two rows and two columns")
    total, rows, columns = counts.sum(), counts.sum(axis=1, keepdims=True), counts.sum(axis=0, keepdims=True)
    if (rows == 0).any() or (columns == 0).any():
        raise UndefinedError("a row or column of the table is empty: leave it out and test again")
    expected = rows * columns / total
    statistic = float(((counts - expected) ** 2 / expected).sum())
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    smallest = float(expected.min())
    warning = f"the smallest expected count is {smallest:.1f}, below 5" if smallest < 5 else ""
    p_value = float(special.chdtrc(freedom, statistic))
    return ChiSquare(statistic, freedom, p_value, int(total), smallest, warning)
