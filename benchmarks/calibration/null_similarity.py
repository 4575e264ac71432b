"""Null checks of the findings of `study similarity`: models that err independently."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.households import alike, households
from benchmarks.calibration.worlds import labeled_set, predicted
from regrade.core.arrays import BoolArray, IntArray
from regrade.studies import Similarity
from regrade.studies.image_clusters import image_clusters
from regrade.studies.similarity.analysis import similarity

_TWO = ("similarity: two err on the same images", "similarity: two err on different images")
_MANY = ("similarity: most pairs share errors", "similarity: some pairs share errors")


@null_check(*_TWO, case="2 independent models, 100 images")
def two_independent_models(rng: np.random.Generator) -> Similarity:
    return independent(rng, models=2, images=100)


@null_check(*_MANY, case="3 independent models, 100 images")
def three_independent_models(rng: np.random.Generator) -> Similarity:
    return independent(rng, models=3, images=100)


@null_check(*_MANY, case="20 independent models, 1,000 images")
def many_independent_models(rng: np.random.Generator) -> Similarity:
    return independent(rng, models=20, images=1_000)


@null_check(*_TWO, case="2 independent models, 60 households of 1 to 8 images")
def two_independent_models_in_households(rng: np.random.Generator) -> Similarity:
    return over_households(*in_households(rng, models=2, count=60))


@null_check(*_MANY, case="8 independent models, 200 households of 1 to 8 images")
def independent_models_in_households(rng: np.random.Generator) -> Similarity:
    return over_households(*in_households(rng, models=8, count=200))


def in_households(rng: np.random.Generator, *, models: int, count: int) -> tuple[BoolArray, IntArray]:
    """Correctness (m, n) of models that err independently of each other, each on whole households, and these (n,)."""
    clusters = households(rng, count)
    return alike(rng, clusters, rows=models) < rng.uniform(0.6, 0.9, (models, 1)), clusters


def over_households(correct: BoolArray, clusters: IntArray) -> Similarity:
    test_set = labeled_set(len(clusters), household=tuple(map(str, clusters)))
    return similarity(test_set, predicted(test_set, correct), clusters=image_clusters(test_set, None))


def independent(rng: np.random.Generator, *, models: int, images: int) -> Similarity:
    """Models of different accuracies with independent errors."""
    correct = rng.random((models, images)) < rng.uniform(0.6, 0.9, (models, 1))
    test_set = labeled_set(images)
    return similarity(test_set, predicted(test_set, correct))
