"""Null checks of `compare` and `gate` on images of households, which two models get right or wrong together."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.households import alike, changed_in_households, households
from benchmarks.calibration.worlds import labeled_set, model_names, predicted
from regrade.core.arrays import BoolArray, IntArray
from regrade.studies import Basis, Comparison, GateResult, GateRules, compare_correctness
from regrade.studies.gate.analysis import GateSet, gate
from regrade.studies.image_clusters import image_clusters
from regrade.studies.seeded_methods import SeededMethod

_MARGIN = 0.03


@null_check("comparison: one of two is ahead", case="2 equal models, 60 households of 1 to 8 images")
def two_equal_models_in_few_households(rng: np.random.Generator) -> Comparison:
    clusters = households(rng, 60)
    return compared(changed_in_households(rng, clusters, 0.1, 0.1), clusters)


@null_check(
    "comparison: one is ahead of all",
    "comparison: some cannot be the best",
    "comparison: steps of the ranking",
    "comparison: a pair differs",
    case="20 equal models, 300 households of 1 to 8 images",
)
def many_equal_models_in_households(rng: np.random.Generator) -> Comparison:
    clusters = households(rng, 300)
    return compared(alike(rng, clusters, rows=20) < 0.75, clusters)


@null_check("comparison: a pair is equivalent", case="2 models that differ by the margin, 300 households")
def at_the_margin_of_equivalence(rng: np.random.Generator) -> Comparison:
    clusters = households(rng, 300)
    return compared(changed_in_households(rng, clusters, 0.01 + _MARGIN, 0.01), clusters, margin=_MARGIN)


@null_check("gate: pass", "gate: fail", case="a candidate at the margin, 200 households of 1 to 8 images")
def candidate_at_the_margin(rng: np.random.Generator) -> GateResult:
    return decided(rng, 200, gained=0.02, lost=0.02 + _MARGIN, rules=GateRules(margin=_MARGIN))


@null_check("gate: pass", case="a candidate at the floor, 40 households of 1 to 8 images")
def candidate_at_the_floor(rng: np.random.Generator) -> GateResult:
    return decided(rng, 40, gained=0.0, lost=0.0, rules=GateRules(floors=0.8))


def compared(correct: BoolArray, clusters: IntArray, *, margin: float | None = None) -> Comparison:
    """All pairs of models over households, from their correctness (m, n)."""
    basis = Basis("images", correct.shape[1], equivalence=margin)
    return compare_correctness(model_names(len(correct)), correct, basis=basis, clusters=clusters)


def decided(rng: np.random.Generator, count: int, *, gained: float, lost: float, rules: GateRules) -> GateResult:
    """The gate of a candidate and a baseline on a test set with households."""
    clusters = households(rng, count)
    correct = changed_in_households(rng, clusters, gained, lost)
    test_set = labeled_set(len(clusters), household=tuple(map(str, clusters)))
    pairs = {predictions.model: (predictions, scoring) for predictions, scoring in predicted(test_set, correct)}
    before, after = (SeededMethod(name, {"0": name}) for name in pairs)
    return gate([GateSet(test_set, rules, pairs, after, before, clusters=image_clusters(test_set, None))])
