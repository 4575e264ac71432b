"""Coverage over households of scores of classes: recall and F1 of a class, balanced accuracy and F1 over classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.calibration.checks import coverage_check, repeated
from benchmarks.calibration.households import alike, households
from regrade.core import Estimate
from regrade.core.arrays import IntArray
from regrade.stats import balanced_proportion, clustered_f1_scores, group_shares, macro_f1, weighted_f1

_RIGHT = 0.8
"""The accuracy; as all classes are alike, it is also each recall, precision and F1."""

Score = Callable[[IntArray, IntArray, IntArray], Estimate]


def graded(
    rng: np.random.Generator, count: int, *, classes: int, apart: bool, right: float = _RIGHT
) -> tuple[IntArray, IntArray, IntArray]:
    """Labels, predictions and households (n,); ``apart``: all images of a household have the same label."""
    clusters = households(rng, count)
    labels = rng.integers(0, classes, count)[clusters] if apart else rng.integers(0, classes, len(clusters))
    wrong = (labels + rng.integers(1, classes, len(labels))) % classes
    return labels, np.where(alike(rng, clusters, rows=1)[0] < right, labels, wrong), clusters


def drawn(rng: np.random.Generator, *, score: Score, count: int, classes: int, apart: bool) -> Estimate:
    return score(*graded(rng, count, classes=classes, apart=apart))


def recall_of_first(labels: IntArray, predicted: IntArray, clusters: IntArray) -> Estimate:
    return group_shares(labels == predicted, labels, clusters).estimates(0.95)[0]


def f1_of_first(labels: IntArray, predicted: IntArray, clusters: IntArray) -> Estimate:
    return clustered_f1_scores(labels, predicted, clusters)[0]


def balanced(labels: IntArray, predicted: IntArray, clusters: IntArray) -> Estimate:
    return balanced_proportion(labels == predicted, labels, clusters)[0]


for apart in (False, True):
    homes = "households of 1 to 8 images, each of one class" if apart else "households of 1 to 8 images of any class"
    for name, maker, score, count, classes in (
        ("recall of a class over clusters", "stats.shares_of_groups.estimates", recall_of_first, 60, 4),
        ("F1 of a class over clusters", "stats.f1.clustered_f1_scores", f1_of_first, 60, 4),
        ("F1 of a class over clusters", "stats.f1.clustered_f1_scores", f1_of_first, 400, 4),
        ("balanced accuracy over clusters", "stats.balanced_proportions._widened", balanced, 60, 4),
        ("balanced accuracy over clusters", "stats.means.korn_graubard", balanced, 300, 20),
        ("macro F1 over clusters", "stats.f1.macro_f1", macro_f1, 100, 4),
        ("macro F1 over clusters", "stats.f1._mean_f1", macro_f1, 400, 12),
        ("weighted F1 over clusters", "stats.f1._mean_f1", weighted_f1, 100, 4),
    ):
        draw = repeated(partial(drawn, score=score, count=count, classes=classes, apart=apart), _RIGHT)
        coverage_check(name, maker=maker, case=f"{classes} classes, {homes}", n=count, draw=draw)
