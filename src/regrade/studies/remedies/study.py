"""The record of the study of remedies: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import InputError, TestSet, UnknownName
from regrade.display.wording import listed
from regrade.store import FIRST_MODEL
from regrade.studies.geography.group_frame import ModelCorrectness, correctness_of
from regrade.studies.image_clusters import clusters_option, image_clusters
from regrade.studies.loading import chosen_models, scored_predictions
from regrade.studies.remedies.analysis import (
    GroupColumns,
    SetCorrectness,
    remedies,
    set_correctness,
    slice_correctness,
)
from regrade.studies.remedies.effective import accuracy_counts, with_effective_robustness
from regrade.studies.remedies.figure import remedies_figure
from regrade.studies.remedies.findings import remedies_findings, remedies_verdicts
from regrade.studies.remedies.interventions import Interventions, interventions
from regrade.studies.remedies.result import Remedies
from regrade.studies.remedies.slices import ChosenSlices, chosen_slices, slice_cautions
from regrade.studies.report_data import ReportData
from regrade.studies.seeded_methods import MethodPair, paired_methods, seeded_method
from regrade.studies.study import Chapter, Study, StudyOptions, class_map_option, option

if TYPE_CHECKING:
    from regrade.store import Store


@dataclass(frozen=True)
class RemediesOptions(StudyOptions):
    """The test sets, the baseline and its remedies, and the groups of images."""

    test_sets: Sequence[str] = option("Name of the test set. May be repeated.", names=("--test-set", "-t"))
    baseline: str | None = option(
        "The baseline: a model, a pattern with * for the seeds, or the name of a training (default, without --remedy: "
        "every model with a base model is compared with it).",
        None,
        metavar="NAME",
    )
    remedies: Sequence[str] = option(
        "A remedy, named as the baseline. May be repeated.", (), names=("--remedy",), metavar="NAME"
    )
    original: str | None = option(
        "The original test set: also compare the drops of accuracy from it to each other test set.", None, metavar="SET"
    )
    by: str | None = option("Also compare within the groups of this column.", None, metavar="COLUMN")
    clusters: str | None = clusters_option()
    parts: int | None = option("Number of bins of a numeric column (default: 4).", None, minimum=2)
    top: int = option("Compute top-N accuracy.", 1, metavar="N", minimum=1)
    class_map: str | Path | None = class_map_option("--map")
    slices: Sequence[str] = option(
        "Also compare on this slice: a stored slice such as a hard set, COLUMN=VALUE, COLUMN for all its values, or a "
        "class group. May be repeated.",
        (),
        names=("--slice",),
    )


def run(store: Store, options: RemediesOptions) -> Remedies:
    """Compare each of ``remedies`` with ``baseline`` on the same images of every test set and slice.

    Without both, every stored model whose base model is stored is compared with it, and effective robustness on the
    other sets than ``original`` (default: the first) is relative to the line through all models without a base model.

    A name is that of a model, a pattern such as ``trained:plain/seed-*``, or that of a training (``plain``). Models are
    paired by the part that ``*`` matches, their seeds, and intervals are over seeds and images. ``by`` adds the groups
    of a column, the worst group and the disparity. A test set without the column has the overall row only. ``original``
    adds the drop from one of the test sets to each of the others: its accuracy minus theirs.
    """
    _check_options(options)
    test_sets = [store.test_set(name) for name in options.test_sets]
    _check_column(test_sets, options.by)
    slices = chosen_slices(test_sets, options.slices)
    if options.baseline is None:
        return _compare_interventions(store, test_sets, slices, options)
    pairs = _pairs(store, options.baseline, options)
    models = _models_of(pairs)
    sets = [
        part
        for test_set in test_sets
        for part in _parts(test_set, _correctness(store, test_set, models, options), pairs, slices, options)
    ]
    return _compared(store, sets, pairs, slices.notes, options)


def _check_options(options: RemediesOptions) -> None:
    if not options.test_sets:
        raise InputError("-t is required")
    if (options.baseline is None) != (not options.remedies):
        given, required = ("--remedy", "--baseline") if options.baseline is None else ("--baseline", "--remedy")
        raise InputError(f"{given} requires {required}; without both, models are compared with their base models")
    for name, values in (("-t", options.test_sets), ("--remedy", options.remedies), ("--slice", options.slices)):
        if len(set(values)) < len(values):
            raise InputError(f"{name} names the same twice")
    if options.parts is not None and options.by is None:
        raise InputError("--parts requires --by")
    if options.original is not None:
        _check_original(options.original, options.test_sets)


def _compare_interventions(
    store: Store, test_sets: Sequence[TestSet], slices: ChosenSlices, options: RemediesOptions
) -> Remedies:
    """Compare every model that has a base model with it; the other models are the standard of effective robustness."""
    stored = _stored_on_all(store, options.test_sets)
    chosen = _interventions(store, stored, options)
    compared, standard = _models_of(chosen.pairs), chosen.standard
    sets, counts = list[SetCorrectness](), []
    for test_set in test_sets:
        needed = compared if len(test_sets) == 1 else tuple(dict.fromkeys((*compared, *standard)))
        correctness = _correctness(store, test_set, needed, options)
        counts.append(accuracy_counts(test_set.name, correctness, image_clusters(test_set, options.clusters)))
        sets += _parts(test_set, correctness[: len(compared)], chosen.pairs, slices, options)
    if options.original is not None:
        counts.sort(key=lambda of_set: of_set.test_set != options.original)
    result = _compared(store, sets, chosen.pairs, (*chosen.notes, *slices.notes), options)
    return with_effective_robustness(result, counts, chosen.pairs, standard)


def _compared(
    store: Store,
    sets: Sequence[SetCorrectness],
    pairs: Sequence[MethodPair],
    notes: Sequence[str],
    options: RemediesOptions,
) -> Remedies:
    result = remedies(
        sets,
        pairs,
        by=options.by,
        top=options.top,
        confidence=store.config.confidence,
        original=options.original,
    )
    return replace(result, notes=(*result.notes, *notes))


def _stored_on_all(store: Store, test_sets: Sequence[str]) -> tuple[str, ...]:
    """The models with predictions on all test sets."""
    first, *rest = (store.predictions.model_names(name) for name in test_sets)
    return tuple(model for model in first if all(model in names for names in rest))


def _interventions(store: Store, stored: Sequence[str], options: RemediesOptions) -> Interventions:
    """The interventions among the stored models; base models that users state win over others."""
    described = store.described_models.read()
    specs = store.model_specs(options.test_sets[0], stored)
    unstated = {
        model: spec.base_model
        for model, spec in specs.items()
        if spec.base_model and not described.of(model).base_model
    }
    return interventions({**unstated, **described.base_models}, stored, where=", ".join(options.test_sets))


def _models_of(pairs: Sequence[MethodPair]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(model for pair in pairs for row in pair.rows for model in row))


def _parts(
    test_set: TestSet,
    models: Sequence[ModelCorrectness],
    pairs: Sequence[MethodPair],
    slices: ChosenSlices,
    options: RemediesOptions,
) -> list[SetCorrectness]:
    """The compared models on a whole test set, then on each of its slices."""
    whole = set_correctness(test_set, models, GroupColumns(options.by, options.clusters, options.parts))
    names = slices.names[test_set.name]
    cautions = tuple(slice_cautions(test_set, names, pairs))
    parts = [slice_correctness(test_set, models, name, options.clusters) for name in names]
    return [replace(whole, notes=(*whole.notes, *cautions)), *parts]


def _check_original(original: str, test_sets: Sequence[str]) -> None:
    """Raise if the original set is not compared, or if there is no other one."""
    if original not in test_sets:
        raise UnknownName("original test set", original, test_sets, hint="; it must be one of -t")
    if len(test_sets) < 2:
        raise InputError(f"--original {original} requires another test set: a drop is from one set to another, give -t")


def _check_column(test_sets: Sequence[TestSet], by: str | None) -> None:
    """Raise if no test set has the column."""
    columns = sorted({column for test_set in test_sets for column in test_set.group_columns})
    if by is not None and by not in columns:
        raise UnknownName(f"group column of {', '.join(test_set.name for test_set in test_sets)}", by, columns)


def _pairs(store: Store, baseline_name: str, options: RemediesOptions) -> list[MethodPair]:
    """The baseline with each remedy, from the models that are stored for any of the test sets."""
    stored = sorted({model for name in options.test_sets for model in store.predictions.model_names(name)})
    where = ", ".join(options.test_sets)
    if baseline_name in options.remedies:
        raise InputError(f"the baseline and the remedy must differ: both are {baseline_name}")
    baseline, *methods = (
        seeded_method(name, stored, where=where, first=FIRST_MODEL) for name in (baseline_name, *options.remedies)
    )
    return [paired_methods(baseline, remedy) for remedy in methods]


def _correctness(
    store: Store, test_set: TestSet, models: Sequence[str], options: RemediesOptions
) -> list[ModelCorrectness]:
    """The correctness of models on one test set; a model without predictions there raises."""
    chosen = chosen_models(store, test_set, models)
    scored = scored_predictions(store, test_set, chosen, class_map=options.class_map, progress=options.progress)
    return [correctness_of(predictions, scoring, options.top) for predictions, scoring in scored]


def chapters(data: ReportData) -> Iterator[Chapter]:
    """The remedies that the report names, on all test sets with predictions of their models and of the baseline."""
    baseline, names = data.models.baseline, data.models.remedies
    if baseline is None:
        return
    store = data.whole_store
    stored = {name: store.predictions.model_names(name) for name in store.test_sets.names()}
    everywhere = sorted({model for models in stored.values() for model in models})
    models = {
        model
        for name in (baseline, *names)
        for model in seeded_method(name, everywhere, where="any test set", first=FIRST_MODEL).models.values()
    }
    places = [name for name, present in stored.items() if models <= set(present)]
    if not places:
        raise InputError(f"no test set has predictions of all models of {listed([baseline, *names])}")
    original = data.original.name if data.original.name in places and len(places) > 1 else None
    options = RemediesOptions(places, baseline=baseline, remedies=names, original=original)
    yield Chapter(", ".join(places), options, all_models=True)


REMEDIES = Study(
    name="remedies",
    question="Does a remedy help?",
    summary="Compare remedies with a baseline, or models with their base models: accuracy, groups, slices and drops.",
    options=RemediesOptions,
    result=Remedies,
    run=run,
    figure=remedies_figure,
    findings=remedies_findings,
    verdicts=remedies_verdicts,
    head=200,
    chapters=chapters,
)
