"""How far in the hierarchy a mistaken class is from a right one, and what kind of mistake that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regrade.core import UNRELATED, Estimate, MistakeCategory, MistakeReview, Steps, hierarchy_distances
from regrade.core.arrays import IntArray
from regrade.stats import proportions
from regrade.studies.mistakes.mistake_labels import MistakeLabels, MistakeList

DEFINITION = f"{Steps.MAX.value} to a common ancestor, the least over ancestors, paths and right classes"
"""How distances are counted here."""


@dataclass(frozen=True)
class DistanceCount:
    """The mistakes of one source at one distance (none: no common ancestor), as a share of all that have one.

    ``categories`` are the shares of each category among them, none without a review. At distance 0 the labels accept
    what the review calls a mistake.
    """

    source: str
    distance: int | None
    mistakes: int
    share: Estimate
    categories: Mapping[MistakeCategory, Estimate] | None = None


def distances_of(mistakes: MistakeList, ground: MistakeLabels, *, confidence: float) -> list[DistanceCount]:
    """Count a model's mistakes by distance; answers that are missing and images without a right class are left out."""
    return _counted(mistakes.source, least_distances(mistakes.examples, mistakes.classes, ground), None, confidence)


def reviewed_distances(review: MistakeReview, ground: MistakeLabels, *, confidence: float) -> list[DistanceCount]:
    """Count the mistakes of a review by distance, with the categories at each."""
    found = least_distances(review.examples, review.classes, ground)
    return _counted(review.model, found, review, confidence)


def least_distances(examples: IntArray, answers: IntArray, ground: MistakeLabels) -> IntArray:
    """Shape (r,): from each answer to the nearest right class of its image; -1 where there is nothing to measure."""
    table = hierarchy_distances(ground.test_set.class_space)
    rows, given, right = ground.right.paired(examples, answers)
    answered = given >= 0
    least = np.full(len(examples), np.iinfo(np.int64).max)
    np.minimum.at(least, rows[answered], table[given[answered], right[answered]].astype(np.int64))
    return np.where(least == np.iinfo(np.int64).max, -1, least)


def _counted(source: str, distances: IntArray, review: MistakeReview | None, confidence: float) -> list[DistanceCount]:
    measured = distances >= 0
    values, counts = np.unique(distances[measured], return_counts=True)
    shares = proportions(counts, int(measured.sum()), confidence=confidence) if len(values) else []
    found = []
    for value, count, share in zip(values.tolist(), counts.tolist(), shares, strict=True):
        kinds = None
        if review is not None:
            here = distances == value
            among = [int((review.of_category(category) & here).sum()) for category in MistakeCategory]
            kinds = dict(zip(MistakeCategory, proportions(among, count, confidence=confidence), strict=True))
        found.append(DistanceCount(source, None if value == UNRELATED else value, count, share, kinds))
    return found
