"""Similarity of models: errors on the same images, equal predictions, and clusters of models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import Predictions, TestSet, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray, joint_counts
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
from regrade.studies.image_basis import SameImages, same_images
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.scoring import Scoring
from regrade.studies.similarity.result import PairMatrix, Similarity

CLUSTER_KAPPA = 0.6
"""Models with at least this mean kappa form a cluster; agreement from here on is usually called substantial."""


def similarity(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    labels: ReviewedLabels | None = None,
    slice_name: str | None = None,
    confidence: float = 0.95,
) -> Similarity:
    """Measure the similarity of all pairs of two or more models on the same images, and cluster the models.

    Scoring and images are as in `compare`. Error consistency is Cohen's kappa of correctness (Geirhos et al. 2020); the
    dominance probability is how often the weaker of two models is right where the stronger is wrong (Mania and Sra
    2020). Models are clustered by 1 - kappa with average linkage.
    """
    return similarity_of(
        same_images(test_set, predictions, labels=labels, slice_name=slice_name, confidence=confidence)
    )


def similarity_of(aligned: SameImages) -> Similarity:
    """As `similarity`, for models aligned on the same images already; their order does not matter."""
    images = aligned.basis.images
    if not images:
        raise UndefinedError("there is no image to compare the models on")
    by_name = np.array(sorted(range(len(aligned.models)), key=lambda i: aligned.models[i]))
    both = joint_counts(aligned.correct[by_name])
    order, clusters = _clusters(consistency_from_counts(both, images), np.diagonal(both))
    places, both = by_name[order], both[np.ix_(order, order)]
    tables, confidence = _Tables(both, images), aligned.basis.confidence
    return Similarity(
        aligned.basis,
        tuple(aligned.models[i] for i in places),
        tuple(proportions(np.diagonal(both), images, confidence=confidence)),
        clusters,
        CLUSTER_KAPPA,
        _kappa(tables, confidence),
        _agreement(aligned.classes[places], [aligned.class_spaces[i] for i in places], confidence),
        _dominance(tables, confidence),
        independent_dominance(aligned.correct[places]),
        _excess(tables, aligned.correct[places], confidence),
    )


@dataclass(frozen=True)
class _Tables:
    """How many images each pair of models both predict correctly (m, m), and the number of images."""

    both: IntArray
    images: int

    @property
    def counts(self) -> tuple[IntArray, IntArray, IntArray, int]:
        """Images that both, only the first and only the second model predict correctly, and all images."""
        right = np.diagonal(self.both)
        return self.both, right[:, None] - self.both, right[None, :] - self.both, self.images


def _kappa(tables: _Tables, confidence: float) -> PairMatrix:
    value = consistency_from_counts(tables.both, tables.images)
    bounds = kappa_interval(*tables.counts, confidence=confidence)
    return _matrix(value, bounds, np.diagonal(value), method_name("delta, adjusted", confidence))


def _agreement(classes: IntArray, spaces: Sequence[str], confidence: float) -> PairMatrix:
    """How often models predict the same class; undefined between models with different class spaces."""
    value = agreement(classes)
    bounds = _exact(value, classes.shape[1], confidence)
    matrix = _matrix(value, bounds, np.ones(len(value)), method_name("clopper-pearson", confidence))
    incomparable = np.not_equal.outer(np.array(spaces), np.array(spaces))
    for part in (matrix.value, matrix.low, matrix.high):
        part[incomparable] = np.nan
    return matrix


def _dominance(tables: _Tables, confidence: float) -> PairMatrix:
    value = dominance_from_counts(tables.both, tables.images)
    bounds = _exact(value, tables.images, confidence)
    return _matrix(value, bounds, np.zeros(len(value)), method_name("clopper-pearson", confidence))


def _excess(tables: _Tables, correct: BoolArray, confidence: float) -> PairMatrix:
    """Dominance in excess of independence: the negative covariance of correctness, whichever model is stronger.

    Its intervals are simultaneous for all pairs.
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
    """A matrix whose diagonal, a model compared with itself, has no uncertainty."""
    own = diagonal.copy()
    for part in (value, bounds.low, bounds.high):
        np.fill_diagonal(part, own)
    return PairMatrix(value, bounds.low, bounds.high, method)


def _clusters(kappa: FloatArray, right: IntArray) -> tuple[IntArray, tuple[int, ...]]:
    """The order of the models by clustering, starting at the more accurate end, and their cluster numbers.

    Kappa is undefined only if both models are always right or both always wrong; such models count as equal.
    """
    distances = 1 - np.where(np.isnan(kappa), 1.0, kappa)
    np.fill_diagonal(distances, 0.0)
    clustering = cluster(distances, threshold=1 - CLUSTER_KAPPA)
    order, members = clustering.order, clustering.members
    if (right[order[-1]], order[0]) > (right[order[0]], order[-1]):
        order, members = order[::-1], members.max() - members
    return order, tuple((members[order] + 1).tolist())
