"""Null checks of the findings of `grade`: slices that are equally hard."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.households import alike, households
from benchmarks.calibration.worlds import labeled_set, predicted
from regrade.core.arrays import IntArray
from regrade.studies import Grade
from regrade.studies.grade.analysis import grade
from regrade.studies.image_clusters import image_clusters

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


@null_check(*_SLICES, case="6 equal slices of 40 households of 1 to 8 images")
def equal_slices_of_households(rng: np.random.Generator) -> Grade:
    return sliced_households(rng, 6 * 40, slices=6)


@null_check(*_SLICES, case="12 equal slices, each with a few images of most of 100 households")
def equal_slices_within_households(rng: np.random.Generator) -> Grade:
    homes = households(rng, 100)
    return graded_in_households(rng, homes, rng.integers(0, 12, len(homes)).astype(str), slices=("part",))


@null_check("grade: harder slice", case="1 slice as hard as the rest, 20 of 80 households of 1 to 8 images")
def equal_slice_of_households(rng: np.random.Generator) -> Grade:
    homes = households(rng, 80)
    return graded_in_households(rng, homes, np.where(homes < 20, "inside", "rest"), slices=("part=inside",))


def sliced_households(rng: np.random.Generator, count: int, *, slices: int) -> Grade:
    """Two models on slices with as many whole households each."""
    homes = households(rng, count)
    return graded_in_households(rng, homes, (homes % slices).astype(str), slices=("part",))


def graded_in_households(
    rng: np.random.Generator, homes: IntArray, parts: np.ndarray, *, slices: tuple[str, ...]
) -> Grade:
    """Two models that are right on 80 % of the images of every slice, in households (n,)."""
    test_set = labeled_set(len(homes), part=tuple(parts.tolist()), household=tuple(map(str, homes)))
    correct = alike(rng, homes, rows=2) < 0.8
    return grade(test_set, predicted(test_set, correct), slices=slices, clusters=image_clusters(test_set, None))


def sliced(rng: np.random.Generator, sizes: np.ndarray, accuracies: float | np.ndarray = 0.8) -> Grade:
    """Two models on slices of these sizes and accuracies."""
    parts = np.repeat(np.arange(len(sizes)), sizes)
    shares = np.broadcast_to(accuracies, len(sizes))[parts]
    return graded(rng.random((2, len(parts))) < shares, parts.astype(str), slices=("part",))


def graded(correct: np.ndarray, parts: np.ndarray, *, slices: tuple[str, ...]) -> Grade:
    """The grade of models from their correctness (m, n), on slices by a column of parts (n,)."""
    test_set = labeled_set(len(parts), part=tuple(parts.tolist()))
    return grade(test_set, predicted(test_set, correct), slices=slices)
