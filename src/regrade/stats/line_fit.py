"""Line fits through models: accuracy on a new test set against accuracy on the original one.

Ordinary least squares on the linear, probit or logit scale. The intervals describe variation over models, and are
valid for few models and heteroscedastic residuals.

`bootstrap_lines` reproduces published figures (Recht et al. 2019): percentile intervals of a bootstrap over models.
With few models they are too short: at 0.95 their coverage is about 0.91 with 20 models and 0.93 with 60.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import method_name, tail_share

_EPSILON = 1e-12  # 1 - leverage below this: the line must go through the model
_BLOCK = 1 << 20  # resampled models fitted at a time: some megabytes
_PIECE = 1 << 17  # resampled models drawn at a time: the buffers stay in the CPU cache

_Line = tuple[float, float]  # slope and intercept
_Lines = tuple[FloatArray, FloatArray]


class Scale(Enum):
    """The scale on which the line is fitted."""

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
                return scipy.special.ndtri(values)
            case Scale.LOGIT:
                return scipy.special.logit(values)

    def inverse(self, values: ArrayLike) -> FloatArray:
        """From the scale back to fractions."""
        scaled = np.asarray(values, dtype=np.float64)
        match self:
            case Scale.LINEAR:
                return scaled
            case Scale.PROBIT:
                return scipy.special.ndtr(scaled)
            case Scale.LOGIT:
                return scipy.special.expit(scaled)


@dataclass(frozen=True)
class Band:
    """The fitted line with its pointwise interval over a grid of x, all as fractions."""

    x: FloatArray
    line: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class LineFit:
    """A fitted line, y = slope * x + intercept on a scale.

    For bootstrap intervals, ``draws`` is the number of draws and ``degenerate`` the number of excluded draws without
    a slope.
    """

    scale: Scale
    slope: Estimate
    intercept: Estimate
    r_squared: float
    band: Band | None
    draws: int = 0
    degenerate: int = 0

    def predict(self, accuracies: ArrayLike) -> FloatArray:
        """Return the accuracies expected on the new test set, as fractions."""
        return self.scale.inverse(self.slope.value * self.scale.transform(accuracies) + self.intercept.value)


def fit_line(
    x: ArrayLike,
    y: ArrayLike,
    *,
    scale: Scale = Scale.LINEAR,
    images: int | None = None,
    confidence: float = 0.95,
    band_points: int = 200,
) -> LineFit:
    """Fit one line through m models, from accuracies ``x`` and ``y`` (m,) as fractions; see `fit_lines`."""
    return fit_lines(
        x, np.atleast_2d(y), scale=scale, images=images, confidence=confidence, band_points=band_points
    )[0]  # fmt: skip


def fit_lines(
    x: ArrayLike,
    ys: ArrayLike,
    *,
    scale: Scale = Scale.LINEAR,
    images: int | None = None,
    confidence: float = 0.95,
    band_points: int = 200,
    at: ArrayLike | None = None,
) -> list[LineFit]:
    """Fit a line for each of t new test sets, from accuracies ``x`` (m,) and ``ys`` (t, m) as fractions.

    The intervals are heteroscedasticity-robust t intervals (HC2) with Bell-McCaffrey degrees of freedom (Bell and
    McCaffrey 2002; Imbens and Kolesár 2016). They are wide where one or two models determine the line; if the residuals
    at one end are four times as large as at the other, coverage with 20 models is 0.93 at 0.95. On the probit and logit
    scales accuracies of 0 and 1 are infinite; ``images`` moves them inwards by half an image. The band has
    ``band_points`` points from the smallest to the largest x (0 for no band), or the accuracies ``at`` if given. Raises
    for fewer than three models, or if all models have the same accuracy on the original.
    """
    a, b = scaled_accuracies(x, ys, scale, images)
    grid = np.linspace(a.min(), a.max(), band_points)
    if at is not None:
        grid = scale.transform(_inside(np.asarray(at, dtype=np.float64), scale, images))
    contrasts = line_contrasts(a, grid)
    values = b @ contrasts.T
    residuals = b - values[:, :1] * a - values[:, 1:2]
    half_widths = _half_widths(a, contrasts, residuals, confidence)
    name = method_name("robust t over models", confidence)
    fits = []
    rows = zip(b, values, values - half_widths, values + half_widths, residuals, strict=True)
    for y, value, low, high, residual in rows:
        slope, intercept = (Estimate(float(value[i]), float(low[i]), float(high[i]), len(a), name) for i in (0, 1))
        band = Band(*(scale.inverse(part) for part in (grid, value[2:], low[2:], high[2:]))) if len(grid) else None
        fits.append(LineFit(scale, slope, intercept, r_squared(y, residual), band))
    return fits


def scaled_accuracies(x: ArrayLike, ys: ArrayLike, scale: Scale, images: int | None) -> tuple[FloatArray, FloatArray]:
    """Return accuracies (m,) and (t, m), validated and transformed to the scale."""
    a: FloatArray = np.asarray(x, dtype=np.float64)
    b: FloatArray = np.asarray(ys, dtype=np.float64)
    if a.ndim != 1 or b.ndim != 2 or b.shape[1] != len(a):
        raise InputError(f"a line needs x of shape (m,) and y of shape (t, m), got {a.shape} and {b.shape}")
    if not ((a >= 0) & (a <= 1)).all() or not ((b >= 0) & (b <= 1)).all():
        raise InputError("accuracies must be fractions between 0 and 1")
    if len(a) < 3:
        raise UndefinedError(f"a line needs at least three models, got {len(a)}")
    a, b = (scale.transform(_inside(values, scale, images)) for values in (a, b))
    if np.ptp(a) == 0:
        raise UndefinedError("all models have the same accuracy on the original: there is no line to fit")
    return a, b


def r_squared(y: FloatArray, residuals: FloatArray) -> float:
    """Return the share of variance explained; 1 if y is constant."""
    if np.ptp(y) == 0:
        return 1.0
    return float(1 - (residuals**2).sum() / ((y - y.mean()) ** 2).sum())


def _inside(values: FloatArray, scale: Scale, images: int | None) -> FloatArray:
    if scale is Scale.LINEAR:
        return values
    if images is not None:
        return np.clip(values, 0.5 / images, 1 - 0.5 / images)
    if ((values <= 0) | (values >= 1)).any():
        raise UndefinedError(f"accuracies of 0 or 1 have no {scale.value}: pass images to move them inwards")
    return values


def line_contrasts(a: FloatArray, grid: FloatArray) -> FloatArray:
    """Shape (2 + g, m): weights of the models' y in the slope, the intercept and the line over the grid."""
    centered = a - a.mean()
    slope = centered / (centered @ centered)
    return np.vstack([slope, 1 / len(a) + np.outer(np.r_[0.0, grid] - a.mean(), slope)])


