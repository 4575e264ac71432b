"""Temperature scaling: one number that makes the probabilities of a model softer or sharper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import UndefinedError
from regrade.metrics.calibration import SMALLEST_PROBABILITY

LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.02, 50.0
"""A temperature is searched between these."""

_ROWS = 128  # images per block, which then stays in the cache of a core
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


@dataclass(frozen=True, eq=False)
class ScaledPredictions:
    """Probabilities after temperature scaling of each image's most probable class (n,) and of its label (n,)."""

    confidences: FloatArray
    at_label: FloatArray


def scale_predictions(probabilities: FloatArray, labels: IntArray, temperature: float) -> ScaledPredictions:
    """The largest of `scale_probabilities` and that of the label, in the memory of a few images.

    >>> scale_predictions(np.array([[0.8, 0.2]]), np.array([1]), 2.0).at_label.round(4).tolist()
    [0.3333]
    """
    confidences, at_label = np.empty(len(labels)), np.empty(len(labels))
    for rows, logits in _blocks(probabilities):
        weights, sums = _softmax_parts(logits / temperature)
        confidences[rows] = weights.max(axis=1) / sums
        at_label[rows] = weights[np.arange(len(weights)), labels[rows]] / sums
    return ScaledPredictions(confidences, at_label)


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
    first, second = np.empty(len(labels)), np.empty(len(labels))
    for rows, logits in _blocks(probabilities):
        weights, sums = _softmax_parts(inverse * logits)
        weights /= sums[:, None]
        means = np.einsum("ij,ij->i", weights, logits)
        first[rows] = means - logits[np.arange(len(logits)), labels[rows]]
        weights *= logits
        second[rows] = np.einsum("ij,ij->i", weights, logits) - means**2
    return float(first.sum()), float(second.sum())


def _softmax_parts(logits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights (n, c), which take the place of the logits, and their sums (n,): a softmax is their quotient."""
    logits -= logits.max(axis=1, keepdims=True)
    weights = np.exp(logits, out=logits)
    return weights, weights.sum(axis=1)


def _blocks(probabilities: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Some rows at a time, and the logarithms of their probabilities."""
    for start in range(0, len(probabilities), _ROWS):
        rows = slice(start, start + _ROWS)
        yield rows, _logarithms(probabilities[rows])


def _logarithms(probabilities: FloatArray) -> FloatArray:
    return np.log(np.maximum(probabilities.astype(np.float64), SMALLEST_PROBABILITY))
