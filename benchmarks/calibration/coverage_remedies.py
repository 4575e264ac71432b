"""Coverage of the intervals of `remedies`: differences of two methods over seeds and images, and of their extremes."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.calibration.checks import coverage_check, repeated
from benchmarks.calibration.null_remedies import (
    compared_drops,
    compared_methods,
    seeded_correctness,
    seeded_drops,
    true_accuracies,
)
from regrade.core import Estimate
from regrade.studies import RemedyMeasure

SKILLS = np.array([[1.4, 1.0, 0.4], [1.3, 1.1, 0.8]])
_BEFORE, _AFTER = true_accuracies(SKILLS)
_TRUTHS = {
    RemedyMeasure.ACCURACY: float((_AFTER - _BEFORE).mean()),
    RemedyMeasure.WORST_GROUP: float(_AFTER.min() - _BEFORE.min()),
    RemedyMeasure.DISPARITY: float(np.ptp(_AFTER) - np.ptp(_BEFORE)),
}


def difference(rng: np.random.Generator, *, measure: RemedyMeasure, seeds: int, images: int) -> Estimate:
    """The difference of a measure in three groups; overall accuracy is compared alone, without a correction."""
    groups = 0 if measure is RemedyMeasure.ACCURACY else 3
    result = compared_methods(seeded_correctness(rng, SKILLS, seeds=seeds, images=images), groups=groups)
    return next(row.difference for row in result.rows if row.measure is measure)


for measure, truth in _TRUTHS.items():
    for seeds, images in ((3, 90), (3, 900), (6, 300)):
        coverage_check(
            f"remedy minus baseline, {measure.value}",
            maker="studies.paired_groups._estimate",
            case=f"{seeds} seeds, 3 groups",
            n=images,
            draw=repeated(partial(difference, measure=measure, seeds=seeds, images=images), truth),
        )


DROP_SKILLS = np.array([[1.4, 0.4], [1.3, 0.8]])
"""Of the baseline and the remedy, on the original and the new set."""
_OLD, _NEW = true_accuracies(DROP_SKILLS).T
_DROPS = _OLD - _NEW


def drop(rng: np.random.Generator, *, seeds: int, images: tuple[int, int]) -> Estimate:
    """The change of the drop, with a 95% interval of its own: three rows together have 85%."""
    result = compared_drops(*seeded_drops(rng, DROP_SKILLS, seeds=seeds, images=images), confidence=0.85)
    return next(row.difference for row in result.rows if row.measure is RemedyMeasure.DROP)


for seeds, both in ((3, (60, 40)), (3, (900, 300)), (6, (300, 300))):
    coverage_check(
        "remedy minus baseline, drop",
        maker="studies.paired_groups._estimate",
        case=f"{seeds} seeds, two test sets",
        n=sum(both),
        draw=repeated(partial(drop, seeds=seeds, images=both), float(_DROPS[1] - _DROPS[0])),
    )
