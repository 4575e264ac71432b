"""Difference and ratio of two slopes fitted to the same models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.estimate import Estimate
from regrade.stats.intervals import Ratio, method_name, normal_quantile, tail_share
from regrade.stats.line_fit import Scale, line_contrasts, robust_weights, scaled_accuracies

_FLAT = 1e-12  # a slope below this is rounding error


@dataclass(frozen=True)
class _Slopes:
    """Two slopes with the variances and covariance of their errors over models, and the t quantile to use."""

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
    """Return the slope of ``first`` on ``x`` minus that of ``second``, from accuracies (m,) of the same models.

    The interval is a robust t interval over models as in `fit_lines`, and accounts for the correlation of the two
    lines' residuals. It is conditional on these images; with ``image_deviation`` (see `slope_deviation`) it is over
    both models and images.

    >>> difference = slope_difference([0.5, 0.6, 0.7, 0.8], [0.4, 0.52, 0.6, 0.71], [0.3, 0.33, 0.37, 0.41])
    >>> round(difference.value, 3)
    0.64
    """
    slopes = _slopes(x, first, second, confidence)
    value = slopes.first - slopes.second
    variance = slopes.first_variance - 2 * slopes.covariance + slopes.second_variance
    over_images = normal_quantile(confidence) * image_deviation
    half_width = float(np.hypot(slopes.quantile * np.sqrt(max(variance, 0.0)), over_images))
    name = method_name("robust t over models" + (" and images" if image_deviation else ""), confidence)
    return Estimate(value, value - half_width, value + half_width, slopes.models, name)


def slope_deviation(x: ArrayLike, correct: BoolArray, second: BoolArray, clusters: ArrayLike | None = None) -> float:
    """Return the standard error over images of a difference of slopes on ``x`` (m,), beyond the residual scatter.

    The difference is the slope of accuracy in one group minus that in a second: ``correct`` (m, n) covers the images of
    both, and ``second`` (n,) marks those of the second. Sampled images can rotate the line without adding scatter,
    which the residuals do not show. Images of one of the ``clusters`` (n,) are treated as dependent.
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
    """Return the standard error over images of a slope on ``x`` (m,), beyond the residual scatter.

    ``covariance`` (m, m) is the sampling covariance of the models' accuracies.
    """
    a, noise = np.asarray(x, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    contrasts = line_contrasts(a, np.empty(0))
    residual_maker = np.eye(len(a)) - np.outer(a, contrasts[0]) - contrasts[1]
    weights, _ = robust_weights(a, contrasts[:1])
    in_residuals = weights[0] @ ((residual_maker @ noise) * residual_maker).sum(axis=1)
    return float(np.sqrt(max(contrasts[0] @ noise @ contrasts[0] - in_residuals, 0.0)))


def slope_ratio(
    x: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    confidence: float = 0.95,
    image_deviations: tuple[float, float] = (0.0, 0.0),
) -> Ratio:
    """Return the slope of ``first`` on ``x`` divided by that of ``second``, with Fieller's interval (Fieller 1954).

    The interval contains the ratios r for which the slope of first - r second is not significantly different from 0. If
    the second slope itself is not significantly different from 0, there are no bounds. With ``image_deviations`` of the
    two slopes (see `slope_noise`) the interval is over both models and images.
    """
    slopes = _slopes(x, first, second, confidence)
    t2, z2 = slopes.quantile**2, normal_quantile(confidence) ** 2
    square = slopes.second**2 - t2 * slopes.second_variance - z2 * image_deviations[1] ** 2
    cross = slopes.first * slopes.second - t2 * slopes.covariance
    rest = slopes.first**2 - t2 * slopes.first_variance - z2 * image_deviations[0] ** 2
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
    quantile = float(scipy.special.stdtrit(freedom[0], 1 - tail_share(confidence)))
    return _Slopes(
        float(values[0, 0]),
        float(values[1, 0]),
        float(variances[0, 0]),
        float(variances[0, 1]),
        float(variances[1, 1]),
        quantile,
        len(a),
    )
