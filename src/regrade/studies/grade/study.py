"""The record of grading: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import ClassSpace, InputError, TestSet
from regrade.metrics import MultilabelRule
from regrade.store import FIRST_MODEL
from regrade.studies.grade.analysis import grade
from regrade.studies.grade.figure import grade_figure
from regrade.studies.grade.findings import grade_findings
from regrade.studies.grade.metric_registry import installed_metrics
from regrade.studies.grade.metrics import BUILT_IN, GradeMetric, MetricFunction, chosen_metrics
from regrade.studies.grade.result import Grade
from regrade.studies.group_columns import CORRUPTION_COLUMNS, PLACE_COLUMNS
from regrade.studies.held_back import ladder_notes
from regrade.studies.image_clusters import clusters_option, image_clusters
from regrade.studies.loading import chosen_rows, reviewed_labels, scored_predictions
from regrade.studies.report_data import ReportData, scored_against
from regrade.studies.seeded_methods import seeded_method
from regrade.studies.study import (
    Chapter,
    Study,
    StudyOptions,
    class_map_option,
    collapsed_option,
    labels_option,
    models_option,
    option,
    rule_option,
    test_set_option,
    within_option,
)

if TYPE_CHECKING:
    from regrade.store import Store

_MAX_GROUPS = 12  # values of a group column that a report shows as slices


@dataclass(frozen=True)
class GradeOptions(StudyOptions):
    """Which models and people are graded, on which images, and what counts as correct."""

    test_set: str = test_set_option()
    labels: str | None = labels_option("Also score against this label set: NAME (newest version) or NAME@VERSION.")
    rule: MultilabelRule | str | None = rule_option()
    collapsed: bool = collapsed_option()
    slices: Sequence[str] = option(
        "Also grade this slice: a class group (dogs), a class or WordNet id, COLUMN=VALUE, COLUMN for all its values, "
        "an imported slice (imagenet-m, imagenet-x:pose), imagenet-x for all, or the complement of one slice ('not "
        "dogs'). May be repeated.",
        (),
        names=("--slice",),
    )
    models: Sequence[str] = models_option("Grade only this model. May be repeated (default: all models).")
    within: str | ClassSpace | None = within_option()
    clean: str | None = option(
        "Also show top-1 on this test set restricted to the same classes, e.g. imagenet-val for imagenet-a.", None
    )
    class_map: str | Path | None = class_map_option("--map")
    half_width: float | None = option(
        "With --labels: show how many more judgments are needed for this half-width, e.g. 0.005.", None, positive=True
    )
    metrics: Sequence[str | GradeMetric | MetricFunction] | None = option(
        f"Add this metric: {', '.join(BUILT_IN)}, or one that an installed package offers. May be repeated. "
        "Default: those listed in regrade.toml.",
        None,
        names=("--metric",),
        kind=list[str],
        parse=lambda names: names or None,
    )
    replicates: Sequence[str] = option(
        "Grade models trained with several seeds as one: a pattern with * for the seeds, e.g. 'resnet50-s*', or the "
        "name of a training. Shows their mean over seeds and images. May be repeated.",
        (),
        metavar="PATTERN",
    )
    clusters: str | None = clusters_option()


def run(store: Store, options: GradeOptions) -> Grade:
    """Grade the named ``models`` and people of a test set (default: all).

    ``labels`` adds multi-label accuracy against a label set, by ``rule`` (mean over images, the default, or over
    classes), optionally accepting ``collapsed`` classes. ``within`` scores among the classes of another class space
    only. ``clean`` names another test set, which is graded among the same classes for comparison. ``class_map`` is a
    file for predictions in other classes than the labels (default: the map stored with the test set). ``metrics`` adds
    further columns: metrics by name (those of `BUILT_IN`, or offered by an installed package), `GradeMetric` records or
    functions (default: those listed in regrade.toml). ``replicates`` are patterns such as ``resnet50-s*``: their models
    are one row, with the mean over seeds and an interval over seeds and images. ``clusters`` is the column of images
    that belong together (default: ``household`` if present): intervals of accuracies are over clusters.
    """
    test_set, labels = store.test_set(options.test_set), options.labels
    _check_options(store, options)
    models = chosen_rows(store, test_set, options.models)
    judged = None
    if labels:
        judged = reviewed_labels(
            store, test_set, labels, rule=options.rule, collapsed=options.collapsed, half_width=options.half_width
        )
    result = grade(
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
        slices=options.slices,
        replicates=[seeded_method(name, models, where=test_set.name, first=FIRST_MODEL) for name in options.replicates],
        metrics=chosen_metrics(
            store.config.metrics if options.metrics is None else options.metrics, installed_metrics()
        ),
        clusters=image_clusters(test_set, options.clusters),
        confidence=store.config.confidence,
    )
    shown = (test_set.name,) if options.clean is None else (test_set.name, options.clean)
    result = replace(result, notes=(*result.notes, *ladder_notes(store, shown, "regrade grade")))
    return result if options.clean is None else _with_clean(store, result, options)


def _check_options(store: Store, options: GradeOptions) -> None:
    if options.replicates and (options.labels or options.clean):
        raise InputError("replicates are graded by top-1 and top-5 on one test set: leave out --labels and --clean")
    if options.labels and options.within:
        raise InputError("multi-label accuracy is computed over all classes: give either labels or within")
    if not options.labels and (options.rule or options.collapsed or options.half_width):
        raise InputError("rule, collapsed and half-width require labels")
    if options.clean and (options.class_map or store.class_maps.read(store.test_set(options.test_set))):
        raise InputError(
            f"{options.test_set} is scored through a class map: leave out --clean, which requires the same classes"
        )


def _with_clean(store: Store, result: Grade, options: GradeOptions) -> Grade:
    """Add the grades of the same models on the clean set, among the same classes."""
    clean = store.test_set(str(options.clean)).name
    models = store.predictions.model_names(clean)
    common = tuple(dict.fromkeys(row.model for row in result.rows if row.model in models))
    if not common:
        raise InputError(f"none of these models has predictions on {clean}")
    classes = options.within or store.test_set(options.test_set).class_space
    return result.with_clean(run(store, GradeOptions(clean, models=common, within=classes, progress=options.progress)))


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Every set against each of its label sets; then the slices of every set."""
    for test_set in data.sets:
        for labels in data.labels(test_set) or (None,):
            yield Chapter(scored_against(test_set, labels), GradeOptions(test_set.name, labels))
    for test_set in data.sets:
        if slices := report_slices(test_set):
            options = GradeOptions(test_set.name, slices=slices)
            yield Chapter(test_set.name, options, kind="slices", question="On which images are models weak?")


def report_slices(test_set: TestSet) -> list[str]:
    """The slices that a report shows without being asked: group columns with few values, and all slice sets."""
    columns = [
        column
        for column, values in test_set.groups.items()
        if column not in (*CORRUPTION_COLUMNS, *PLACE_COLUMNS) and 2 <= len(set(values)) <= _MAX_GROUPS
    ]
    return [*columns, *(slice_set.name for slice_set in test_set.slice_sets)]


GRADE = Study(
    name="grade",
    question="How good is each model?",
    summary="Grade models: top-1, top-5 and multi-label accuracy with confidence intervals, on all images and on "
    "slices.",
    options=GradeOptions,
    result=Grade,
    run=run,
    figure=grade_figure,
    findings=grade_findings,
    chapters=chapters,
    head=None,
)
