"""Temperature scaling: one number that makes the probabilities of a model softer or sharper."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import UndefinedError
from regrade.metrics.calibration import SMALLEST_PROBABILITY

LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.02, 50.0
"""A temperature is searched between these."""

_ROWS = 4096  # images per block
_STEPS = 60
_CLOSE = 1e-5  # relative change of the temperature at which the search ends; the error is about its square


def scale_probabilities(probabilities: FloatArray, temperature: float) -> FloatArray:
    """Shape (n, c): probabilities of logits divided by ``temperature``, from those of the logits.

    Above 1 they are softer. Probabilities below `SMALLEST_PROBABILITY` are replaced by it first. The order of the
    classes stays.

    >>> scale_probabilities(np.array([[0.8, 0.2]]), 2.0).round(4).tolist()
    [[0.6667, 0.3333]]
    """
    from scipy import special

    return np.asarray(special.softmax(_logarithms(probabilities) / temperature, axis=1))


def fit_temperature(probabilities: FloatArray, labels: IntArray, *, start: float = 1.0) -> float:
    """The temperature with the smallest negative log-likelihood of labels (n,) (Guo et al. 2017).

    The loss is convex in the inverse of the temperature; it is found by Newton's method with bisection, from ``start``
    on. Raises if the loss still falls at the ends of the range, for example if every prediction is right.

    >>> probabilities = np.repeat([[0.9, 0.1]], 5, axis=0)
    >>> round(fit_temperature(probabilities, np.array([0, 0, 0, 0, 1])), 3)  # ln 9 / ln 4
    1.585
    """
    low, high = 1 / HIGHEST_TEMPERATURE, 1 / LOWEST_TEMPERATURE
    if _slopes(probabilities, labels, low)[0] >= 0 or _slopes(probabilities, labels, high)[0] <= 0:
        raise UndefinedError("no temperature has the smallest loss: it falls up to the ends of the searched range")
    inverse = 1 / start
    for _ in range(_STEPS):
        slope, curvature = _slopes(probabilities, labels, inverse)
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        step = inverse - slope / curvature if curvature > 0 else low
        following = step if low < step < high else (low + high) / 2
        change, inverse = abs(following - inverse), following
        if change < _CLOSE * inverse:
            break
    return 1 / inverse


def _slopes(probabilities: FloatArray, labels: IntArray, inverse: float) -> tuple[float, float]:
    """The first and the second derivative of the summed loss with respect to the inverse temperature."""
    from scipy import special

    first = second = 0.0
    for logits, own in _blocks(probabilities, labels):
        weights = special.softmax(inverse * logits, axis=1)
        means = np.einsum("ij,ij->i", weights, logits)
        first += float((means - logits[np.arange(len(own)), own]).sum())
        second += float((np.einsum("ij,ij,ij->i", weights, logits, logits) - means**2).sum())
    return first, second


def _blocks(probabilities: FloatArray, labels: IntArray) -> Iterator[tuple[FloatArray, IntArray]]:
    for start in range(0, len(labels), _ROWS):
        rows = slice(start, start + _ROWS)
        yield _logarithms(probabilities[rows]), labels[rows]


def _logarithms(probabilities: FloatArray) -> FloatArray:
    return np.log(np.maximum(probabilities.astype(np.float64), SMALLEST_PROBABILITY))
