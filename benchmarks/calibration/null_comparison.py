"""Null checks of the findings of `compare`: models that are equally accurate."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import equal_models, model_names
from regrade.core.arrays import BoolArray
from regrade.studies import Basis, Comparison, compare_correctness


@null_check("comparison: one of two is ahead", case="2 equal models, 1,000 images")
def two_equal_models(rng: np.random.Generator) -> Comparison:
    return compared(equal_models(rng, models=2, images=1_000))


@null_check(
    "comparison: one is ahead of all",
    "comparison: some cannot be the best",
    "comparison: every step of the ranking",
    "comparison: steps of the ranking",
    case="20 equal models, 1,000 images",
)
def many_equal_models(rng: np.random.Generator) -> Comparison:
    return compared(equal_models(rng, models=20, images=1_000))


def compared(correct: BoolArray) -> Comparison:
    """All pairs of models, from what they have right (m, n)."""
    return compare_correctness(model_names(len(correct)), correct, basis=Basis("images", correct.shape[1]))
