"""The record of the geography study: its options, and the counts of its models on reference sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import InputError, TestSet, UndefinedError
from regrade.display import Figure
from regrade.studies.geography.analysis import geography
from regrade.studies.geography.figure import geography_figure
from regrade.studies.geography.findings import geography_findings, geography_verdicts
from regrade.studies.geography.result import Geography, GeographyPart
from regrade.studies.geography.world_map import map_figure
from regrade.studies.group_columns import PLACE_COLUMNS
from regrade.studies.image_clusters import (
    INDEPENDENT,
    ImageClusters,
    clusters_of_sets,
    clusters_option,
    common_clusters,
)
from regrade.studies.loading import chosen_models, scored_predictions
from regrade.studies.report_data import ReportData
from regrade.studies.set_counts import SetCounts, counts_with_noise
from regrade.studies.study import (
    Chapter,
    Output,
    Parts,
    ProgressCallback,
    Study,
    StudyOptions,
    class_map_option,
    models_option,
    option,
    seed_option,
    test_set_option,
)

if TYPE_CHECKING:
    from regrade.store import Store

_MAPPED_COLUMNS = ("region", "country")


@dataclass(frozen=True)
class GeographyOptions(StudyOptions):
    """The groups of images, the models, and the test sets that measure progress."""

    test_set: str = test_set_option()
    by: str = option("Column of the groups: region, country, income or any other; numeric columns are binned.")
    original: str | None = option("Test set that measures progress, such as imagenet-val.", None)
    standard: Sequence[str] = option("Standard test set to compare the rate of progress with. May be repeated.", ())
    models: Sequence[str] = models_option()
    top: int = option("Compute top-N accuracy.", 1, metavar="N", minimum=1)
    between: Sequence[tuple[str, str]] = option(
        "Show the difference between these two groups.",
        (),
        metavar="GROUP GROUP",
        kind=tuple[str, str] | None,
        parse=lambda pair: (pair,) if pair else (),
    )
    clusters: str | None = clusters_option()
    parts: int | None = option("Number of bins of a numeric column (default: 4).", None, minimum=2)
    growth: tuple[str, str] | None = option(
        "Compare the disparity of a strong model with that of a weak one (default: the best and the weakest quarter on "
        "the original test set).",
        None,
        metavar="MODEL MODEL",
        kind=tuple[str, str] | None,
    )
    class_map: str | Path | None = class_map_option()
    seed: int = seed_option("the bootstrap intervals")


def run(store: Store, options: GeographyOptions) -> Geography:
    """Study accuracy by the groups of a column: region, country, income or any other.

    With ``original`` there are progress rates and the growth of the disparity, with ``standard`` progress gaps. A
    prediction is correct if the label is among the ``top`` classes. ``between`` names pairs of groups, ``clusters`` the
    column of sampling clusters in the sets that have it (default: ``household``), ``parts`` the number of quantile
    groups of a numeric column, ``growth`` a strong and a weak model instead of the best and the worst quarter.
    """
    test_set, original, progress = store.test_set(options.test_set), options.original, options.progress
    reference_sets = [store.test_set(name) for name in (*([original] if original else []), *options.standard)]
    chosen = chosen_models(store, test_set, options.models or store.predictions.models_to_compare(test_set.name))
    own_clusters, *reference_clusters = clusters_of_sets([test_set, *reference_sets], options.clusters)
    references = list(zip(reference_sets, reference_clusters, strict=True))
    counts = [_counts(store, part, chosen, clusters, progress) for part, clusters in references]
    common = (common_clusters((test_set, part), (own_clusters, clusters)) for part, clusters in references)
    result = geography(
        test_set,
        scored_predictions(store, test_set, chosen, class_map=options.class_map, progress=progress),
        by=options.by,
        rng=np.random.default_rng(options.seed),
        top=options.top,
        clusters=INDEPENDENT if own_clusters is None else options.clusters,
        parts=options.parts,
        between=options.between,
        original=counts[0] if original else None,
        standard=counts[1:] if original else counts,
        growth=options.growth,
        confidence=store.config.confidence,
    )
    return replace(result, notes=(*result.notes, *(note for notes in common for note in notes)))


def _counts(
    store: Store,
    test_set: TestSet,
    models: Sequence[str],
    clusters: ImageClusters | None,
    progress: ProgressCallback,
) -> SetCounts:
    """The counts of those models that have predictions on another test set, over its clusters if it has any."""
    stored_models = set(store.predictions.model_names(test_set.name))
    common = tuple(model for model in models if model in stored_models)
    if not common:
        raise InputError(f"none of these models has predictions on {test_set.name}")
    scored = scored_predictions(store, test_set, common, progress=progress)
    return counts_with_noise(test_set, scored, clusters=clusters, confidence=store.config.confidence)


def _save_map(_: Store, result: Geography, path: str) -> str:
    """Save the map for the command; if the groups cannot be drawn on a map, say the reason."""
    try:
        drawn = map_figure(result)
    except UndefinedError as error:
        return f"no map: {error}"
    return f"map: {drawn.save(path)}"


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Every set by each of its columns of places or incomes."""
    for test_set in data.sets:
        original = data.original.name if data.comparable(test_set) else None
        for column in PLACE_COLUMNS:
            if len(set(test_set.group_columns.get(column, ()))) > 1:
                options = GeographyOptions(test_set.name, column, original)
                chapter = Chapter(f"{test_set.name} by {column}", options)
                yield replace(chapter, more_figures=_maps) if column in _MAPPED_COLUMNS else chapter


def _maps(result: Geography) -> Sequence[Figure]:
    return (map_figure(result),)


GEOGRAPHY = Study(
    name="geography",
    question="How does accuracy vary by region?",
    summary="Study accuracy by region, country, income or any group: accuracies, disparities, and progress by group.",
    requires="Requires a test set with a group column such as region, country or income.",
    options=GeographyOptions,
    result=Geography,
    run=run,
    figure=geography_figure,
    findings=geography_findings,
    verdicts=geography_verdicts,
    parts=Parts(
        GeographyPart, "models: one row per model. groups: one row per model and group. progress: rates and gaps."
    ),
    outputs=(
        Output("map", "PATH", "Also save a map of the best model's accuracies: .html, .svg, .png or .pdf.", _save_map),
    ),
    chapters=chapters,
)