def _half_widths(a: FloatArray, contrasts: FloatArray, residuals: FloatArray, confidence: float) -> FloatArray:
    """Shape (t, p): half-widths of the intervals for p weighted sums (p, m) of the models' y."""
    weights, freedom = robust_weights(a, contrasts)
    return scipy.special.stdtrit(freedom, 1 - tail_share(confidence)) * np.sqrt(residuals**2 @ weights.T)


def robust_weights(a: FloatArray, contrasts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weights (p, m) of squared residuals in the variances of p weighted sums, and degrees of freedom (p,).

    Residuals are scaled up by their leverage (HC2). A model that the line must go through has no residual; its variance
    is taken from the other models. Correlated residuals reduce the degrees of freedom.
    """
    models = len(a)
    unit = (a - a.mean()) / np.linalg.norm(a - a.mean())
    remaining = 1 - 1 / models - unit**2  # 1 - leverage
    fixed = remaining < _EPSILON
    remaining = np.where(fixed, 0.0, remaining)
    squares = contrasts**2
    shares = np.where(fixed, 0.0, squares) + np.outer(squares @ fixed, remaining / (models - 2))
    scale = np.where(fixed, 1.0, remaining)
    correlation = -(1 / models + np.outer(unit, unit)) / np.sqrt(np.outer(scale, scale))
    np.fill_diagonal(correlation, 1.0)
    freedom = shares.sum(axis=1) ** 2 / ((shares @ correlation**2) * shares).sum(axis=1)
    return shares / scale, freedom


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
