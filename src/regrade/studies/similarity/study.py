"""The record of the similarity study: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regrade.studies.image_clusters import clusters_option, image_clusters
from regrade.studies.loading import chosen_models, reviewed_labels, scored_predictions
from regrade.studies.report_data import ReportData
from regrade.studies.similarity.analysis import similarity
from regrade.studies.similarity.figure import similarity_figure
from regrade.studies.similarity.findings import similarity_findings
from regrade.studies.similarity.result import Similarity
from regrade.studies.study import (
    Chapter,
    Study,
    StudyOptions,
    labels_option,
    models_option,
    option,
    test_set_option,
)

if TYPE_CHECKING:
    from regrade.store import Store


@dataclass(frozen=True)
class SimilarityOptions(StudyOptions):
    """Which models are compared, on which images, and what counts as correct."""

    test_set: str = test_set_option()
    models: Sequence[str] = models_option()
    labels: str | None = labels_option()
    slice: str | None = option("Use only the images of this slice.", None)
    clusters: str | None = clusters_option()


def run(store: Store, options: SimilarityOptions) -> Similarity:
    """Study the similarity of all pairs of models: whether they err on the same images, and clusters of models.

    ``clusters`` is the column of images that belong together (default: ``household`` if present).
    """
    test_set = store.test_set(options.test_set)
    judged = reviewed_labels(store, test_set, options.labels) if options.labels else None
    models = chosen_models(store, test_set, options.models or store.predictions.models_to_compare(test_set.name))
    scored = scored_predictions(store, test_set, models, progress=options.progress)
    return similarity(
        test_set,
        scored,
        labels=judged,
        slice_name=options.slice,
        clusters=image_clusters(test_set, options.clusters),
        confidence=store.config.confidence,
    )


def chapters(data: ReportData) -> Iterator[Chapter]:
    """The similarity of all models on the original set."""
    if data.model_count(data.original) > 1:
        yield Chapter(data.original.name, SimilarityOptions(data.original.name))


SIMILARITY = Study(
    name="similarity",
    question="Do models err on the same images?",
    summary="Show the similarity of all pairs of models: error consistency, dominance, and shared predictions.",
    options=SimilarityOptions,
    result=Similarity,
    run=run,
    figure=similarity_figure,
    findings=similarity_findings,
    chapters=chapters,
    head=20,
)
