"""The line through models from an original to a new test set, with uncertainty over images and models."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.record import json_key
from regrade.stats import Band, LineFit, NoisyLine, Scale, accuracy_variance, fit_noisy_line, largest_covariance

NOT_ENOUGH_SPREAD = "not enough spread to tell"
"""The text for a line if the models' spread on the original is less than three times its standard error."""


def _line_record(line: LineFit) -> dict[str, Any]:
    return {"slope": line.slope, "intercept": line.intercept, "draws": line.draws}


@dataclass(frozen=True)
class ShiftLine:
    """A line through models, fitted on a scale with sampling noise on both axes.

    The intervals of ``slope`` and ``intercept``, and the ``band``, cover the sampling of models and of images. All
    three are None if the models' spread on the original is hardly more than sampling noise; ``reliability`` is the
    share of the spread that is not noise. ``r_squared`` is that of least squares. ``published`` is the least squares
    line with bootstrap percentiles over models, as in papers, if requested.
    """

    scale: Scale
    slope: Estimate | None
    intercept: Estimate | None
    r_squared: float
    reliability: float
    published: LineFit | None = field(metadata=json_key("published", _line_record, only_if_set=True))
    band: Band | None = field(metadata=json_key("band", only_if_set=True))

    def in_words(self) -> str:
        """Slope, intercept and how well the line fits, in the units of the scale."""
        words = self._line_in_words()
        if self.published is not None:
            slope, offset = (
                with_interval(self.published.slope, 1, 2),
                with_interval(self.published.intercept, *self._unit),
            )
            words += f"; least squares, {self.published.slope.method}: slope {slope}, intercept {offset}"
        return words

    def _line_in_words(self) -> str:
        if self.slope is None or self.intercept is None:
            return (
                f"{NOT_ENOUGH_SPREAD}: sampling noise of the images accounts for "
                f"{100 * min(1 - self.reliability, 1):.0f}% of the models' spread on the original"
            )
        slope, offset = with_interval(self.slope, 1, 2), with_interval(self.intercept, *self._unit)
        return f"slope {slope}, intercept {offset}, R² {self.r_squared:.4f}"

    @property
    def _unit(self) -> tuple[int, int]:
        """The factor of the intercept and its number of digits."""
        return (100, 1) if self.scale is Scale.LINEAR else (1, 2)


def shift_line(
    x: FloatArray,
    y: FloatArray,
    scale: Scale,
    *,
    noise: tuple[FloatArray, FloatArray] | None,
    images: tuple[IntArray, IntArray],
    confidence: float,
    band_points: int,
) -> ShiftLine:
    """The line from accuracies (m,) on the original and on a new test set, with the covariances (m, m) of their noise.

    If only counts are known, errors of models may overlap or be independent: the interval covers both cases.
    """

    def fitted(x_noise: FloatArray, y_noise: FloatArray) -> NoisyLine:
        return fit_noisy_line(
            x, y, x_noise=x_noise, y_noise=y_noise, scale=scale, confidence=confidence, band_points=band_points
        )

    if noise is not None:
        line = fitted(*noise)
    else:
        line = fitted(_independent_noise(x, images[0]), _independent_noise(y, images[1]))
        if line.fit is not None:
            overlapping = fitted(_overlapping_noise(x, images[0]), _overlapping_noise(y, images[1]))
            line = replace(line, fit=_hull(overlapping.fit, line.fit))
    fit = _r_squared(scale.transform(x), scale.transform(y))
    if line.fit is None:
        return ShiftLine(scale, None, None, fit, line.reliability, None, None)
    return ShiftLine(scale, line.fit.slope, line.fit.intercept, fit, line.reliability, None, line.fit.band)


def with_interval(estimate: Estimate, unit: int, digits: int) -> str:
    """An estimate with its interval, multiplied by a unit."""
    value, low, high = (f"{unit * number:.{digits}f}" for number in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def _r_squared(a: FloatArray, b: FloatArray) -> float:
    """The share of variance that a line explains; 1 if the new accuracies do not vary."""
    return float(np.corrcoef(a, b)[0, 1] ** 2) if np.ptp(b) > 0 else 1.0


def _independent_noise(accuracies: FloatArray, images: IntArray) -> FloatArray:
    """The covariance (m, m) of models whose errors are independent."""
    return np.diag(accuracy_variance(accuracies, images))


def _overlapping_noise(accuracies: FloatArray, images: IntArray) -> FloatArray:
    """The covariance (m, m) of models whose errors overlap as much as their accuracies allow."""
    return largest_covariance(accuracies * images, images)


def _hull(first: LineFit | None, second: LineFit) -> LineFit:
    """The first line with intervals that contain those of both."""
    if first is None:
        return second
    slope, intercept = (
        replace(a, low=min(a.low, b.low), high=max(a.high, b.high))
        for a, b in ((first.slope, second.slope), (first.intercept, second.intercept))
    )
    band = first.band
    if band is not None and second.band is not None:
        low, high = np.minimum(band.low, second.band.low), np.maximum(band.high, second.band.high)
        band = Band(band.x, band.line, low, high)
    return replace(first, slope=slope, intercept=intercept, band=band)
