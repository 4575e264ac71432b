"""The record of the study of remedies: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regrade.core import InputError, TestSet, UnknownName
from regrade.store import FIRST_MODEL, Store
from regrade.studies.geography.group_frame import correctness_of
from regrade.studies.loading import chosen_models, scored_predictions
from regrade.studies.remedies.analysis import GroupColumns, SetCorrectness, remedies, set_correctness
from regrade.studies.remedies.figure import remedies_figure
from regrade.studies.remedies.findings import remedies_findings, remedies_verdicts
from regrade.studies.remedies.result import Remedies
from regrade.studies.seeded_methods import MethodPair, paired_methods, seeded_method
from regrade.studies.study import Study, StudyOptions, class_map_option, option


@dataclass(frozen=True)
class RemediesOptions(StudyOptions):
    """The test sets, the baseline and its remedies, and the groups of images."""

    test_sets: Sequence[str] = option("Name of the test set. May be repeated.", names=("--test-set", "-t"))
    baseline: str = option(
        "The baseline: a model, a pattern with * for the seeds, or the name of a training.", metavar="NAME"
    )
    remedies: Sequence[str] = option(
        "A remedy, named as the baseline. May be repeated.", names=("--remedy",), metavar="NAME"
    )
    by: str | None = option("Also compare within the groups of this column.", None, metavar="COLUMN")
    clusters: str | None = option(
        "Column of the sampling clusters (default: household, if there is such a column).", None, metavar="COLUMN"
    )
    parts: int | None = option("Number of bins of a numeric column (default: 4).", None, minimum=2)
    top: int = option("Compute top-N accuracy.", 1, metavar="N", minimum=1)
    class_map: str | Path | None = class_map_option("--map")


def run(store: Store, options: RemediesOptions) -> Remedies:
    """Compare each of ``remedies`` with ``baseline`` on the same images of every test set.

    A name is that of a model, a pattern such as ``trained:plain/seed-*``, or that of a training (``plain``). Models are
    paired by the part that ``*`` matches, their seeds, and intervals are over seeds and images. ``by`` adds the groups
    of a column, the worst group and the disparity. A test set without the column has the overall row only.
    """
    for name, values in (("-t", options.test_sets), ("--remedy", options.remedies)):
        if not values:
            raise InputError(f"{name} is required")
        if len(set(values)) < len(values):
            raise InputError(f"{name} names the same twice")
    if options.parts is not None and options.by is None:
        raise InputError("--parts requires --by")
    test_sets = [store.test_set(name) for name in options.test_sets]
    _check_column(test_sets, options.by)
    pairs = _pairs(store, options)
    sets = [_correctness(store, test_set, pairs, options) for test_set in test_sets]
    return remedies(sets, pairs, by=options.by, top=options.top, confidence=store.config.confidence)


def _check_column(test_sets: Sequence[TestSet], by: str | None) -> None:
    """Raise if no test set has the column."""
    columns = sorted({column for test_set in test_sets for column in test_set.group_columns})
    if by is not None and by not in columns:
        raise UnknownName(f"group column of {', '.join(test_set.name for test_set in test_sets)}", by, columns)


def _pairs(store: Store, options: RemediesOptions) -> list[MethodPair]:
    """The baseline with each remedy, from the models that are stored for any of the test sets."""
    stored = sorted({model for name in options.test_sets for model in store.predictions.model_names(name)})
    where = ", ".join(options.test_sets)
    if options.baseline in options.remedies:
        raise InputError(f"the baseline and the remedy must differ: both are {options.baseline}")
    baseline, *methods = (
        seeded_method(name, stored, where=where, first=FIRST_MODEL) for name in (options.baseline, *options.remedies)
    )
    return [paired_methods(baseline, remedy) for remedy in methods]


def _correctness(
    store: Store, test_set: TestSet, pairs: Sequence[MethodPair], options: RemediesOptions
) -> SetCorrectness:
    """The correctness of all compared models on one test set; a model without predictions there raises."""
    models = tuple(dict.fromkeys(model for pair in pairs for row in pair.rows for model in row))
    chosen = chosen_models(store, test_set, models)
    scored = scored_predictions(store, test_set, chosen, class_map=options.class_map, progress=options.progress)
    correctness = [correctness_of(predictions, scoring, options.top) for predictions, scoring in scored]
    return set_correctness(test_set, correctness, GroupColumns(options.by, options.clusters, options.parts))


REMEDIES = Study(
    name="remedies",
    question="Does a remedy help?",
    summary="Compare remedies with a baseline, over seeds and images: accuracy, groups, worst group and disparity.",
    options=RemediesOptions,
    result=Remedies,
    run=run,
    figure=remedies_figure,
    findings=remedies_findings,
    verdicts=remedies_verdicts,
    head=200,
)
