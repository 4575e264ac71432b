"""The record of the study of selection frequencies: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import InputError, TestSet
from regrade.core.frequency_bins import EDGES
from regrade.core.test_set import SELECTION_FREQUENCY
from regrade.studies.frequency.analysis import FrequencySet, frequency_study
from regrade.studies.frequency.column import ImageFrequencies, checked_edges, image_frequencies
from regrade.studies.frequency.figure import frequency_figure
from regrade.studies.frequency.findings import frequency_findings
from regrade.studies.frequency.result import Frequency, FrequencyStudyPart
from regrade.studies.image_clusters import clusters_of_sets, clusters_option
from regrade.studies.loading import chosen_models, scored_predictions
from regrade.studies.report_data import ReportData
from regrade.studies.study import Chapter, Parts, Study, StudyOptions, models_option, option, parts_of

if TYPE_CHECKING:
    from regrade.store import Store


@dataclass(frozen=True)
class FrequencyStudyOptions(StudyOptions):
    """The test sets, the columns of their frequencies, and the bins."""

    test_sets: Sequence[str] = option(
        "Name of the test set; further ones are compared with the first. May be repeated.", names=("--test-set", "-t")
    )
    columns: Sequence[str] = option(
        "Column with the selection frequencies, from 0 to 1. May be repeated, once per test set (default: "
        f"{SELECTION_FREQUENCY}).",
        (),
        names=("--column",),
    )
    edges: Sequence[float] = option(
        "Edge between two frequency bins. May be repeated (default: 20, 40, 60 and 80).",
        (),
        names=("--edge",),
        metavar="PERCENT",
        percent=True,
    )
    answers: str | None = option(
        "Number of people asked about each image, or the column that has it (default: the column answers, if any).",
        None,
        metavar="N|COLUMN",
    )
    models: Sequence[str] = models_option("Use only this model. May be repeated (default: those on all test sets).")
    clusters: str | None = clusters_option()


def run(store: Store, options: FrequencyStudyOptions) -> Frequency:
    """Study accuracy by selection frequency: of the models with predictions on all ``test_sets``, the original first.

    The frequency of an image is the share of people who select it for its class. It is read from ``columns``, one for
    all test sets or one for each; a set frozen from a build has it. ``edges`` divide the frequencies into bins, and
    ``answers`` is the number of people asked about each image. ``clusters`` is the column of the sampling clusters in
    the sets that have it (default: households).
    """
    names = options.test_sets
    if not names:
        raise InputError("-t is required")
    if len(set(names)) < len(names):
        raise InputError("-t names the same test set twice")
    if len(options.columns) not in (0, 1, len(names)):
        raise InputError(f"give --column once, or once for each of the {len(names)} test sets")
    test_sets = [store.test_set(name) for name in names]
    columns = [*options.columns] if len(options.columns) == len(names) else [*options.columns, None][:1] * len(names)
    edges = checked_edges(options.edges) if options.edges else None
    frequencies = [
        image_frequencies(test_set, column, edges=edges, answers=options.answers)
        for test_set, column in zip(test_sets, columns, strict=True)
    ]
    models = _common(store, test_sets, options.models)
    clusters = clusters_of_sets(test_sets, options.clusters)
    parts = [
        replace(_frequency_set(store, test_set, models, measured, options), clusters=members)
        for test_set, measured, members in zip(test_sets, frequencies, clusters, strict=True)
    ]
    return frequency_study(parts, models, edges or EDGES, confidence=store.config.confidence)


def _common(store: Store, test_sets: Sequence[TestSet], models: Sequence[str]) -> tuple[str, ...]:
    """The named models (default: all), which have predictions on every test set."""
    chosen = [
        chosen_models(store, test_set, models or store.predictions.models_to_compare(test_set.name))
        for test_set in test_sets
    ]
    common = tuple(model for model in chosen[0] if all(model in names for names in chosen))
    if not common:
        raise InputError(f"no model has predictions on all of {', '.join(part.name for part in test_sets)}")
    return common


def _frequency_set(
    store: Store,
    test_set: TestSet,
    models: tuple[str, ...],
    frequencies: ImageFrequencies,
    options: FrequencyStudyOptions,
) -> FrequencySet:
    right, counted, rules = [], [], dict[str, None]()
    for predictions, scoring in scored_predictions(store, test_set, models, progress=options.progress):
        right.append(scoring.top_k(predictions, 1).right)
        counted.append(scoring.counted & predictions.counted)
        rules |= {f"{test_set.name}: {scoring.rule}": None} if scoring.rule else {}
    return FrequencySet(test_set.name, np.stack(right), np.stack(counted), frequencies, tuple(rules))


def chapters(data: ReportData) -> Iterator[Chapter]:
    """All sets with selection frequencies, the original first."""
    having = [part.name for part in data.sets if SELECTION_FREQUENCY in part.group_columns and data.model_count(part)]
    common = [set(data.store.predictions.model_names(name)) for name in having]
    if having and set.intersection(*common):
        yield Chapter(", ".join(having), FrequencyStudyOptions(having), parts_of(FrequencyStudyPart.BINS))


FREQUENCY = Study(
    name="frequency",
    question="Are images harder that fewer people select?",
    summary="Show accuracy by selection frequency, the share of people who select an image for its class.",
    requires="Requires a test set with a column selection_frequency.",
    options=FrequencyStudyOptions,
    result=Frequency,
    run=run,
    figure=frequency_figure,
    findings=frequency_findings,
    parts=Parts(
        FrequencyStudyPart,
        "bins: the mean of the models. models: each of them. changes: between sets, at equal frequency.",
    ),
    chapters=chapters,
)
