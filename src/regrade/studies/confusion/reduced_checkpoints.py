"""Confusion scores from fewer epochs or a single member, compared with the full score."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from regrade.core import Estimate
from regrade.core.arrays import FloatArray
from regrade.metrics import ConfusionEntropies
from regrade.stats import kendall, robust_pearson
from regrade.studies.confusion.distribution import ScoreBins, none_if_undefined, peak

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


def fewer_checkpoints(
    entropies: ConfusionEntropies, names: tuple[str, ...], bins: ScoreBins, *, unit: float, confidence: float
) -> tuple[ReducedCheckpoints, ...]:
    """Return the score from every 3rd, 5th, 10th and 20th epoch (if at least two remain), and from each member alone.

    ``unit`` is the number of bits per unit of the score.
    """
    full = entropies.score / unit
    epochs, members = len(entropies.epochs), len(names)

    def fewer(what: str, scores: FloatArray, *, epochs: int, members: int) -> ReducedCheckpoints:
        r = none_if_undefined(robust_pearson, scores, full, confidence=confidence)
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


def rank_agreements(scores: dict[str, FloatArray], *, confidence: float) -> tuple[RankAgreement, ...]:
    """Return Kendall's tau-b between all pairs of scores (n,) of the same images, in O(n log n)."""
    pairs = combinations(list(scores)[:_MAX_COMPARED], 2)
    return tuple(
        RankAgreement(first, second, none_if_undefined(kendall, scores[first], scores[second], confidence=confidence))
        for first, second in pairs
    )
