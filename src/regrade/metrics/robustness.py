"""Effective and relative robustness to a distribution shift (Taori et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray


def effective_robustness(
    original: ArrayLike, shifted: ArrayLike, *, expected: Callable[[ArrayLike], FloatArray]
) -> FloatArray:
    """Shape (m,): accuracy under the shift minus that expected from accuracy on the original set.

    ``expected`` maps original accuracies to expected ones: the ``predict`` of a line fitted to standard models only, on
    the logit scale in Taori et al. 2020.
    """
    return np.asarray(shifted, dtype=np.float64) - expected(original)


def relative_robustness(with_intervention: ArrayLike, without: ArrayLike) -> FloatArray:
    """Shape (m,): accuracy under the shift with an intervention minus that of the same model without it."""
    return np.asarray(with_intervention, dtype=np.float64) - np.asarray(without, dtype=np.float64)
