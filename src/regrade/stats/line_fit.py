"""The line through models: accuracy on a new test set against accuracy on the original.

Ordinary least squares on the plain, probit or logit scale, with a bootstrap over models (Recht et
al. 2019): pairs are drawn with replacement, the line is fitted again, percentiles make the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share

_BLOCK = 1 << 20  # resampled models at a time: the buffers, some megabytes, stay in the processor's cache

_Line = tuple[float, float]  # slope and intercept
_Lines = tuple[FloatArray, FloatArray]


class Scale(Enum):
    """The scale on which accuracies lie on a line."""

    LINEAR = "linear"
    PROBIT = "probit"
    LOGIT = "logit"

    def transform(self, accuracies: ArrayLike) -> FloatArray:
        """From fractions to the scale."""
        values = np.asarray(accuracies, dtype=np.float64)
        match self:
            case Scale.LINEAR:
                return values
            case Scale.PROBIT:
                return special.ndtri(values)
            case Scale.LOGIT:
                return special.logit(values)

    def inverse(self, values: ArrayLike) -> FloatArray:
        """From the scale back to fractions."""
        scaled = np.asarray(values, dtype=np.float64)
        match self:
            case Scale.LINEAR:
                return scaled
            case Scale.PROBIT:
                return special.ndtr(scaled)
            case Scale.LOGIT:
                return special.expit(scaled)


@dataclass(frozen=True)
class Band:
    """The fitted line and its pointwise interval over a grid of x, all as fractions."""

    x: FloatArray
    line: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class LineFit:
    """y = slope * x + intercept on a scale; ``degenerate`` draws had no slope and were left out."""

    scale: Scale
    slope: Estimate
    intercept: Estimate
    r_squared: float
    draws: int
    degenerate: int
    band: Band | None

    def predict(self, accuracies: ArrayLike) -> FloatArray:
        """What the line expects on the new test set, as fractions."""
        return self.scale.inverse(self.slope.value * self.scale.transform(accuracies) + self.intercept.value)


def fit_line(
    x: ArrayLike,
    y: ArrayLike,
    *,
    rng: np.random.Generator,
    scale: Scale = Scale.LINEAR,
    images: int | None = None,
    draws: int = 100_000,
    confidence: float = 0.95,
    band_points: int = 200,
) -> LineFit:
    """One line through m models, from accuracies ``x`` and ``y`` (m,) as fractions; see `fit_lines`."""
    return fit_lines(
        x, np.atleast_2d(y), rng=rng, scale=scale, images=images, draws=draws, confidence=confidence,
        band_points=band_points,
    )[0]  # fmt: skip


def fit_lines(
    x: ArrayLike,
    ys: ArrayLike,
    *,
    rng: np.random.Generator,
    scale: Scale = Scale.LINEAR,
    images: int | None = None,
    draws: int = 100_000,
    confidence: float = 0.95,
    band_points: int = 200,
) -> list[LineFit]:
    """A line for each of t new test sets, from accuracies ``x`` (m,) and ``ys`` (t, m) as fractions.

    All sets share the same draws of models. On the probit and logit scales accuracies of 0 and 1
    have no place; ``images`` moves them in by half an image. ``band_points=0`` leaves the band out.
    Fewer than three models, or models all alike on the original, raise. As everywhere, percentile intervals are
    a little short with few models: at 0.95 they cover about 0.91 with 20 and 0.94 with 60.
    """
    a, b = _checked(x, ys)
    a, b = (scale.transform(_inside(values, scale, images)) for values in (a, b))
    slopes, intercepts = _least_squares(a, b, np.ones((1, len(a))))
    drawn_slopes, drawn_intercepts = _bootstrap(a, b, draws, rng)
    kept = np.isfinite(drawn_slopes[0])
    if not kept.any():
        raise UndefinedError("no draw of models has two different accuracies: there is no line to fit")
    sure = tail_share(confidence), 1 - tail_share(confidence)
    fits = []
    for t in range(len(b)):
        line = float(slopes[t, 0]), float(intercepts[t, 0])
        drawn = drawn_slopes[t, kept], drawn_intercepts[t, kept]
        slope, intercept = (
            _estimate(value, values, len(a), sure, confidence) for value, values in zip(line, drawn, strict=True)
        )
        fit = _r_squared(b[t], line[0] * a + line[1])
        grid = np.linspace(a.min(), a.max(), band_points)
        band = _band(grid, line, drawn, scale, sure) if band_points else None
        fits.append(LineFit(scale, slope, intercept, fit, draws, int(draws - kept.sum()), band))
    return fits


def _checked(x: ArrayLike, ys: ArrayLike) -> tuple[FloatArray, FloatArray]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(ys, dtype=np.float64)
    if a.ndim != 1 or b.ndim != 2 or b.shape[1] != len(a):
        raise InputError(f"a line needs x of shape (m,) and y of shape (t, m), got {a.shape} and {b.shape}")
    if not ((a >= 0) & (a <= 1)).all() or not ((b >= 0) & (b <= 1)).all():
        raise InputError("accuracies must be fractions between 0 and 1")
    if len(a) < 3:
        raise UndefinedError(f"a line needs at least three models, got {len(a)}")
    if np.ptp(a) == 0:
        raise UndefinedError("all models have the same accuracy on the original: there is no line to fit")
    return a, b


def _inside(values: FloatArray, scale: Scale, images: int | None) -> FloatArray:
    if scale is Scale.LINEAR:
        return values
    if images is not None:
        return np.clip(values, 0.5 / images, 1 - 0.5 / images)
    if ((values <= 0) | (values >= 1)).any():
        raise UndefinedError(f"accuracies of 0 or 1 have no {scale.value}: say how many images, to move them in")
    return values


def _bootstrap(a: FloatArray, b: FloatArray, draws: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    models = len(a)
    slopes = np.empty((len(b), draws))
    intercepts = np.empty((len(b), draws))
    step = max(1, _BLOCK // models)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        part = slice(start, start + size)
        slopes[:, part], intercepts[:, part] = _least_squares(a, b, _draw_counts(models, size, rng))
    return slopes, intercepts


def _draw_counts(models: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """Shape (draws, models): how often each model is drawn, with replacement."""
    picks = rng.integers(models, size=(draws, models), dtype=np.int32)
    picks += np.arange(draws, dtype=np.int32)[:, None] * models
    return np.bincount(picks.ravel(), minlength=draws * models).reshape(draws, models).astype(np.float64)


def _least_squares(a: FloatArray, b: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes and intercepts (t, draws) for drawn counts (draws, m); not a number where x is constant."""
    size = len(a)
    x, y = a - a.mean(), b - b.mean(axis=1, keepdims=True)  # centred: the sums lose no digits
    sums = counts @ np.column_stack([x, x * x, y.T, (x * y).T])
    mean_x, mean_y = sums[:, 0] / size, sums[:, 2 : 2 + len(b)].T / size
    spread = sums[:, 1] / size - mean_x**2
    degenerate = _degenerate(counts, a, spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (sums[:, 2 + len(b) :].T / size - mean_x * mean_y) / np.where(degenerate, np.nan, spread)
    intercepts = mean_y + b.mean(axis=1, keepdims=True) - slopes * (mean_x + a.mean())
    return slopes, intercepts


def _degenerate(counts: FloatArray, a: FloatArray, spread: FloatArray) -> BoolArray:
    """Draws whose models all have the same x: suspected by the tiny spread, then proven."""
    suspects = np.flatnonzero(spread <= 1e-9 * np.ptp(a) ** 2)
    degenerate = np.zeros(len(counts), dtype=bool)
    for draw in suspects:
        degenerate[draw] = np.ptp(a[counts[draw] > 0]) == 0
    return degenerate


def _outer_quantiles(values: FloatArray, sure: tuple[float, float]) -> tuple[float, float]:
    """Percentiles of values (n,), rounded outwards to drawn values."""
    last = len(values) - 1
    low, high = int(np.floor(sure[0] * last)), int(np.ceil(sure[1] * last))
    return _ranked(values, low), -_ranked(-values, last - high)


def _ranked(values: FloatArray, rank: int) -> float:
    """The value of this rank from below; a sample tells how far up to look (Floyd and Rivest 1975)."""
    sample = np.sort(values[::64])
    bound = sample[min(2 * rank // 64 + 8, len(sample) - 1)]
    lowest = np.compress(values <= bound, values)
    return float(np.partition(lowest if len(lowest) > rank else values, rank)[rank])


def _estimate(value: float, drawn: FloatArray, models: int, sure: tuple[float, float], confidence: float) -> Estimate:
    low, high = _outer_quantiles(drawn, sure)
    return Estimate(value, low, high, models, method_name("bootstrap over models", confidence))


def _r_squared(y: FloatArray, fitted: FloatArray) -> float:
    """The share of variance explained; 1 where y does not vary and the line goes through it."""
    if np.ptp(y) == 0:
        return 1.0
    return float(1 - ((y - fitted) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def _band(grid: FloatArray, line: _Line, drawn: _Lines, scale: Scale, sure: tuple[float, float]) -> Band:
    """The line over a grid of x, and the percentiles of the drawn lines at each point."""
    low, high = np.empty(len(grid)), np.empty(len(grid))
    for i, x in enumerate(grid):
        low[i], high[i] = _outer_quantiles(drawn[0] * x + drawn[1], sure)
    return Band(*(scale.inverse(values) for values in (grid, line[0] * grid + line[1], low, high)))
