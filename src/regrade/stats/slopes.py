"""Two slopes on the same models: how far apart they are, as a difference and as a ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, normal_quantile, tail_share
from regrade.stats.line_fit import Scale, line_contrasts, robust_weights, scaled_accuracies
from regrade.stats.ratio import Ratio

_FLAT = 1e-12  # a slope below this is rounding


@dataclass(frozen=True)
class _Slopes:
    """Two slopes, the variances and covariance of their errors over models, and the t quantile that goes with them."""

    first: float
    second: float
    first_variance: float
    covariance: float
    second_variance: float
    quantile: float
    models: int


def slope_difference(
    x: ArrayLike, first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95, image_deviation: float = 0.0
) -> Estimate:
    """The slope of ``first`` on ``x`` less that of ``second``, all accuracies (m,) of the same models as fractions.

    Models that are above both lines say little about the difference, and the interval, a robust t over models as that
    of `fit_lines`, takes this into account. It is on these images; with ``image_deviation``, what other images would
    change (see `slope_deviation`), it is over both.

    >>> found = slope_difference([0.5, 0.6, 0.7, 0.8], [0.4, 0.52, 0.6, 0.71], [0.3, 0.33, 0.37, 0.41])
    >>> round(found.value, 3)
    0.64
    """
    slopes = _slopes(x, first, second, confidence)
    value = slopes.first - slopes.second
    variance = slopes.first_variance - 2 * slopes.covariance + slopes.second_variance
    over_images = normal_quantile(confidence) * image_deviation
    reach = float(np.hypot(slopes.quantile * np.sqrt(max(variance, 0.0)), over_images))
    name = method_name("robust t over models" + (" and images" if image_deviation else ""), confidence)
    return Estimate(value, value - reach, value + reach, slopes.models, name)


def slope_deviation(x: ArrayLike, correct: BoolArray, second: BoolArray, clusters: ArrayLike | None = None) -> float:
    """What other images would change in a slope on ``x`` (m,), as far as scatter over models does not show it.

    It is a standard error of the slope of accuracy in one group less that in a second: ``correct`` (m, n) is on the
    images of both, and ``second`` (n,) says which are of the second. Images that are harder the weaker a model is turn
    the line and leave no scatter. Images of one of the ``clusters`` (n,) do not count as independent.
    """
    a = np.asarray(x, dtype=np.float64)
    errors: FloatArray = np.empty(correct.shape)
    for side, sign in ((~second, 1.0), (second, -1.0)):
        inside = correct[:, side]
        errors[:, side] = sign * (inside - inside.mean(axis=1, keepdims=True)) / side.sum()
    if clusters is not None:
        _, parts = np.unique(np.asarray(clusters), return_inverse=True)
        errors = np.stack([np.bincount(parts, weights=row) for row in errors])
    images = errors.shape[1]
    return slope_noise(a, errors @ errors.T * images / (images - 1))


def slope_noise(x: ArrayLike, covariance: ArrayLike) -> float:
    """What other images would change in a slope on ``x`` (m,), as far as scatter over models does not show it.

    It is a standard error, from the covariance (m, m) of the models' accuracies over drawings of images.
    """
    a, noise = np.asarray(x, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    contrasts = line_contrasts(a, np.empty(0))
    left = np.eye(len(a)) - np.outer(a, contrasts[0]) - contrasts[1]  # what a line leaves of the models
    weights, _ = robust_weights(a, contrasts[:1])
    seen = weights[0] @ ((left @ noise) * left).sum(axis=1)
    return float(np.sqrt(max(contrasts[0] @ noise @ contrasts[0] - seen, 0.0)))


def slope_ratio(
    x: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    confidence: float = 0.95,
    image_deviations: tuple[float, float] = (0.0, 0.0),
) -> Ratio:
    """The slope of ``first`` on ``x`` divided by that of ``second``, with Fieller's interval.

    It holds the ratios r for which first - r second has no slope that could be told from 0. Where the second slope
    itself cannot be told from 0 no bounded interval is right, and there are no bounds (Fieller 1954). With
    ``image_deviations``, what other images of the two sets would change (see `slope_noise`), it is over images too.
    """
    slopes = _slopes(x, first, second, confidence)
    reach, images = slopes.quantile**2, normal_quantile(confidence) ** 2
    square = slopes.second**2 - reach * slopes.second_variance - images * image_deviations[1] ** 2
    cross = slopes.first * slopes.second - reach * slopes.covariance
    rest = slopes.first**2 - reach * slopes.first_variance - images * image_deviations[0] ** 2
    over = "over models and images" if any(image_deviations) else "over models"
    name = method_name(f"Fieller, robust t {over}", confidence)
    value = slopes.first / slopes.second if abs(slopes.second) > _FLAT else None
    if square <= 0:
        return Ratio(value, None, None, slopes.models, name)
    root = float(np.sqrt(max(cross**2 - square * rest, 0.0)))
    return Ratio(value, (cross - root) / square, (cross + root) / square, slopes.models, name)


def _slopes(x: ArrayLike, first: ArrayLike, second: ArrayLike, confidence: float) -> _Slopes:
    a, b = scaled_accuracies(x, np.stack([np.asarray(first), np.asarray(second)]), Scale.LINEAR, None)
    contrasts = line_contrasts(a, np.empty(0))
    values = b @ contrasts.T
    residuals = b - values[:, :1] * a - values[:, 1:2]
    weights, freedom = robust_weights(a, contrasts[:1])
    variances = (residuals * weights[0]) @ residuals.T
    quantile = float(special.stdtrit(freedom[0], 1 - tail_share(confidence)))
    return _Slopes(
        float(values[0, 0]),
        float(values[1, 0]),
        float(variances[0, 0]),
        float(variances[0, 1]),
        float(variances[1, 1]),
        quantile,
        len(a),
    )
