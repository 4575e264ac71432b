"""Null checks of `study models`: attributes and families at random, also with models of a family that are alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.households import correct_in_households, households
from benchmarks.calibration.worlds import correct_predictions, counted, model_names
from regrade.core import Estimate, ModelAttributes
from regrade.core.arrays import FloatArray, IntArray
from regrade.studies import ModelTrends
from regrade.studies.models.analysis import ModelSets, model_trends
from regrade.studies.models.result import ModelMeasure

_TREND = "models: a measure goes with an attribute"
_FAMILY = "models: a family differs"


@null_check(_TREND, _FAMILY, case="years at random, 12 models, 1,000 images")
def few_models(rng: np.random.Generator) -> ModelTrends:
    return studied(rng, rng.uniform(0.55, 0.85, 12), np.repeat(np.arange(3), 4), spread=0.0)


@null_check(_TREND, _FAMILY, case="years at random, 40 models, 1,000 images")
def many_models(rng: np.random.Generator) -> ModelTrends:
    return studied(rng, rng.uniform(0.55, 0.85, 40), np.repeat(np.arange(8), 5), spread=0.0)


@null_check(_TREND, case="8 alike families of 1 to 6 models, with years of their own")
def alike_families(rng: np.random.Generator) -> ModelTrends:
    families = np.repeat(np.arange(8), [6, 5, 4, 3, 2, 2, 1, 1])
    accuracies = rng.uniform(0.55, 0.85, 8)[families] + rng.normal(0, 0.02, len(families))
    return studied(rng, accuracies, families, spread=0.02)


@null_check(_TREND, case="early models err on other households than late ones, 60 households of 1 to 8 images")
def errors_on_other_households(rng: np.random.Generator) -> ModelTrends:
    clusters, years = households(rng, 60), [*range(2012, 2016), *range(2022, 2026)]
    right = np.concatenate([correct_in_households(rng, np.full(4, 0.7), clusters) for _ in range(2)])
    stated = {name: ModelAttributes(year=year) for name, year in zip(model_names(8), years, strict=True)}
    return model_trends(ModelSets(counted("new", right, clusters)), stated)


@null_check(_FAMILY, case="families of different accuracy on one line, 24 models, 2,000 images")
def families_on_a_line(rng: np.random.Generator) -> ModelTrends:
    """A family is more accurate on both sets: it is above the others, but not in effective robustness."""
    families = np.repeat(np.arange(4), 6)
    accuracies = (0.6 + 0.06 * families) + rng.normal(0, 0.02, 24)
    result = studied(rng, accuracies, families, spread=0.0, images=2_000)
    robustness = tuple(row for row in result.families if row.measure is ModelMeasure.ROBUSTNESS)
    return replace(result, families=robustness)


def studied(
    rng: np.random.Generator, accuracies: FloatArray, families: IntArray, *, spread: float, images: int = 1_000
) -> ModelTrends:
    """Models on an original and on a new set, 10 points lower; families have years, and shifts of this ``spread``."""
    drop = 0.1 + spread * rng.standard_normal(families.max() + 1)[families] + rng.normal(0, 0.005, len(families))
    years = rng.integers(2010, 2022, families.max() + 1)[families] + rng.integers(0, 2, len(families))
    old, new = (correct_predictions(rng, part, images=images) for part in (accuracies, accuracies - drop))
    stated = {
        name: ModelAttributes(family=f"family {family}", year=int(year), parameters=int(10 ** rng.uniform(5, 9)))
        for name, family, year in zip(model_names(len(families)), families, years, strict=True)
    }
    disparities = {name: Estimate(float(rng.beta(2, 20)), 0, 1, 500, "") for name in stated}
    return model_trends(ModelSets(counted("new", new), counted("old", old), disparities, "region"), stated)
