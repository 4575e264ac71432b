"""Which models differ in accuracy: paired tests between models on the same images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from regrade.core import Estimate, InputError, Predictions, TestSet, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import clustered_best_share, clustered_share, design_effects, discordant_counts, proportions
from regrade.stats.ranking import rank_intervals_from_counts
from regrade.studies.compare.method_differences import method_differences, method_pairs
from regrade.studies.compare.model_pairs import ModelPairs, Pair, model_pairs
from regrade.studies.compare.result import Comparison, Rank
from regrade.studies.image_basis import Basis, same_images
from regrade.studies.image_clusters import ImageClusters
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.review_differences import MOST_PAIRS, ReviewDifferences
from regrade.studies.scoring import Scoring
from regrade.studies.seeded_methods import SeededMethod

EFFECTIVE_COUNTS = (
    "tests of pairs use effective counts: the discordant images divided by the design effect of the clusters"
)


def compare(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    labels: ReviewedLabels | None = None,
    slice_name: str | None = None,
    confidence: float = 0.95,
    equivalence: float | None = None,
    replicates: Sequence[SeededMethod] = (),
    clusters: ImageClusters | None = None,
) -> Comparison:
    """Compare all pairs of two or more models on the same images; predictions are read one model at a time.

    With ``labels``, predictions are scored against them, including decisions of a review. A novel prediction counts as
    wrong; the result says how many there are and how far they could change it. Accuracies are means over images.
    With ``equivalence``, a margin as a fraction, all pairs are also tested for equivalence within it. The methods of
    ``replicates`` are compared over their seeds too. With ``clusters``, all tests and intervals are over clusters.
    """
    aligned = same_images(test_set, predictions, labels=labels, slice_name=slice_name, confidence=confidence)
    pairs = method_pairs(replicates) if replicates else ()
    pair_notes = tuple(dict.fromkeys(note for pair in pairs for note in pair.notes))
    notes = (*aligned.basis.notes, *_sequence_notes(labels), *pair_notes)
    basis = replace(aligned.basis, equivalence=equivalence, notes=notes)
    members = None
    if clusters is not None:
        members = clusters.numbers[aligned.images]
        cluster_notes = (*clusters.notes(aligned.images), EFFECTIVE_COUNTS)
        basis = replace(basis, clusters=clusters.column, notes=(*notes, *cluster_notes))
    result = compare_correctness(
        aligned.models, aligned.correct, basis=basis, novel=aligned.novel, review=aligned.review, clusters=members
    )
    if not pairs:
        return result
    differences = method_differences(pairs, aligned.models, aligned.correct, members, confidence=confidence)
    return replace(result, methods=differences)


def _sequence_notes(labels: ReviewedLabels | None) -> tuple[str, ...]:
    """Why a review gives no difference that is valid at any stopping point; empty if it gives one."""
    if labels is None or labels.review is None or not labels.review.problematic.size:
        return ()
    return (
        "no difference is valid at any stopping point: the review finds images problematic, and which images count is "
        "not known before it is complete",
    )


def compare_correctness(
    models: tuple[str, ...],
    correct: BoolArray,
    *,
    basis: Basis,
    novel: IntArray | None = None,
    review: ReviewDifferences | None = None,
    clusters: IntArray | None = None,
) -> Comparison:
    """Compare all pairs of models from ``correct`` (m, n); ``novel`` (m,) counts predictions no one has judged.

    Images of one of the ``clusters`` (n,) are dependent: tests and intervals use effective counts of images, divided by
    the `design_effects` of the pairs. With a ``review``, each of up to 100 pairs has a difference that is valid at any
    stopping point.
    """
    if len(models) < 2:
        raise InputError(f"a comparison needs at least two models, got {len(models)}")
    if not correct.shape[1]:
        raise UndefinedError("there is no image to compare the models on")
    counts = discordant_counts(correct)
    accuracies = _accuracies(correct, clusters, basis.confidence)
    unjudged = np.zeros(len(models), dtype=np.int64) if novel is None else novel
    effects = None if clusters is None else design_effects(correct, clusters)
    first, second = np.triu_indices(len(models), k=1)
    pairs = _pairs(models, accuracies, counts, unjudged, basis, first=first, second=second, effects=effects)
    if review is not None and len(pairs) <= MOST_PAIRS:
        pairs = replace(pairs, review=review)
    best = None if clusters is None else clustered_best_share(correct, clusters, confidence=basis.confidence)
    effective = counts if effects is None else counts / effects
    return Comparison(basis, pairs, _ranks(models, accuracies, effective, unjudged, basis), clustered_best=best)


def _accuracies(correct: BoolArray, clusters: IntArray | None, confidence: float) -> list[Estimate]:
    if clusters is None:
        return proportions(correct.sum(axis=1), correct.shape[1], confidence=confidence)
    return [clustered_share(row, clusters, confidence=confidence) for row in correct]


def compare_groups(
    models: tuple[str, ...],
    correct: BoolArray,
    in_first: BoolArray,
    *,
    basis: Basis,
    novel: IntArray,
    clusters: IntArray | None = None,
) -> tuple[Pair, ...]:
    """Compare every model of one group with every model of the other; ``in_first`` (m,) marks the first group.

    P-values are corrected for these pairs only. Images of one of the ``clusters`` (n,) are dependent.
    """
    counts = discordant_counts(correct)
    accuracies = _accuracies(correct, clusters, basis.confidence)
    effects = None if clusters is None else design_effects(correct, clusters)
    first, second = (grid.ravel() for grid in np.meshgrid(*(np.flatnonzero(g) for g in (in_first, ~in_first))))
    if not len(first):
        return ()
    return tuple(_pairs(models, accuracies, counts, novel, basis, first=first, second=second, effects=effects))


def _pairs(
    models: tuple[str, ...],
    accuracies: list[Estimate],
    counts: IntArray,
    novel: IntArray,
    basis: Basis,
    *,
    first: IntArray,
    second: IntArray,
    effects: FloatArray | None = None,
) -> ModelPairs:
    return model_pairs(
        models,
        accuracies,
        counts,
        novel,
        first=first,
        second=second,
        images=basis.images,
        confidence=basis.confidence,
        margin=basis.equivalence,
        effects=effects,
    )


def _ranks(
    models: tuple[str, ...],
    accuracies: list[Estimate],
    counts: IntArray | FloatArray,
    novel: IntArray,
    basis: Basis,
) -> tuple[Rank, ...]:
    intervals = rank_intervals_from_counts(counts, [a.value for a in accuracies], confidence=basis.confidence)
    columns = (intervals.rank.tolist(), intervals.low.tolist(), intervals.high.tolist(), novel.tolist())
    rows = [Rank(*row) for row in zip(models, accuracies, *columns, strict=True)]
    return tuple(sorted(rows, key=lambda row: (row.rank, row.model)))
