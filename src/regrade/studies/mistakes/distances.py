"""Distances in the class hierarchy between mistaken and right classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regrade.core import UNRELATED, Estimate, MistakeAnnotations, MistakeCategory, Steps, hierarchy_distances
from regrade.core.arrays import IntArray
from regrade.stats import proportions
from regrade.studies.mistakes.mistake_labels import MistakeLabels, MistakeList

DEFINITION = f"{Steps.MAX.value} to a common ancestor, the least over ancestors, paths and right classes"
"""Definition of the distance."""


@dataclass(frozen=True)
class DistanceCount:
    """The mistakes of one source at one distance (None: no common ancestor), and their share of all measured ones.

    ``categories`` are the shares of each category among them, None without a review. At distance 0 the labels accept
    what the review lists as a mistake.
    """

    source: str
    distance: int | None
    mistakes: int
    share: Estimate
    categories: Mapping[MistakeCategory, Estimate] | None = None


def distances_of(mistakes: MistakeList, ground: MistakeLabels, *, confidence: float) -> list[DistanceCount]:
    """Count a model's mistakes by distance, without missing predictions and images without a right class."""
    return _counted(mistakes.source, least_distances(mistakes.examples, mistakes.classes, ground), None, confidence)


def reviewed_distances(review: MistakeAnnotations, ground: MistakeLabels, *, confidence: float) -> list[DistanceCount]:
    """Count the mistakes of a review by distance, with the categories at each distance."""
    distances = least_distances(review.examples, review.classes, ground)
    return _counted(review.model, distances, review, confidence)


def least_distances(examples: IntArray, predictions: IntArray, ground: MistakeLabels) -> IntArray:
    """Shape (r,): distance of each prediction to the nearest right class of its image; -1 if undefined."""
    table = hierarchy_distances(ground.test_set.class_space)
    rows, predicted, right = ground.right.paired(examples, predictions)
    present = predicted >= 0
    least = np.full(len(examples), np.iinfo(np.int64).max)
    np.minimum.at(least, rows[present], table[predicted[present], right[present]].astype(np.int64))
    return np.where(least == np.iinfo(np.int64).max, -1, least)


def _counted(
    source: str, distances: IntArray, review: MistakeAnnotations | None, confidence: float
) -> list[DistanceCount]:
    measured = distances >= 0
    values, counts = np.unique(distances[measured], return_counts=True)
    shares = proportions(counts, int(measured.sum()), confidence=confidence) if len(values) else []
    rows = []
    for value, count, share in zip(values.tolist(), counts.tolist(), shares, strict=True):
        categories = None
        if review is not None:
            at_distance = distances == value
            among = [int((review.of_category(category) & at_distance).sum()) for category in MistakeCategory]
            categories = dict(zip(MistakeCategory, proportions(among, count, confidence=confidence), strict=True))
        rows.append(DistanceCount(source, None if value == UNRELATED else value, count, share, categories))
    return rows
