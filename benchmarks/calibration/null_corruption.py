"""Null checks of the findings on corruptions: equally robust models, or equally hard corruptions."""

from __future__ import annotations

from itertools import product

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import SPACE, predicted
from regrade.core import TestSet
from regrade.core.arrays import BoolArray
from regrade.studies import CorruptionGrade, corruption_grade

_SEVERITIES = ("1", "2")
_BOTH = ("corruption: most robust model", "corruption: hardest corruption")


@null_check(*_BOTH, case="8 equal models, 6 equal corruptions, 200 images")
def equal_everywhere(rng: np.random.Generator) -> CorruptionGrade:
    return corrupted(_wrong(rng, models=8, images=200))


@null_check(*_BOTH, case="2 equal models, 2 equal corruptions, 50 images")
def two_of_each(rng: np.random.Generator) -> CorruptionGrade:
    return corrupted(_wrong(rng, models=2, images=50, corruptions=2))


@null_check(*_BOTH, case="8 models and 6 corruptions, two equally good at the top, 200 images")
def two_in_front(rng: np.random.Generator) -> CorruptionGrade:
    more = np.zeros((8, 6, 1, 1))
    more[2:] += 0.1
    more[:, :2] += 0.1
    return corrupted(_wrong(rng, models=8, images=200, more=more))


def _wrong(
    rng: np.random.Generator, *, models: int, images: int, corruptions: int = 6, more: float | np.ndarray = 0.0
) -> BoolArray:
    """Errors (m, corruptions, severities, n) of models; the difficulty of images is common to all."""
    hardness = rng.beta(0.6, 1.2, images)
    return rng.random((models, corruptions, len(_SEVERITIES), images)) < hardness + more


def corrupted(wrong: BoolArray) -> CorruptionGrade:
    """The grade of models, from their errors (m, corruptions, severities, n)."""
    models, corruptions, _, images = wrong.shape
    rows = list(product((f"corruption {number}" for number in range(corruptions)), _SEVERITIES, range(images)))
    columns = zip(*rows, strict=True)
    groups = {name: tuple(map(str, column)) for name, column in zip(_COLUMNS, columns, strict=True)}
    ids = tuple("/".join(map(str, row)) for row in rows)
    test_set = TestSet("corrupted", SPACE, ids, np.zeros(len(rows), dtype=np.int32), groups)
    return corruption_grade(test_set, predicted(test_set, ~wrong.reshape(models, -1)))


_COLUMNS = ("corruption", "severity", "image")
