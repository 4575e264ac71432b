"""What fewer epochs or a single member would have given: how far the score needs all of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from regrade.core import Estimate
from regrade.core.arrays import FloatArray
from regrade.metrics import ConfusionEntropies
from regrade.stats import kendall, robust_pearson
from regrade.studies.confusion.distribution import ScoreBins, peak
from regrade.studies.confusion.undefined_scores import defined

STRIDES = (3, 5, 10, 20)
"""Every so many of the epochs, from the first on (Albiero et al. 2023, Figure 5)."""

_MOST = 8  # members whose scores are compared pair by pair


@dataclass(frozen=True)
class ReducedCheckpoints:
    """The score from some of the checkpoints: its correlation with the full score, none if undefined, and its peak."""

    what: str
    epochs: int
    members: int
    correlation: Estimate | None
    peak: float

    def as_dict(self) -> dict[str, Any]:
        """The part, ready for JSON."""
        return {**vars(self), "correlation": self.correlation.as_dict() if self.correlation else None}


@dataclass(frozen=True)
class RankAgreement:
    """Kendall's tau-b between the scores that two ensembles, or two members of one, give the same images."""

    first: str
    second: str
    tau: Estimate | None

    def as_dict(self) -> dict[str, Any]:
        """The pair, ready for JSON."""
        return {**vars(self), "tau": self.tau.as_dict() if self.tau else None}


def fewer_checkpoints(
    entropies: ConfusionEntropies, names: tuple[str, ...], bins: ScoreBins, *, unit: float, confidence: float
) -> tuple[ReducedCheckpoints, ...]:
    """The score from every 3rd, 5th, 10th and 20th epoch, as far as two are left, and from each member alone.

    ``unit`` is how many bits one unit of the score is.
    """
    full = entropies.score / unit
    epochs, members = len(entropies.epochs), len(names)

    def fewer(what: str, scores: FloatArray, *, epochs: int, members: int) -> ReducedCheckpoints:
        r = defined(robust_pearson, scores, full, confidence=confidence)
        return ReducedCheckpoints(what, epochs, members, r, peak(scores, bins))

    found = []
    for stride in STRIDES:
        if epochs > stride:
            kept = entropies.epochs[::stride]
            what = f"every {stride}{'rd' if stride == 3 else 'th'} epoch"
            found.append(fewer(what, kept.mean(axis=0, dtype=float) / unit, epochs=len(kept), members=members))
    if members > 1:
        found += [
            fewer(f"member {name} alone", own / unit, epochs=epochs, members=1)
            for name, own in zip(names, entropies.members, strict=True)
        ]
    return tuple(found)


def rank_agreements(scores: dict[str, FloatArray], *, confidence: float) -> tuple[RankAgreement, ...]:
    """Kendall's tau-b between all pairs of scores (n,) of the same images, in O(n log n)."""
    pairs = combinations(list(scores)[:_MOST], 2)
    return tuple(
        RankAgreement(one, two, defined(kendall, scores[one], scores[two], confidence=confidence)) for one, two in pairs
    )
