"""Similarity of models: errors on the same images, equal predictions, and clusters of models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

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
    covariance_sizes,
    kappa_interval,
    kappa_sizes,
)
from regrade.stats.influence import effective_sizes
from regrade.stats.intervals import exact_bounds, method_name, tail_share
from regrade.studies.image_basis import SameImages, same_images
from regrade.studies.image_clusters import ImageClusters, mean_credit
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
    clusters: ImageClusters | None = None,
    confidence: float = 0.95,
) -> Similarity:
    """Measure the similarity of all pairs of two or more models on the same images, and cluster the models.

    Scoring and images are as in `compare`. Error consistency is Cohen's kappa of correctness (Geirhos et al. 2020); the
    dominance probability is how often the weaker of two models is right where the stronger is wrong (Mania and Sra
    2020). Models are clustered by 1 - kappa with average linkage. With ``clusters`` of images, intervals are over them.
    """
    aligned = same_images(test_set, predictions, labels=labels, slice_name=slice_name, confidence=confidence)
    if clusters is None:
        return similarity_of(aligned)
    notes = (*aligned.basis.notes, *clusters.notes(aligned.images))
    aligned = replace(aligned, basis=replace(aligned.basis, clusters=clusters.column, notes=notes))
    return similarity_of(aligned, clusters.numbers[aligned.images])


def similarity_of(aligned: SameImages, clusters: IntArray | None = None) -> Similarity:
    """As `similarity`, for models aligned on the same images already; their order does not matter.

    Images of one of the ``clusters`` (n,) are dependent.
    """
    images = aligned.basis.images
    if not images:
        raise UndefinedError("there is no image to compare the models on")
    by_name = np.array(sorted(range(len(aligned.models)), key=lambda i: aligned.models[i]))
    both = joint_counts(aligned.correct[by_name])
    order, members = _clusters(consistency_from_counts(both, images), np.diagonal(both))
    places, both = by_name[order], both[np.ix_(order, order)]
    correct, confidence = aligned.correct[places], aligned.basis.confidence
    tables = _Tables(both, images, correct, clusters)
    return Similarity(
        aligned.basis,
        tuple(aligned.models[i] for i in places),
        tuple(mean_credit(row, clusters, confidence=confidence) for row in correct),
        members,
        CLUSTER_KAPPA,
        _kappa(tables, confidence),
        _agreement(aligned.classes[places], [aligned.class_spaces[i] for i in places], clusters, confidence),
        _dominance(tables, confidence),
        independent_dominance(correct),
        _excess(tables, confidence),
    )


@dataclass(frozen=True)
class _Tables:
    """How many images each pair of models both predict correctly (m, m), and the number of images.

    ``correct`` (m, n) is the correctness of each model; images of one of the ``clusters`` (n,) are dependent.
    """

    both: IntArray
    images: int
    correct: BoolArray
    clusters: IntArray | None

    @property
    def counts(self) -> tuple[IntArray, IntArray, IntArray, int]:
        """Images that both, only the first and only the second model predict correctly, and all images."""
        right = np.diagonal(self.both)
        return self.both, right[:, None] - self.both, right[None, :] - self.both, self.images

    def named(self, method: str) -> str:
        """The method of an interval over the images, or over clusters of them."""
        return method if self.clusters is None else f"clustered {method}"


def _kappa(tables: _Tables, confidence: float) -> PairMatrix:
    value, clusters = consistency_from_counts(tables.both, tables.images), tables.clusters
    worth = None if clusters is None else kappa_sizes(tables.correct, clusters, confidence=confidence)
    bounds = kappa_interval(*tables.counts, worth=worth, confidence=confidence)
    return _matrix(value, bounds, np.diagonal(value), method_name(tables.named("delta, adjusted"), confidence))


def _agreement(classes: IntArray, spaces: Sequence[str], clusters: IntArray | None, confidence: float) -> PairMatrix:
    """How often models predict the same class; undefined between models with different class spaces."""

    def is_same(place: int) -> BoolArray:
        return (classes[place + 1 :] == classes[place]) & (classes[place] >= 0)

    matrix = _shares(agreement(classes), classes.shape[1], is_same, clusters=clusters, own=1.0, confidence=confidence)
    incomparable = np.not_equal.outer(np.array(spaces), np.array(spaces))
    for part in (matrix.value, matrix.low, matrix.high):
        part[incomparable] = np.nan
    return matrix


def _dominance(tables: _Tables, confidence: float) -> PairMatrix:
    value, right = dominance_from_counts(tables.both, tables.images), np.diagonal(tables.both)

    def is_only_weaker(place: int) -> BoolArray:
        first, rest = tables.correct[place], tables.correct[place + 1 :]
        is_first_weaker = (right[place] < right[place + 1 :])[:, None]
        return np.where(is_first_weaker, first & ~rest, rest & ~first)

    return _shares(value, tables.images, is_only_weaker, clusters=tables.clusters, own=0.0, confidence=confidence)


def _excess(tables: _Tables, confidence: float) -> PairMatrix:
    """Dominance in excess of independence: the negative covariance of correctness, whichever model is stronger.

    Its intervals are simultaneous for all pairs.
    """
    value = dominance_from_counts(tables.both, tables.images) - independent_dominance(tables.correct)
    pairs = len(value) * (len(value) - 1) // 2
    level, clusters = bonferroni_confidence(pairs, confidence), tables.clusters
    worth = None if clusters is None else covariance_sizes(tables.correct, clusters, confidence=level)
    covariance = covariance_interval(*tables.counts, worth=worth, confidence=level)
    bounds = Intervals(-covariance.high, -covariance.low)
    method = tables.named("delta, adjusted" if pairs == 1 else f"delta, adjusted, {pairs:,} together")
    return _matrix(value, bounds, np.zeros(len(value)), method_name(method, confidence))


def _shares(
    value: FloatArray,
    images: int,
    inside: Callable[[int], BoolArray],
    *,
    clusters: IntArray | None,
    own: float,
    confidence: float,
) -> PairMatrix:
    """The shares (m, m) of images; ``inside`` returns them (k, n) for the pairs of a model and the k after it.

    ``own`` is the share of a model and itself.
    """
    diagonal = np.full(len(value), own)
    if clusters is None:
        bounds = clopper_pearson(np.rint(value * images).astype(np.int64), images, confidence=confidence)
        return _matrix(value, bounds, diagonal, method_name("clopper-pearson", confidence))
    worth = np.full(value.shape, float(images))
    for place in range(len(value) - 1):
        rows = inside(place)
        influence = rows - rows.mean(axis=1, keepdims=True)
        sizes = effective_sizes(influence, clusters, upper=1 - tail_share(confidence))
        worth[place, place + 1 :] = worth[place + 1 :, place] = sizes
    bounds = exact_bounds(value * worth, worth, confidence=confidence)
    return _matrix(value, bounds, diagonal, method_name("clustered clopper-pearson", confidence))


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
