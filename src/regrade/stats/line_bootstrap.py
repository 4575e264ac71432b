"""Line fits with percentile intervals of a bootstrap over models, as in Recht et al. 2019.

Pairs of accuracies are drawn with replacement and the line is fitted to each draw. With few models percentile intervals
are too short: at 0.95 their coverage is about 0.91 with 20 models and 0.93 with 60. Use this module to reproduce
published figures; `fit_lines` has nominal coverage.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.errors import UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share
from regrade.stats.line_fit import Band, LineFit, Scale, r_squared, scaled_accuracies

_BLOCK = 1 << 20  # resampled models fitted at a time: some megabytes
_PIECE = 1 << 17  # resampled models drawn at a time: the buffers stay in the CPU cache

_Line = tuple[float, float]  # slope and intercept
_Lines = tuple[FloatArray, FloatArray]


def bootstrap_line(
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
    """Fit one line as `fit_line` does, with percentile intervals; see `bootstrap_lines`."""
    return bootstrap_lines(
        x, np.atleast_2d(y), rng=rng, scale=scale, images=images, draws=draws, confidence=confidence,
        band_points=band_points,
    )[0]  # fmt: skip


def bootstrap_lines(
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
    """Fit lines as `fit_lines` does, with percentile intervals of a bootstrap over models (Recht et al. 2019).

    All test sets share the same draws of models. With few models the intervals are too short: at 0.95 their coverage
    is about 0.91 with 20 and 0.93 with 60.
    """
    a, b = scaled_accuracies(x, ys, scale, images)
    slopes, intercepts = _least_squares(a, b, np.ones((1, len(a))))
    drawn_slopes, drawn_intercepts = _bootstrap(a, b, draws, rng)
    kept = np.isfinite(drawn_slopes[0])
    if not kept.any():
        raise UndefinedError("no draw of models has two different accuracies: the line is undefined")
    tails = tail_share(confidence), 1 - tail_share(confidence)
    fits = []
    for t in range(len(b)):
        line = float(slopes[t, 0]), float(intercepts[t, 0])
        drawn = drawn_slopes[t, kept], drawn_intercepts[t, kept]
        slope, intercept = (
            _estimate(value, values, len(a), tails, confidence) for value, values in zip(line, drawn, strict=True)
        )
        fit = r_squared(b[t], b[t] - line[0] * a - line[1])
        grid = np.linspace(a.min(), a.max(), band_points)
        band = _band(grid, line, drawn, scale, tails) if band_points else None
        fits.append(LineFit(scale, slope, intercept, fit, band, draws, int(draws - kept.sum())))
    return fits


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
    counts = np.empty((draws, models))
    step = max(1, _PIECE // models)
    for start in range(0, draws, step):
        piece = counts[start : start + step]
        picks = rng.integers(models, size=piece.shape, dtype=np.int32)
        picks += np.arange(len(piece), dtype=np.int32)[:, None] * models
        piece[:] = np.bincount(picks.ravel(), minlength=piece.size).reshape(piece.shape)
    return counts


def _least_squares(a: FloatArray, b: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes and intercepts (t, draws) for drawn counts (draws, m); NaN where x is constant."""
    size = len(a)
    x, y = a - a.mean(), b - b.mean(axis=1, keepdims=True)  # centered for numerical precision
    sums = counts @ np.column_stack([x, x * x, y.T, (x * y).T])
    mean_x, mean_y = sums[:, 0] / size, sums[:, 2 : 2 + len(b)].T / size
    spread = sums[:, 1] / size - mean_x**2
    degenerate = _degenerate(counts, a, spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (sums[:, 2 + len(b) :].T / size - mean_x * mean_y) / np.where(degenerate, np.nan, spread)
    intercepts = mean_y + b.mean(axis=1, keepdims=True) - slopes * (mean_x + a.mean())
    return slopes, intercepts


def _degenerate(counts: FloatArray, a: FloatArray, spread: FloatArray) -> BoolArray:
    """Draws whose models all have the same x: candidates have a tiny spread, and are then checked exactly."""
    suspects = np.flatnonzero(spread <= 1e-9 * np.ptp(a) ** 2)
    degenerate = np.zeros(len(counts), dtype=bool)
    for draw in suspects:
        degenerate[draw] = np.ptp(a[counts[draw] > 0]) == 0
    return degenerate


def _outer_quantiles(values: FloatArray, tails: tuple[float, float]) -> tuple[float, float]:
    """Percentiles of ``values`` (n,), rounded outwards to drawn values."""
    last = len(values) - 1
    low, high = int(np.floor(tails[0] * last)), int(np.ceil(tails[1] * last))
    return _ranked(values, low), -_ranked(-values, last - high)


def _ranked(values: FloatArray, rank: int) -> float:
    """The value with this ascending rank; a sample bounds the search (Floyd and Rivest 1975)."""
    sample = np.sort(values[::64])
    bound = sample[min(2 * rank // 64 + 8, len(sample) - 1)]
    lowest = np.compress(values <= bound, values)
    return float(np.partition(lowest if len(lowest) > rank else values, rank)[rank])


def _estimate(value: float, drawn: FloatArray, models: int, tails: tuple[float, float], confidence: float) -> Estimate:
    low, high = _outer_quantiles(drawn, tails)
    return Estimate(value, low, high, models, method_name("bootstrap over models", confidence))


def _band(grid: FloatArray, line: _Line, drawn: _Lines, scale: Scale, tails: tuple[float, float]) -> Band:
    """The line over a grid of x, with percentiles of the drawn lines at each point."""
    low, high = np.empty(len(grid)), np.empty(len(grid))
    for i, x in enumerate(grid):
        low[i], high[i] = _outer_quantiles(drawn[0] * x + drawn[1], tails)
    return Band(*(scale.inverse(values) for values in (grid, line[0] * grid + line[1], low, high)))
