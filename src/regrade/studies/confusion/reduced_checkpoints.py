"""Confusion scores from fewer epochs or a single member, compared with the full score."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import FloatArray, IntArray
from regrade.metrics import ConfusionEntropies, TrainingScores
from regrade.stats import kendall, robust_pearson
from regrade.studies.confusion.distribution import ScoreBins, none_if_undefined, peak
from regrade.studies.image_clusters import numbers_in

STRIDES = (3, 5, 10, 20)
"""Strides over the epochs, starting with the first (Albiero et al. 2023, Figure 5)."""

_MAX_COMPARED = 8  # ensembles or members that are compared pairwise


@dataclass(frozen=True)
class ReducedCheckpoints:
    """The score from a subset of the checkpoints: its correlation with the full score (None if undefined) and peak."""

    what: str
    epochs: int
    members: int
    correlation: Estimate | None
    peak: float


@dataclass(frozen=True)
class RankAgreement:
    """Kendall's tau-b between the scores of two ensembles, or of two members of one, on the same images."""

    first: str
    second: str
    tau: Estimate | None


@dataclass(frozen=True)
class StridedScore:
    """The score from every ``stride``-th epoch of all members or of the first one: images per bin (b,), and peak.

    ``easy_score`` is that of an image that is uncertain at the first checkpoint and certain at all others: the largest
    score over the number of epochs. ``error_correlation`` is Pearson's r with the share of models that err on an image.
    """

    stride: int
    epochs: int
    members: int
    easy_score: float
    peak: float
    counts: tuple[int, ...]
    error_correlation: Estimate | None


def strided_scores(
    training: TrainingScores,
    bins: ScoreBins,
    errors: FloatArray,
    clusters: IntArray | None = None,
    *,
    unit: float,
    confidence: float,
) -> tuple[StridedScore, ...]:
    """Return the scores by stride and members (Albiero et al. 2023, Figures 5 and 6), if at least two epochs remain.

    ``errors`` (n,) is the share of models that err on each image, NaN where none is graded. ``unit`` is the number of
    bits per unit of the score. Images of one of the ``clusters`` (n,) are dependent.
    """
    ensemble = training.entropies
    choices = {len(ensemble.members): ensemble.epochs} | {1: training.first_member}
    epochs = len(ensemble.epochs)
    graded = np.isfinite(errors)
    rows = []
    for members, entropies in sorted(choices.items(), reverse=True):
        for stride in (1, *(stride for stride in STRIDES if epochs > stride)):
            kept = entropies[::stride]
            scores = np.clip(kept.mean(axis=0, dtype=np.float64) / unit, 0.0, bins.top)
            numbers = numbers_in(clusters, graded)
            r = none_if_undefined(robust_pearson, scores[graded], errors[graded], numbers, confidence=confidence)
            counts = np.bincount(bins.of(scores), minlength=bins.count)
            rows.append(
                StridedScore(
                    stride, len(kept), members, bins.top / len(kept), peak(scores, bins), tuple(counts.tolist()), r
                )
            )
    return tuple(rows)


def fewer_checkpoints(
    entropies: ConfusionEntropies,
    names: tuple[str, ...],
    bins: ScoreBins,
    clusters: IntArray | None = None,
    *,
    unit: float,
    confidence: float,
) -> tuple[ReducedCheckpoints, ...]:
    """Return the score from every 3rd, 5th, 10th and 20th epoch (if at least two remain), and from each member alone.

    ``unit`` is the number of bits per unit of the score. Images of one of the ``clusters`` (n,) are dependent.
    """
    full = entropies.score / unit
    epochs, members = len(entropies.epochs), len(names)

    def fewer(what: str, scores: FloatArray, *, epochs: int, members: int) -> ReducedCheckpoints:
        r = none_if_undefined(robust_pearson, scores, full, clusters, confidence=confidence)
        return ReducedCheckpoints(what, epochs, members, r, peak(scores, bins))

    rows = []
    for stride in STRIDES:
        if epochs > stride:
            kept = entropies.epochs[::stride]
            what = f"every {stride}{'rd' if stride == 3 else 'th'} epoch"
            rows.append(fewer(what, kept.mean(axis=0, dtype=float) / unit, epochs=len(kept), members=members))
    if members > 1:
        rows += [
            fewer(f"member {name} alone", own / unit, epochs=epochs, members=1)
            for name, own in zip(names, entropies.members, strict=True)
        ]
    return tuple(rows)


def rank_agreements(
    scores: dict[str, FloatArray], clusters: IntArray | None = None, *, confidence: float
) -> tuple[RankAgreement, ...]:
    """Return Kendall's tau-b between all pairs of scores (n,) of the same images, in O(n log n).

    Images of one of the ``clusters`` (n,) are dependent.
    """
    agreements = []
    for first, second in combinations(list(scores)[:_MAX_COMPARED], 2):
        tau = none_if_undefined(kendall, scores[first], scores[second], clusters, confidence=confidence)
        agreements.append(RankAgreement(first, second, tau))
    return tuple(agreements)
