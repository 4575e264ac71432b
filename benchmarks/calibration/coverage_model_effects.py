"""Coverage of slopes of a measure on an attribute of models: independent models, families, and adjusted accuracies."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from benchmarks.calibration.checks import coverage_check, repeated
from benchmarks.calibration.worlds import correct_predictions
from regrade.core import Estimate
from regrade.stats import MeasuredModels, accuracy_covariance, attribute_effect, biserial_correlations

SLOPE = 0.02


def independent(rng: np.random.Generator, *, models: int) -> Estimate:
    """Accuracies measured on fresh images, of models that scatter around a line through an attribute."""
    attribute = rng.normal(0, 1, models)
    accuracies = np.clip(0.7 + SLOPE * attribute + rng.normal(0, 0.03, models), 0.05, 0.95)
    right = correct_predictions(rng, accuracies, images=500)
    measure = MeasuredModels(right.mean(axis=1), accuracy_covariance(right))
    return attribute_effect(measure, attribute)


def in_families(rng: np.random.Generator, *, families: int) -> Estimate:
    """Families of 1 to 6 models with an attribute and residuals that are largely common to them."""
    numbers = np.repeat(np.arange(families), rng.permutation(np.arange(families) % 6 + 1))
    attribute = rng.normal(0, 1, families)[numbers] + rng.normal(0, 0.5, len(numbers))
    residuals = rng.normal(0, 0.05, families)[numbers] + rng.normal(0, 0.02, len(numbers))
    return attribute_effect(MeasuredModels(SLOPE * attribute + residuals), attribute, clusters=numbers)


def adjusted(rng: np.random.Generator, *, models: int) -> Estimate:
    """A third of the models is better on both sets, and a little better still on the new one."""
    member = (np.arange(models) % 3 == 0).astype(float)
    x = rng.uniform(0.55, 0.75, models) + 0.1 * member
    y = x - 0.1 + SLOPE * member + rng.normal(0, 0.01, models)
    old, new = (correct_predictions(rng, part, images=1_000) for part in (x, y))
    original, measure = (MeasuredModels(right.mean(axis=1), accuracy_covariance(right)) for right in (old, new))
    return attribute_effect(measure, member, adjusted_for=original)


def of_biserial_correlations(rng: np.random.Generator, *, models: int) -> Estimate:
    """Biserial correlations, on 600 images, of models whose relation to a score depends on an attribute."""
    attribute = rng.normal(0, 1, models)
    relation = np.clip(0.5 + SLOPE * attribute + rng.normal(0, 0.02, models), -0.9, 0.9)[:, None]
    score, own = rng.standard_normal(600), rng.standard_normal((models, 600))
    tendency = relation * score + np.sqrt(1 - relation**2) * own
    wrong = tendency > special.ndtri(1 - rng.uniform(0.1, 0.5, models))[:, None]
    return attribute_effect(biserial_correlations(np.exp(score), wrong, np.ones_like(wrong)), attribute)


for name, draw, sizes in (
    ("slope of biserial correlations", partial(of_biserial_correlations), (8, 30)),
    ("slope on an attribute", partial(independent), (8, 30)),
    ("difference at equal accuracy", partial(adjusted), (12, 30)),
):
    for size in sizes:
        coverage_check(
            name,
            maker="stats.model_effects.attribute_effect",
            case=f"{size} models",
            n=size,
            draw=repeated(partial(draw, models=size), SLOPE),
        )
for size in (6, 20):
    coverage_check(
        "slope on an attribute",
        maker="stats.model_effects.attribute_effect",
        case=f"{size} families of 1 to 6 models",
        n=size,
        draw=repeated(partial(in_families, families=size), SLOPE),
    )
