"""The record of the study of corruptions: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regrade.core import InputError, TestSet
from regrade.studies.corruptions.analysis import CleanCorrectness, CorruptionGrade, corruption_grade
from regrade.studies.corruptions.findings import corruption_findings
from regrade.studies.group_columns import CORRUPTION_COLUMNS
from regrade.studies.image_clusters import clusters_option, image_clusters
from regrade.studies.loading import chosen_models, scored_predictions
from regrade.studies.report_data import ReportData
from regrade.studies.study import Chapter, ProgressCallback, Study, StudyOptions, models_option, option, test_set_option

if TYPE_CHECKING:
    from regrade.store import Store


@dataclass(frozen=True)
class CorruptionOptions(StudyOptions):
    """The corrupted images, the clean ones, and the models."""

    test_set: str = test_set_option()
    clean: str | None = option("Test set of the original images, for the relative mCE.", None)
    models: Sequence[str] = models_option()
    clusters: str | None = clusters_option()


def run(store: Store, options: CorruptionOptions) -> CorruptionGrade:
    """Grade models on a test set with group columns corruption and severity: errors by corruption, and mCE.

    ``clean`` names the test set of the original images, and adds relative mCE. ``clusters`` is the
    column of the sampling clusters (default: households).
    """
    test_set, progress = store.test_set(options.test_set), options.progress
    names = chosen_models(store, test_set, options.models)
    clean = None if options.clean is None else _clean_correctness(store, options.clean, names, progress)
    scored = scored_predictions(store, test_set, names, progress=progress)
    clusters = image_clusters(test_set, options.clusters)
    return corruption_grade(test_set, scored, clean=clean, clusters=clusters, confidence=store.config.confidence)


def _clean_correctness(store: Store, name: str, models: Sequence[str], progress: ProgressCallback) -> CleanCorrectness:
    """Which images of a clean test set these models predict correctly; raises if none has predictions there."""
    test_set = store.test_set(name)
    common = tuple(model for model in models if model in store.predictions.model_names(name))
    if not common:
        raise InputError(f"none of these models has predictions on {name}")
    scored = scored_predictions(store, test_set, common, progress=progress)
    return CleanCorrectness(
        test_set, {predictions.model: scoring.top_k(predictions, 1).right for predictions, scoring in scored}
    )


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Every set of corrupted images, compared with the clean images if these are a test set of the report."""
    for test_set in data.sets:
        if all(column in test_set.groups for column in CORRUPTION_COLUMNS):
            clean = next((candidate.name for candidate in data.sets if _is_clean(candidate, test_set)), None)
            yield Chapter(test_set.name, CorruptionOptions(test_set.name, clean))


def _is_clean(clean: TestSet, corrupted: TestSet) -> bool:
    """Whether a set has the first image of a corrupted set."""
    return clean.name != corrupted.name and corrupted.ids[0].rpartition("/")[2] in clean.position_of


CORRUPTIONS = Study(
    name="corruptions",
    question="How well do models bear corruptions?",
    summary="Show errors per corruption and the mCE; the test set needs the group columns corruption and severity.",
    options=CorruptionOptions,
    result=CorruptionGrade,
    run=run,
    findings=corruption_findings,
    chapters=chapters,
    head=None,
)
