"""Null checks of `gate`: PASS for a candidate that violates a rule, and FAIL for one that meets all of them.

On a ladder, PASS for any of many submissions, none of which is better than the first model.
"""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import labeled_set, predicted
from regrade.core import Ladder
from regrade.core.arrays import BoolArray
from regrade.studies import GateResult, GateRules
from regrade.studies.gate.analysis import GateSet, gate
from regrade.studies.gate.ladder import Discordant, Entrant, climb
from regrade.studies.seeded_methods import SeededMethod

MARGIN = 0.02
GROUPS = 4


def paired(rng: np.random.Generator, images: int, gained: float, lost: float) -> BoolArray:
    """Correctness (2, n) of a baseline and a candidate that gains and loses these shares of images."""
    drawn = rng.random(images)
    changed = drawn < gained + lost
    baseline = np.where(changed, drawn >= gained, rng.random(images) < 0.8)
    return np.stack([baseline, np.where(changed, drawn < gained, baseline)])


def decided(correct: BoolArray, rules: GateRules) -> GateResult:
    """The gate of a candidate, the last half of ``correct`` (2k, n), over the baseline, in groups of equal size."""
    images, seeds = correct.shape[1], len(correct) // 2
    test_set = labeled_set(images, group=tuple(str(number % GROUPS) for number in range(images)))
    pairs = {predictions.model: (predictions, scoring) for predictions, scoring in predicted(test_set, correct)}
    models = list(pairs)
    baseline, candidate = (
        SeededMethod(name, {str(seed): model for seed, model in enumerate(part)})
        for name, part in (("baseline", models[:seeds]), ("candidate", models[seeds:]))
    )
    return gate([GateSet(test_set, rules, pairs, candidate, baseline)])


@null_check("gate: pass", "gate: fail", case="a candidate at the margin, 1,000 images")
def at_the_margin(rng: np.random.Generator) -> GateResult:
    return decided(paired(rng, 1_000, 0.02, 0.02 + MARGIN), GateRules(margin=MARGIN))


@null_check("gate: pass", case="a candidate at the margin of one of six rules, 800 images")
def one_rule_violated(rng: np.random.Generator) -> GateResult:
    rules = GateRules(margin=MARGIN, slice_margins={"group": 0.2}, floors=0.5)
    return decided(paired(rng, 800, 0.0, MARGIN), rules)


@null_check("gate: fail", case="a candidate equal to the baseline, ten rules, 800 images")
def equal_to_the_baseline(rng: np.random.Generator) -> GateResult:
    rules = GateRules(
        require_better=True, slice_margins={"group": 0.0}, floors={"group": 0.77}, max_negative_flips=0.05
    )
    return decided(paired(rng, 800, 0.05, 0.05), rules)


@null_check("gate: fail", case="a candidate at the margin of every slice, with few images that change, 400 images")
def at_every_margin(rng: np.random.Generator) -> GateResult:
    return decided(paired(rng, 400, 0.0, MARGIN), GateRules(margin=MARGIN, slice_margins={"group": MARGIN}))


@null_check("gate: pass", "gate: fail", case="four seeds at the margin, 1,000 images")
def seeds_at_the_margin(rng: np.random.Generator) -> GateResult:
    skill = rng.random(1_000) < 0.8
    accuracies = np.where(skill, 0.95, 0.4)
    effect = rng.normal(0, 0.005, size=(8, 1))
    shift = np.repeat([[MARGIN], [0.0]], 4, axis=0)
    return decided(rng.random((8, 1_000)) < accuracies - 0.03 + shift + effect, GateRules(margin=MARGIN))


@null_check("gate: pass", case="60 submissions to a ladder that keep what passed and change a tenth of it, 400 images")
def learning_from_a_ladder(rng: np.random.Generator) -> GateResult:
    labels, best = rng.integers(0, 2, (2, 400))
    ladder = Ladder("held-back", "first", "", 0.95)
    for number in range(60):
        changed = np.where(rng.random(400) < 0.1, rng.integers(0, 2, 400), best)
        result = submitted(ladder, number, changed == labels, best == labels)
        if result.passed or result.ladder is None:
            break
        ladder = result.ladder
    return result


def submitted(ladder: Ladder, number: int, right: BoolArray, best: BoolArray) -> GateResult:
    """A submission to a ladder, from the correctness (n,) of the candidate and of the best model so far."""
    counts = Discordant(int((right & ~best).sum()), int((best & ~right).sum()), len(right))
    return climb(ladder, Entrant(str(number), f"{number}", ""), lambda: counts)
