"""Null checks of `study classes`: classes that are equally hard."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.coverage_clustered_classes import graded
from regrade.core import ClassSpace
from regrade.studies import ClassGrades, PredictedClasses, class_study

_KINDS = ("classes: weakest class", "classes: some classes are not the weakest")


@null_check(*_KINDS, case="10 equal classes of 60 images")
def equal_classes(rng: np.random.Generator) -> ClassGrades:
    return studied(rng, np.full(10, 60), np.full(10, 0.8))


@null_check(*_KINDS, case="30 equal classes of 3 to 90 images")
def unequal_sizes(rng: np.random.Generator) -> ClassGrades:
    return studied(rng, np.arange(3, 93, 3), np.full(30, 0.9))


@null_check("classes: weakest class", case="30 classes, two share the lowest recall")
def two_weakest(rng: np.random.Generator) -> ClassGrades:
    return studied(rng, np.full(30, 200), np.repeat([0.5, 0.8], [2, 28]))


@null_check(*_KINDS, case="10 equal classes, 150 households of 1 to 8 images, each of one class")
def equal_classes_in_households(rng: np.random.Generator) -> ClassGrades:
    return over_households(rng, 150, apart=True, right=0.8)


@null_check(*_KINDS, case="10 equal classes, 40 households of 1 to 8 images of any class")
def equal_classes_in_few_households(rng: np.random.Generator) -> ClassGrades:
    return over_households(rng, 40, apart=False, right=0.9)


def over_households(rng: np.random.Generator, count: int, *, apart: bool, right: float) -> ClassGrades:
    labels, predicted, clusters = graded(rng, count, classes=10, apart=apart, right=right)
    space = ClassSpace("simulated", tuple(f"class {number}" for number in range(10)))
    return class_study("simulated", space, [PredictedClasses("model", labels, predicted, clusters)])


def studied(rng: np.random.Generator, sizes: np.ndarray, recalls: np.ndarray) -> ClassGrades:
    """Two models on classes of these sizes and recalls."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    space = ClassSpace("simulated", tuple(f"class {number}" for number in range(len(sizes))))
    models = []
    for number in range(2):
        right = rng.random(len(labels)) < recalls[labels]
        wrong = (labels + rng.integers(1, len(sizes), len(labels))) % len(sizes)
        models.append(PredictedClasses(f"model {number}", labels, np.where(right, labels, wrong)))
    return class_study("simulated", space, models)
