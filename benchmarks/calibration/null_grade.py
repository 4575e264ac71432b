"""Null checks of the findings of `grade`: slices that are equally hard."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import labeled_set, predicted
from regrade.studies import Grade
from regrade.studies.grade.analysis import grade

_SLICES = ("grade: weakest slice", "grade: some slices are not the weakest")


@null_check(*_SLICES, case="6 equal slices of 100 images")
def few_equal_slices(rng: np.random.Generator) -> Grade:
    return sliced(rng, np.full(6, 100))


@null_check(*_SLICES, case="30 equal slices of 5 to 150 images")
def many_equal_slices(rng: np.random.Generator) -> Grade:
    return sliced(rng, np.arange(5, 155, 5))


@null_check("grade: weakest slice", case="30 slices, two share the lowest accuracy")
def two_weakest_slices(rng: np.random.Generator) -> Grade:
    return sliced(rng, np.full(30, 200), np.repeat([0.6, 0.8], [2, 28]))


@null_check("grade: harder slice", case="1 slice as hard as the rest, 100 of 400 images")
def equal_slice(rng: np.random.Generator) -> Grade:
    return graded(rng.random((1, 400)) < 0.8, np.repeat(["inside", "rest"], [100, 300]), slices=("part=inside",))


def sliced(rng: np.random.Generator, sizes: np.ndarray, accuracies: float | np.ndarray = 0.8) -> Grade:
    """Two models on slices of these sizes and accuracies."""
    parts = np.repeat(np.arange(len(sizes)), sizes)
    shares = np.broadcast_to(accuracies, len(sizes))[parts]
    return graded(rng.random((2, len(parts))) < shares, parts.astype(str), slices=("part",))


def graded(correct: np.ndarray, parts: np.ndarray, *, slices: tuple[str, ...]) -> Grade:
    """The grade of models from their correctness (m, n), on slices by a column of parts (n,)."""
    test_set = labeled_set(len(parts), part=tuple(parts.tolist()))
    return grade(test_set, predicted(test_set, correct), slices=slices)
