"""Coverage of the parameters of lines through models: slopes, their differences and ratios, the mean change.

Models are drawn around a true line; for intervals over images too, accuracies are measured on fresh images.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.calibration.checks import Drawn, Interval, coverage_check, repeated
from benchmarks.calibration.worlds import correct_predictions
from regrade.core import Estimate
from regrade.core.arrays import FloatArray
from regrade.stats import (
    Ratio,
    SampledShares,
    Scale,
    accuracy_covariance,
    bootstrap_line,
    fit_line,
    fit_noisy_line,
    slope_difference,
    slope_ratio,
    two_way_mean,
)
from regrade.studies.generalization.rows import robustness_to

SLOPE, SCATTER, CHANGE = 1.1, 0.01, -0.1


def models_on_a_line(rng: np.random.Generator, models: int, *, slope: float = SLOPE) -> tuple[FloatArray, FloatArray]:
    """True accuracies (m,) on an original and on a new test set."""
    x = rng.uniform(0.55, 0.85, models)
    return x, 0.6 + slope * (x - 0.7) + rng.normal(0, SCATTER, models)


def slope_over_models(rng: np.random.Generator, *, models: int) -> Estimate:
    return fit_line(*models_on_a_line(rng, models), band_points=0).slope


def bootstrap_slope(rng: np.random.Generator, *, models: int) -> Estimate:
    return bootstrap_line(*models_on_a_line(rng, models), rng=rng, draws=1_000, band_points=0).slope


def slope_over_models_and_images(rng: np.random.Generator, *, models: int) -> Interval:
    x, y = models_on_a_line(rng, models)
    old, new = (correct_predictions(rng, accuracies, images=1_000) for accuracies in (x, y))
    x_noise, y_noise = (accuracy_covariance(each) for each in (old, new))
    fit = fit_noisy_line(old.mean(axis=1), new.mean(axis=1), x_noise=x_noise, y_noise=y_noise, band_points=0).fit
    return Ratio(None, None, None, models, "no line") if fit is None else fit.slope


def mean_change(rng: np.random.Generator, *, models: int) -> Estimate:
    x = rng.uniform(0.6, 0.9, models)
    y = x + CHANGE + rng.normal(0, SCATTER, models)
    old, new = (correct_predictions(rng, accuracies, images=500) for accuracies in (x, y))
    return two_way_mean(new.mean(axis=1) - old.mean(axis=1), accuracy_covariance(old) + accuracy_covariance(new))


def difference_of_slopes(rng: np.random.Generator, *, models: int) -> Estimate:
    x, first = models_on_a_line(rng, models)
    return slope_difference(x, first, 0.5 + 0.6 * (x - 0.7) + rng.normal(0, SCATTER, models))


def ratio_of_slopes(rng: np.random.Generator, *, models: int) -> Ratio:
    x, first = models_on_a_line(rng, models)
    return slope_ratio(x, first, 0.5 + 0.55 * (x - 0.7) + rng.normal(0, SCATTER, models))


def robustness(rng: np.random.Generator, runs: int, *, models: int, own_images: int = 2_000) -> Drawn:
    """A model, or a person with fewer images, that is 3 points above a line on the linear scale."""
    low, high = np.empty(runs), np.empty(runs)
    images = np.append(np.full(models, 2_000), own_images)
    for run in range(runs):
        x = rng.uniform(0.55, 0.85, models + 1)
        y = 0.6 + SLOPE * (x - 0.7) + rng.normal(0, SCATTER, models + 1)
        y[-1] = 0.6 + SLOPE * (x[-1] - 0.7) + 0.03
        shares = (SampledShares(rng.binomial(images, accuracies), images) for accuracies in (x, y))
        standard = np.arange(models + 1) < models
        estimate = robustness_to(*shares, standard=standard, scale=Scale.LINEAR, confidence=0.95)[1][-1]
        low[run], high[run] = estimate.low, estimate.high
    return Drawn(low, high, 0.03)


_NUMBERS = (
    ("slope over models", "stats.line_fit.fit_lines", slope_over_models, SLOPE, 0.93),
    ("slope, percentiles of models", "stats.line_fit._estimate", bootstrap_slope, SLOPE, 0.85),
    ("slope over models and images", "stats.noisy_line._fitted", slope_over_models_and_images, SLOPE, 0.93),
    ("mean change", "stats.two_way.two_way_mean", mean_change, CHANGE, 0.93),
    ("difference of slopes", "stats.slopes.slope_difference", difference_of_slopes, SLOPE - 0.6, 0.93),
    ("ratio of slopes", "stats.slopes.slope_ratio", ratio_of_slopes, SLOPE / 0.55, 0.93),
)
for number, maker, estimate, truth, least in _NUMBERS:
    for size in (8, 30):
        draw = repeated(partial(estimate, models=size), truth)
        coverage_check(number, maker=maker, case=f"{size} models", n=size, draw=draw, least=least)
for size in (8, 30):
    coverage_check(
        "effective robustness",
        maker="studies.generalization.rows.robustness_to",
        case=f"{size} models, 2,000 images",
        n=size,
        draw=partial(robustness, models=size),
    )
coverage_check(
    "effective robustness",
    maker="studies.generalization.rows.robustness_to",
    case="a person, 300 images, and 30 models, 2,000 images",
    n=30,
    draw=partial(robustness, models=30, own_images=300),
)
