"""Models of a plan on images that come in clusters: which images they predict correctly, and the design effects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from regrade.core import Predictions, TestSet
from regrade.core.arrays import BoolArray
from regrade.stats.planned_clusters import PlannedClusters, measured_clusters
from regrade.studies.image_basis import judge_predictions
from regrade.studies.image_clusters import ImageClusters, column_values
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.scoring import Scoring

EFFECT_NOTE = "design effect: the number of images in clusters that are worth an independent one"
"""What the column of the design effects is."""


class ClusteredModels:
    """Collects which images models predict correctly, if the images come in clusters."""

    def __init__(self, test_set: TestSet, clusters: ImageClusters | None, labels: ReviewedLabels | None = None) -> None:
        self.clusters = clusters
        self._labels = labels
        self._test_set = test_set
        self._models: dict[str, tuple[BoolArray, BoolArray]] = {}

    def of(self, scored: Iterable[tuple[Predictions, Scoring]]) -> Iterator[tuple[Predictions, Scoring]]:
        """The same models, collected as they are read."""
        for predictions, scoring in scored:
            if self.clusters is not None:
                judged = judge_predictions(predictions, scoring, self._labels)
                self._models[predictions.model] = judged.right, judged.counted
            yield predictions, scoring

    def planned(self, model: str, inside: BoolArray | None = None) -> PlannedClusters:
        """The clusters of a model's images, or of those ``inside`` (n,), as measured."""
        assert self.clusters is not None
        right, counted = self._models[model]
        used = counted if inside is None else counted & inside
        return measured_clusters(right[used], self.clusters.numbers[used])

    def effects(self, model: str, column: str, groups: Sequence[str]) -> dict[str, float] | None:
        """The design effects of a model on the ``groups`` of a column; None without clusters."""
        if self.clusters is None:
            return None
        of_images = np.array(column_values(self._test_set, column))
        return {group: self.planned(model, of_images == group).effect for group in groups}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers of images take into account."""
        if self.clusters is None or not self._models:
            return ()
        inside = np.logical_or.reduce([counted for _, counted in self._models.values()])
        return cluster_notes(self.clusters, inside)


def cluster_notes(clusters: ImageClusters, inside: BoolArray) -> tuple[str, ...]:
    """What the numbers of images take into account, from the images ``inside`` (n,) of a test set."""
    return (*clusters.notes(inside), f"{EFFECT_NOTE}, as measured: for images that come in clusters of the same kind")
