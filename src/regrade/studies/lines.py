"""The lines through models on each scale, with both kinds of interval."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.record import json_key
from regrade.stats import Band, LineFit, Scale, bootstrap_lines, fit_lines

DRAWS = 100_000
"""The number of bootstrap draws of models for an interval, as in Recht et al. 2019."""


@dataclass(frozen=True)
class ModelLine:
    """A line through models, fitted on a scale.

    The intervals of ``slope`` and ``intercept``, and the band, are bootstrap percentiles over draws of models, as in
    papers; with few models they are slightly too short. ``robust_slope`` and ``robust_intercept`` are the same line
    with t intervals that also hold with few models.
    """

    scale: Scale
    slope: Estimate
    intercept: Estimate
    robust_slope: Estimate
    robust_intercept: Estimate
    r_squared: float
    draws: int
    band: Band | None = field(metadata=json_key("band", only_if_set=True))

    def in_words(self) -> str:
        """Slope, intercept and how well the line fits, in the units of the scale."""
        unit = 100 if self.scale is Scale.LINEAR else 1
        digits = 1 if self.scale is Scale.LINEAR else 2
        slope, offset = self.slope, self.intercept
        return (
            f"slope {_with_interval(slope, 1, 2)}, by the robust t {_interval(self.robust_slope, 1, 2)}, "
            f"intercept {_with_interval(offset, unit, digits)}, R² {self.r_squared:.4f}"
        )


def clip_to_scale(accuracies: FloatArray, images: IntArray, scale: Scale) -> FloatArray:
    """Accuracies that are finite on the scale: except on the linear one, 0 and 1 are moved inward by half an image."""
    if scale is Scale.LINEAR:
        return accuracies
    return np.clip(accuracies, 0.5 / images, 1 - 0.5 / images)


def model_line(
    x: FloatArray,
    y: FloatArray,
    scale: Scale,
    *,
    rng: np.random.Generator,
    draws: int,
    confidence: float,
    band_points: int,
) -> ModelLine:
    """The line through models on a scale, from accuracies on the original and on a new test set (m,)."""
    return model_lines(
        x, y[None], scale, rng=rng, draws=draws, confidence=confidence, band_points=band_points
    )[0]  # fmt: skip


def model_lines(
    x: FloatArray,
    ys: FloatArray,
    scale: Scale,
    *,
    rng: np.random.Generator,
    draws: int,
    confidence: float,
    band_points: int,
) -> list[ModelLine]:
    """A line for each of t new test sets, from accuracies (m,) and (t, m), with the same draws of models for all."""
    drawn = bootstrap_lines(x, ys, rng=rng, scale=scale, draws=draws, confidence=confidence, band_points=band_points)
    robust = fit_lines(x, ys, scale=scale, confidence=confidence, band_points=0)
    return [_model_line(*fits) for fits in zip(drawn, robust, strict=True)]


def _model_line(drawn: LineFit, robust: LineFit) -> ModelLine:
    return ModelLine(
        drawn.scale,
        drawn.slope,
        drawn.intercept,
        robust.slope,
        robust.intercept,
        drawn.r_squared,
        drawn.draws,
        drawn.band,
    )


def _with_interval(estimate: Estimate, unit: int, digits: int) -> str:
    return f"{unit * estimate.value:.{digits}f} {_interval(estimate, unit, digits)}"


def _interval(estimate: Estimate, unit: int, digits: int) -> str:
    return f"[{unit * estimate.low:.{digits}f}, {unit * estimate.high:.{digits}f}]"
