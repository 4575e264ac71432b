"""The record of the comparison of models: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import ClassSpace, InputError
from regrade.metrics import MultilabelRule
from regrade.store import FIRST_MODEL
from regrade.studies.compare.analysis import compare
from regrade.studies.compare.figure import comparison_figure
from regrade.studies.compare.findings import comparison_findings, comparison_verdicts
from regrade.studies.compare.result import Comparison, ComparisonPart
from regrade.studies.held_back import ladder_notes
from regrade.studies.image_clusters import clusters_option, image_clusters
from regrade.studies.loading import chosen_rows, reviewed_labels, scored_predictions
from regrade.studies.report_data import ReportData, scored_against
from regrade.studies.seeded_methods import seeded_method
from regrade.studies.study import (
    Chapter,
    Parts,
    Study,
    StudyOptions,
    class_map_option,
    collapsed_option,
    labels_option,
    option,
    rule_option,
    test_set_option,
    within_option,
)

if TYPE_CHECKING:
    from regrade.store import Store


@dataclass(frozen=True)
class CompareOptions(StudyOptions):
    """Which models are compared, on which images, and what counts as correct."""

    test_set: str = test_set_option()
    models: Sequence[str] = option("Names of two or more models (default: all).", (), is_argument=True)
    labels: str | None = labels_option("Score against this label set: NAME (newest version) or NAME@VERSION.")
    rule: MultilabelRule | str | None = rule_option()
    collapsed: bool = collapsed_option()
    slice: str | None = option("Compare on the images of this slice only.", None)
    within: str | ClassSpace | None = within_option()
    class_map: str | Path | None = class_map_option("--map")
    equivalence: float | None = option(
        "Also test for equivalence: differences below this many percentage points, e.g. 0.5.",
        None,
        percent=True,
    )
    replicates: Sequence[str] = option(
        "Compare methods over their seeds: a pattern with * for the seeds, e.g. 'resnet50-s*', or the name of a "
        "training. Give two or more.",
        (),
        metavar="PATTERN",
    )
    clusters: str | None = clusters_option()


def run(store: Store, options: CompareOptions) -> Comparison:
    """Compare all pairs of the named models and people (default: all models) on the images that all predicted.

    With ``labels`` predictions are scored against that label set; novel predictions count as wrong, and the result
    shows how many there are and their possible effect. ``slice`` keeps only the images of a slice; ``within`` and
    ``class_map`` are as in `grade`. ``equivalence`` is a margin as a fraction: 0.005 tests whether models differ by
    less than half a point. ``replicates`` are patterns such as ``resnet50-s*``: methods that are compared over their
    seeds, which are paired by the part that ``*`` matches. ``clusters`` is the column of images that belong together
    (default: ``household`` if present): intervals and tests are over clusters.
    """
    comparison = compare_stored(store, options)
    notes = (*comparison.basis.notes, *ladder_notes(store, (options.test_set,), "regrade compare"))
    return replace(comparison, basis=replace(comparison.basis, notes=notes))


def compare_stored(store: Store, options: CompareOptions) -> Comparison:
    """As `run`, without a note on the ladder of the test set."""
    test_set, labels, rule = store.test_set(options.test_set), options.labels, options.rule
    if labels and (options.within or options.class_map):
        raise InputError("multi-label accuracy is computed over all classes: give either labels or within and map")
    if not labels and (rule or options.collapsed):
        raise InputError("rule and collapsed require labels")
    models = chosen_rows(store, test_set, options.models or store.predictions.models_to_compare(test_set.name))
    judged = reviewed_labels(store, test_set, labels, rule=rule, collapsed=options.collapsed) if labels else None
    return compare(
        test_set,
        scored_predictions(
            store,
            test_set,
            models,
            within=options.within,
            class_map=options.class_map,
            progress=options.progress,
        ),
        labels=judged,
        slice_name=options.slice,
        confidence=store.config.confidence,
        equivalence=options.equivalence,
        replicates=[seeded_method(name, models, where=test_set.name, first=FIRST_MODEL) for name in options.replicates],
        clusters=image_clusters(test_set, options.clusters),
    )


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Every set with two models, by the original labels and against each label set."""
    for test_set in data.sets:
        if data.model_count(test_set) >= 2:
            for labels in (None, *data.labels(test_set)):
                options = CompareOptions(test_set.name, labels=labels)
                yield Chapter(scored_against(test_set, labels), options, kind="comparison")


COMPARE = Study(
    name="compare",
    question="Which models differ in accuracy?",
    summary="Compare models on the same images: differences, McNemar tests corrected for multiple comparisons, and "
    "ranks.",
    requires="Requires two models on the same test set.",
    options=CompareOptions,
    result=Comparison,
    run=run,
    figure=comparison_figure,
    findings=comparison_findings,
    verdicts=comparison_verdicts,
    parts=Parts(ComparisonPart, "Table to print. pairs: the test of every pair of models. methods: --replicates."),
    chapters=chapters,
    head=200,
    most=10_000,
)
