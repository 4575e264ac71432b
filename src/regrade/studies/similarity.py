"""How alike are models: do they err on the same images, answer the same class, and which belong together?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import Predictions, TestSet, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.joint_counts import joint_counts
from regrade.metrics import agreement, independent_dominance
from regrade.metrics.similarity import consistency_from_counts, dominance_from_counts
from regrade.stats import (
    Intervals,
    bonferroni_confidence,
    clopper_pearson,
    cluster,
    covariance_interval,
    kappa_interval,
    proportions,
)
from regrade.stats.intervals import method_name
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.same_images import SameImages, same_images
from regrade.studies.scoring import Scoring
from regrade.studies.similarity_result import PairMatrix, Similarity

ALIKE = 0.6
"""The mean kappa from which models belong together: where agreement is usually called substantial."""


def similarity(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    labels: ReviewedLabels | None = None,
    slice_name: str | None = None,
    confidence: float = 0.95,
) -> Similarity:
    """Measure how alike all pairs of two or more models are on the same images, and order the models by it.

    What is right under ``labels``, and on what images, is as in `compare`. Error consistency is Cohen's kappa of being
    right (Geirhos et al. 2020); the dominance probability is how often the weaker of two models is right where the
    stronger is wrong (Mania and Sra 2020). Models are clustered by 1 - kappa with average linkage.
    """
    return similarity_of(
        same_images(test_set, predictions, labels=labels, slice_name=slice_name, confidence=confidence)
    )


def similarity_of(found: SameImages) -> Similarity:
    """As `similarity`, of models that are side by side already; the order in which they come does not matter."""
    images = found.basis.images
    if not images:
        raise UndefinedError("there is no image to compare the models on")
    by_name = np.array(sorted(range(len(found.models)), key=lambda i: found.models[i]))
    both = joint_counts(found.correct[by_name])
    order, clusters = _clusters(consistency_from_counts(both, images), np.diagonal(both))
    places, both = by_name[order], both[np.ix_(order, order)]
    tables, confidence = _Tables(both, images), found.basis.confidence
    return Similarity(
        found.basis,
        tuple(found.models[i] for i in places),
        tuple(proportions(np.diagonal(both), images, confidence=confidence)),
        clusters,
        ALIKE,
        _kappa(tables, confidence),
        _agreement(found.classes[places], [found.class_spaces[i] for i in places], confidence),
        _dominance(tables, confidence),
        independent_dominance(found.correct[places]),
        _excess(tables, found.correct[places], confidence),
    )


@dataclass(frozen=True)
class _Tables:
    """How many images each two models both have right (m, m), and how many there are."""

    both: IntArray
    images: int

    @property
    def counts(self) -> tuple[IntArray, IntArray, IntArray, int]:
        """How many both, only the first and only the second have right, and all."""
        right = np.diagonal(self.both)
        return self.both, right[:, None] - self.both, right[None, :] - self.both, self.images


def _kappa(tables: _Tables, confidence: float) -> PairMatrix:
    value = consistency_from_counts(tables.both, tables.images)
    bounds = kappa_interval(*tables.counts, confidence=confidence)
    return _matrix(value, bounds, np.diagonal(value), method_name("delta, adjusted", confidence))


def _agreement(classes: IntArray, spaces: Sequence[str], confidence: float) -> PairMatrix:
    """How often models answer the same class; undefined between models that know other classes."""
    value = agreement(classes)
    bounds = _exact(value, classes.shape[1], confidence)
    found = _matrix(value, bounds, np.ones(len(value)), method_name("clopper-pearson", confidence))
    other = np.not_equal.outer(np.array(spaces), np.array(spaces))
    for part in (found.value, found.low, found.high):
        part[other] = np.nan
    return found


def _dominance(tables: _Tables, confidence: float) -> PairMatrix:
    value = dominance_from_counts(tables.both, tables.images)
    bounds = _exact(value, tables.images, confidence)
    return _matrix(value, bounds, np.zeros(len(value)), method_name("clopper-pearson", confidence))


def _excess(tables: _Tables, correct: BoolArray, confidence: float) -> PairMatrix:
    """Dominance beyond independence: whoever is the stronger, it is minus the covariance of being right.

    Its intervals hold for all pairs together.
    """
    value = dominance_from_counts(tables.both, tables.images) - independent_dominance(correct)
    pairs = len(value) * (len(value) - 1) // 2
    covariance = covariance_interval(*tables.counts, confidence=bonferroni_confidence(pairs, confidence))
    bounds = Intervals(-covariance.high, -covariance.low)
    method = "delta, adjusted" if pairs == 1 else f"delta, adjusted, {pairs:,} together"
    return _matrix(value, bounds, np.zeros(len(value)), method_name(method, confidence))


def _exact(shares: FloatArray, images: int, confidence: float) -> Intervals:
    return clopper_pearson(np.rint(shares * images).astype(np.int64), images, confidence=confidence)


def _matrix(value: FloatArray, bounds: Intervals, diagonal: FloatArray, method: str) -> PairMatrix:
    """A model and itself leave nothing to chance."""
    own = diagonal.copy()
    for part in (value, bounds.low, bounds.high):
        np.fill_diagonal(part, own)
    return PairMatrix(value, bounds.low, bounds.high, method)


def _clusters(kappa: FloatArray, right: IntArray) -> tuple[IntArray, tuple[int, ...]]:
    """The order of the models, from the end with the more accurate or else earlier one, and their clusters along it.

    Kappa is undefined only where both models are always right or both always wrong: they are the same.
    """
    distances = 1 - np.where(np.isnan(kappa), 1.0, kappa)
    np.fill_diagonal(distances, 0.0)
    found = cluster(distances, threshold=1 - ALIKE)
    order, members = found.order, found.members
    if (right[order[-1]], order[0]) > (right[order[0]], order[-1]):
        order, members = order[::-1], members.max() - members
    return order, tuple((members[order] + 1).tolist())
