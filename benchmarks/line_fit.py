"""Lines with 100,000 bootstrap draws for 20 test sets at once, compared with scipy.stats.bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from benchmarks.measure import seconds
from benchmarks.result import Result, verify
from regrade.stats import LineFit, bootstrap_lines

_SETS, _DRAWS, _POINTS = 20, 100_000, 200
_BATCH = {67: 500, 1_000: 250}  # by models: scipy's fastest among 30, 100, 250, 500, 1,000 and 4,000
_SHARE = 5  # all sets in one scipy call are slow: a fifth of the draws, scaled up

Statistic = Callable[..., np.ndarray]


def run() -> Iterator[Result]:
    for models in (67, 1_000):
        x, ys = accuracies(models)
        grid = np.linspace(x.min(), x.max(), _POINTS)
        _verify_agreement(x, ys, grid)
        plain, band, scipy_plain, scipy_band, scipy_at_once = seconds(
            lambda x=x, ys=ys: ours(x, ys, points=0),
            lambda x=x, ys=ys: ours(x, ys, points=_POINTS),
            lambda x=x, ys=ys: theirs((x, ys[0]), line),
            lambda x=x, ys=ys, grid=grid: theirs((x, ys[0]), line_and_band(grid)),
            lambda x=x, ys=ys: theirs((x, *ys), lines, draws=_DRAWS // _SHARE),
            rounds=2,
        )
        case = f"{_SETS} sets, {models:,} models"
        one_by_one = f"scipy.stats.bootstrap, 1 set x {_SETS}"
        yield Result("line_fit", case, "s", plain, scipy_plain * _SETS, one_by_one, aim_ratio=10)
        yield Result("line_fit", f"{case}, with band", "s", band, scipy_band * _SETS, one_by_one, aim_ratio=10)
        at_once = f"scipy.stats.bootstrap, all sets in one call, 1/{_SHARE} of the draws x {_SHARE}"
        yield Result("line_fit", case, "s", plain, scipy_at_once * _SHARE, at_once, aim_ratio=10)


def accuracies(models: int) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies on the original (m,) and on the new test sets (t, m), around a line as in Recht et al. 2019."""
    rng = np.random.default_rng(models)
    x = rng.uniform(0.5, 0.85, models)
    return x, 1.1 * x - 0.2 + rng.normal(0, 0.01, (_SETS, models))


def ours(x: np.ndarray, ys: np.ndarray, *, points: int) -> list[LineFit]:
    return bootstrap_lines(x, ys, rng=np.random.default_rng(0), draws=_DRAWS, band_points=points)


def theirs(data: tuple[np.ndarray, ...], statistic: Statistic, *, draws: int = _DRAWS) -> tuple[np.ndarray, np.ndarray]:
    interval = stats.bootstrap(
        data, statistic, paired=True, vectorized=True, method="percentile", n_resamples=draws,
        batch=_BATCH[len(data[0])], rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    return interval.low, interval.high


def line(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
    """Slope and intercept along the last axis, stacked in front."""
    return lines(x, y, axis=axis)


def lines(x: np.ndarray, *ys: np.ndarray, axis: int = -1) -> np.ndarray:
    """Slope and intercept for each y in turn."""
    mean_x = x.mean(axis=axis)
    centered = x - np.expand_dims(mean_x, axis)
    spread = (centered * centered).sum(axis=axis)
    coefficients = []
    for y in ys:
        slope = (centered * y).sum(axis=axis) / spread
        coefficients += [slope, y.mean(axis=axis) - slope * mean_x]
    return np.stack(coefficients)


def line_and_band(grid: np.ndarray) -> Statistic:
    """Slope, intercept, and the line at each point of the grid."""

    def statistic(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        slope, intercept = line(x, y, axis=axis)
        points = grid.reshape(-1, *(1,) * slope.ndim)
        return np.concatenate([[slope], [intercept], slope * points + intercept])

    return statistic


def _verify_agreement(x: np.ndarray, ys: np.ndarray, grid: np.ndarray) -> None:
    fit = ours(x, ys[:1], points=_POINTS)[0]
    low, high = theirs((x, ys[0]), line_and_band(grid))
    assert fit.band is not None
    own_low = np.array([fit.slope.low, fit.intercept.low, *fit.band.low])
    own_high = np.array([fit.slope.high, fit.intercept.high, *fit.band.high])
    # The standard error of a 2.5% quantile of 100,000 normal draws is 0.85% of their deviation; five of two such.
    allowed = 5 * np.sqrt(2) * 0.0085 * (high - low) / 3.92
    agree = (np.abs(own_low - low) < allowed).all() and (np.abs(own_high - high) < allowed).all()
    verify(agree, f"slope, intercept and band of {len(x):,} models agree within Monte Carlo error")
