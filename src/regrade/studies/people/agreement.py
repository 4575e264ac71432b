"""Agreement between the people of a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from regrade.core import Estimate, UndefinedError
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import fleiss_kappa, krippendorff_alpha, pairwise_agreement


@dataclass(frozen=True)
class EqualPair:
    """How often two people gave the same answer."""

    first: str
    second: str
    share: Estimate


@dataclass(frozen=True)
class Agreement:
    """Agreement of people: share of equal answers, Fleiss' kappa and Krippendorff's alpha; None where undefined.

    The first two are over the images of the study (kappa over those that everyone answered), alpha over all images
    that two or more people answered.
    """

    equal: Estimate | None
    fleiss: Estimate | None
    krippendorff: Estimate | None
    pairs: tuple[EqualPair, ...]


def agreement(names: Sequence[str], classes: IntArray, images: BoolArray, *, confidence: float) -> Agreement | None:
    """Measure agreement from the classes that people answered (people, n), -1 for none; None for a single person.

    ``images`` (n,) marks the images of the study.
    """
    if len(names) < 2:
        return None
    shared = classes[:, images]
    complete = shared[:, (shared >= 0).all(axis=0)]
    pairs = []
    for i, j in combinations(range(len(names)), 2):
        share = _defined(pairwise_agreement, shared[[i, j]], confidence)
        pairs += [EqualPair(names[i], names[j], share)] if share else []
    return Agreement(
        _defined(pairwise_agreement, shared, confidence),
        _defined(fleiss_kappa, complete, confidence),
        _defined(krippendorff_alpha, classes, confidence),
        tuple(pairs),
    )


def _defined(measure: Callable[..., Estimate], answers: IntArray, confidence: float) -> Estimate | None:
    try:
        return measure(answers, confidence=confidence)
    except UndefinedError:
        return None
