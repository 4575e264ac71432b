"""Null checks of the findings of `compare`: models that are equally accurate, or that differ by the margin."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import correct_predictions, equal_models, model_names
from regrade.core.arrays import BoolArray
from regrade.studies import Basis, Comparison, compare_correctness

MARGIN = 0.02
"""Margin of equivalence, and the difference of models that are not equivalent."""
_EQUIVALENT = ("comparison: a pair is equivalent", "comparison: a pair differs within the margin")


@null_check(
    "comparison: one of two is ahead",
    "comparison: a pair differs within the margin",
    case="2 equal models, 1,000 images",
)
def two_equal_models(rng: np.random.Generator) -> Comparison:
    return compared(equal_models(rng, models=2, images=1_000), margin=0.1)


@null_check(*_EQUIVALENT, case="2 models that differ by the margin, 5,000 images")
def two_models_at_the_margin(rng: np.random.Generator) -> Comparison:
    return compared(correct_predictions(rng, [0.75, 0.75 + MARGIN], images=5_000), margin=MARGIN)


@null_check(*_EQUIVALENT, case="4 models that differ by the margin or more, 5,000 images")
def models_at_the_margin(rng: np.random.Generator) -> Comparison:
    return compared(correct_predictions(rng, 0.72 + MARGIN * np.arange(4), images=5_000), margin=MARGIN)


@null_check(
    "comparison: one is ahead of all",
    "comparison: some cannot be the best",
    "comparison: every step of the ranking",
    "comparison: steps of the ranking",
    "comparison: a pair differs",
    case="20 equal models, 1,000 images",
)
def many_equal_models(rng: np.random.Generator) -> Comparison:
    return compared(equal_models(rng, models=20, images=1_000))


def compared(correct: BoolArray, *, margin: float | None = None) -> Comparison:
    """All pairs of models, from their correctness (m, n)."""
    basis = Basis("images", correct.shape[1], equivalence=margin)
    return compare_correctness(model_names(len(correct)), correct, basis=basis)
