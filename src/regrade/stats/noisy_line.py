"""Errors-in-variables line fit through models whose accuracies on both axes are measured on samples of images.

Least squares treats the accuracies on the original as exact. Noise in x attenuates the slope, most where the models are
close together, and a sample of easy or hard images shifts all models at once. Here the known sampling noise is removed
from the spread of x (Fuller 1987, Measurement Error Models, section 1.2), and the intervals are over both models and
images.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray
from regrade.core.errors import InputError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name
from regrade.stats.line_fit import Band, LineFit, Scale, r_squared, robust_weights, scaled_accuracies
from regrade.stats.two_way import two_way_half_width

MIN_SPREAD = 3.0
"""Smallest spread of the models on the original, in standard errors, for which a slope is estimated."""

_METHOD = "robust t over models and images"


@dataclass(frozen=True)
class NoisyLine:
    """Result of `fit_noisy_line`.

    ``reliability`` is the share of the models' variance on the original that is not sampling noise, and ``spread`` that
    variance in standard errors. Below `MIN_SPREAD`, ``fit`` is None.
    """

    fit: LineFit | None
    reliability: float
    spread: float


def fit_noisy_line(
    x: ArrayLike,
    y: ArrayLike,
    *,
    x_noise: ArrayLike,
    y_noise: ArrayLike,
    scale: Scale = Scale.LINEAR,
    confidence: float = 0.95,
    band_points: int = 200,
) -> NoisyLine:
    """Fit the line through m models, from accuracies ``x`` and ``y`` (m,) as fractions, with noise on both axes.

    ``x_noise`` and ``y_noise`` (m, m) are the sampling covariances of the accuracies, from `accuracy_covariance`; the
    two test sets must not share images. The residuals already contain part of that noise, which is counted only once.
    On the probit and logit scales accuracies of 0 and 1 raise.
    """
    a, b = scaled_accuracies(x, np.atleast_2d(np.asarray(y, dtype=np.float64)), scale, None)
    noise = tuple(noise_on_scale(matrix, values, scale) for matrix, values in ((x_noise, x), (y_noise, y)))
    return _fitted(_Measured(a, b[0], *noise), scale, confidence, band_points)


@dataclass(frozen=True)
class _Measured:
    """Accuracies (m,) on a scale with their sampling covariances (m, m)."""

    x: FloatArray
    y: FloatArray
    x_noise: FloatArray
    y_noise: FloatArray


def noise_on_scale(noise: ArrayLike, accuracies: ArrayLike, scale: Scale) -> FloatArray:
    """The covariance of the transformed accuracies, by the delta method."""
    values, matrix = np.asarray(accuracies, dtype=np.float64), np.asarray(noise, dtype=np.float64)
    if matrix.shape != (len(values), len(values)):
        raise InputError(f"{len(values)} models need a covariance of shape (m, m), got {matrix.shape}")
    if scale is Scale.LINEAR:
        return matrix
    step = 1e-6 * np.minimum(values, 1 - values)
    rate = (scale.transform(values + step) - scale.transform(values - step)) / (2 * step)
    return matrix * np.outer(rate, rate)


def _fitted(models: _Measured, scale: Scale, confidence: float, band_points: int) -> NoisyLine:
    x = models.x - models.x.mean()
    reliability, deviations = spread_beyond_noise(models.x, models.x_noise)
    spread = reliability * (x @ x)
    if deviations < MIN_SPREAD:
        return NoisyLine(None, reliability, deviations)
    slope = float(x @ (models.y - models.y.mean()) / spread)
    grid = np.linspace(models.x.min(), models.x.max(), band_points)
    line = _linearized(models, slope, spread, grid)
    half_widths = _half_widths(models, slope, line, confidence)
    low, high = line.values - half_widths, line.values + half_widths
    name = method_name(_METHOD, confidence)
    slope_estimate, intercept = (
        Estimate(float(line.values[i]), float(low[i]), float(high[i]), len(x), name) for i in (0, 1)
    )
    band = Band(*(scale.inverse(part) for part in (grid, line.values[2:], low[2:], high[2:]))) if len(grid) else None
    fit = LineFit(scale, slope_estimate, intercept, r_squared(models.y, line.residuals), band)
    return NoisyLine(fit, reliability, deviations)


def spread_beyond_noise(values: FloatArray, noise: FloatArray) -> tuple[float, float]:
    """Return the share of the variance of ``values`` (m,) that is not noise, and that variance in standard errors.

    ``noise`` (m, m) is the sampling covariance of the values. Both results are 0 if all values are equal.
    """
    x, own = values - values.mean(), _centered(noise)
    total = x @ x
    spread = total - np.trace(own)  # without sampling noise
    error = np.sqrt(2 * (own * own).sum() + 4 * max(0.0, x @ noise @ x))
    if not total > 0:
        return 0.0, 0.0
    return float(spread / total), float(spread / error) if error > 0 else np.inf


@dataclass(frozen=True)
class _Linearized:
    """The slope, the intercept and the line over a grid (p,), with derivatives (p, m) by each model's y and x."""

    values: FloatArray
    with_y: FloatArray
    with_x: FloatArray
    residuals: FloatArray


def _linearized(models: _Measured, slope: float, spread: float, grid: FloatArray) -> _Linearized:
    count, mean = len(models.x), models.x.mean()
    x, ahead = models.x - mean, np.r_[0.0, grid] - mean  # of the intercept and the grid
    residuals = models.y - models.y.mean() - slope * x
    slope_with_y, slope_with_x = x / spread, (residuals - slope * x) / spread
    return _Linearized(
        np.r_[slope, models.y.mean() + slope * ahead],
        np.vstack([slope_with_y, 1 / count + np.outer(ahead, slope_with_y)]),
        np.vstack([slope_with_x, -slope / count + np.outer(ahead, slope_with_x)]),
        residuals,
    )


def _half_widths(models: _Measured, slope: float, line: _Linearized, confidence: float) -> FloatArray:
    """Shape (p,): half-widths of the intervals."""
    squares, freedom = robust_weights(models.x, line.with_y)
    over_models = squares @ line.residuals**2
    over_images = _quadratic(line.with_y, models.y_noise) + _quadratic(line.with_x, models.x_noise)
    in_residuals = line.with_y**2 @ np.diag(_centered(models.y_noise + slope**2 * models.x_noise))
    return two_way_half_width(over_models, over_images, in_residuals, freedom, confidence=confidence)


def _quadratic(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """The quadratic form row @ matrix @ row for each row (p, m); negative rounding errors become 0."""
    return np.maximum(((rows @ matrix) * rows).sum(axis=1), 0.0)


def _centered(matrix: FloatArray) -> FloatArray:
    """The covariance of deviations from the mean over models."""
    rows = matrix - matrix.mean(axis=0)
    return rows - rows.mean(axis=1, keepdims=True)
