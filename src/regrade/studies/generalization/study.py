"""The record of the generalization study: its options, and the counts of the same models on each pair of sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regrade.core import PERSON_PREFIX, ClassSpace, InputError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray
from regrade.core.label_set import without_version
from regrade.metrics import MultilabelRule
from regrade.stats import Scale
from regrade.store import FIRST_MODEL
from regrade.studies.generalization.analysis import generalization
from regrade.studies.generalization.chosen_names import NameOptions, chosen_models, chosen_people
from regrade.studies.generalization.counting import counts_by_measure
from regrade.studies.generalization.figure import generalization_figure
from regrade.studies.generalization.findings import generalization_findings, generalization_verdicts
from regrade.studies.generalization.label_names import label_sets
from regrade.studies.generalization.measure import AccuracyMeasure
from regrade.studies.generalization.paired_counts import SetPair
from regrade.studies.generalization.result import Generalization
from regrade.studies.image_clusters import clusters_of_sets, clusters_option, common_clusters
from regrade.studies.lines import DRAWS
from regrade.studies.loading import images_in_both, reviewed_labels, scored_predictions
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.report_data import ReportData
from regrade.studies.set_counts import SetCounts
from regrade.studies.study import (
    Chapter,
    Study,
    StudyOptions,
    class_map_option,
    collapsed_option,
    models_option,
    option,
    seed_option,
    within_option,
)

if TYPE_CHECKING:
    from regrade.store import Store


@dataclass(frozen=True)
class GeneralizationOptions(StudyOptions):
    """Which models are compared on which pairs of an original and a new test set, and what counts as correct."""

    original: str = option("Original test set.")
    new: Sequence[str] = option("New test set. May be repeated.")
    models: Sequence[str] = models_option()
    standard: Sequence[str] = option("Fit the lines to this model only. May be repeated (default: all).", ())
    scale: Scale | str = option("Scale of the figure, and of the line that defines effective robustness.", Scale.LOGIT)
    within: str | ClassSpace | None = within_option()
    class_map: str | Path | None = class_map_option("--map")
    bootstrap: bool = option("Add least-squares lines with bootstrap percentile intervals, as in the papers.", False)
    seed: int = seed_option("--bootstrap")
    labels: Sequence[str] = option(
        "Score against label sets: NAME or NAME@VERSION for the label set of this name on every set, SET=NAME for that "
        "of one set. May be repeated.",
        (),
        names=("--labels", "-l"),
        metavar="[SET=]NAME",
    )
    rule: MultilabelRule | str | None = option(
        "images: correct labels count (default). classes: also unclear. Accuracies are means over images.", None
    )
    collapsed: bool = collapsed_option()
    slice: str | None = option("Use only the images of this slice on both sets, e.g. objects, 'not dogs'.", None)
    people: Sequence[str] = option(
        "Compare this person with the line through models. May be repeated.", (), names=("--person",)
    )
    only: Sequence[str] = option(
        "Use only the models that match this pattern with *. May be repeated.", (), metavar="PATTERN"
    )
    without: Sequence[str] = option(
        "Leave out the models that match this pattern with *, e.g. 'fv_*'. May be repeated.", (), metavar="PATTERN"
    )
    top: int = option("Compare top-N accuracies.", 1, metavar="N", minimum=1)
    clusters: str | None = clusters_option()


def run(store: Store, options: GeneralizationOptions) -> Generalization:
    """Study how accuracies on the ``original`` test set carry over to ``new`` ones.

    Lines are fitted to all models or to those in ``standard``; effective robustness is relative to the line on
    ``scale`` (linear, probit or logit). ``within`` and ``class_map`` are as in `grade`; if a new set has a part of the
    original's classes, the original is scored within these. ``bootstrap`` adds percentile intervals as in published
    studies, from resampled models with ``seed``.

    ``labels`` scores multi-label accuracy on every set: the name of a label set that all of them have, or SET=NAME for
    each; ``rule`` and ``collapsed`` are as in `grade`, with means over images. ``slice`` restricts all sets, and
    ``top`` is the number of classes that may contain the label. ``people`` are compared with the line, which is fitted
    through models: those in ``models`` (default: all) that match a pattern of ``only``, and none of ``without``.
    ``clusters`` is the column of the sampling clusters in the sets that have it (default: ``household``).
    """
    named_labels = _label_sets(options)
    names = _chosen_names(store, options)
    judged = {
        name: reviewed_labels(store, store.test_set(name), labels, rule=options.rule, collapsed=options.collapsed)
        for name, labels in named_labels.items()
    }
    measure = _measure(options, judged)
    return generalization(
        set_pairs(store, options, names, measure, judged),
        rng=np.random.default_rng(options.seed),
        scale=Scale(options.scale),
        standard=options.standard,
        confidence=store.config.confidence,
        draws=DRAWS if options.bootstrap else 0,
        measure=measure,
    )


def _measure(options: GeneralizationOptions, judged: Mapping[str, ReviewedLabels]) -> AccuracyMeasure:
    if not judged:
        return AccuracyMeasure(options.top, slice=options.slice)
    rule = next(iter(judged.values())).scoring.rule.value
    return AccuracyMeasure(1, {name: own.scoring.labels.full_name for name, own in judged.items()}, rule, options.slice)


def _label_sets(options: GeneralizationOptions) -> dict[str, str]:
    """The label set of every test set; empty without labels. Options that do not go with labels raise."""
    if not options.labels:
        if options.rule or options.collapsed:
            raise InputError("rule and collapsed require labels")
        return {}
    if options.top != 1:
        raise InputError("multi-label accuracy is about the best class: give either labels or top")
    if options.within or options.class_map:
        raise InputError("multi-label accuracy is computed over all classes: leave out within and map")
    return label_sets(options.labels, (options.original, *options.new))


def _chosen_names(store: Store, options: GeneralizationOptions) -> tuple[str, ...]:
    """The models and people that the options choose, each with predictions on at least one of the test sets."""
    if not options.new:
        raise InputError("name at least one new test set")
    names = NameOptions(options.models, options.people, options.only, options.without)
    sets = [store.test_set(name).name for name in (options.original, *options.new)]
    for name in sets:
        store.predictions.check_manifests(name, (*names.named_models, *names.named_people))
    models = {name: store.predictions.model_names(name) for name in sets}
    people = {name: store.predictions.people_names(name) for name in sets}
    return (*chosen_models(names, models, first=FIRST_MODEL), *chosen_people(names, people))


def _names_on(store: Store, test_set: TestSet, names: Sequence[str]) -> tuple[str, ...]:
    """The models and people with predictions on a test set; without a model, it raises."""
    stored = store.predictions.names(test_set.name)
    present = tuple(name for name in names if name in stored)
    if all(name.startswith(PERSON_PREFIX) for name in present):
        raise InputError(f"none of these models has predictions on {test_set.name}")
    return present


def _covered(store: Store, test_set: TestSet, names: Sequence[str]) -> BoolArray | None:
    """Shape (n,): the images that all of the people among the names were asked about; None without people."""
    people = [name for name in names if name.startswith(PERSON_PREFIX)]
    if not people:
        return None
    covered = np.logical_and.reduce([store.predictions.read(test_set, name).counted for name in people])
    if not covered.any():
        raise InputError(f"no image of {test_set.name} was shown to all of these people: choose some of them")
    return np.asarray(covered)


def set_pairs(
    store: Store,
    options: GeneralizationOptions,
    names: Sequence[str],
    measure: AccuracyMeasure,
    judged: Mapping[str, ReviewedLabels],
) -> list[SetPair]:
    """The counts of the chosen models and people on each pair of the original and a new test set.

    If a new set has only a part of the original's classes, as ImageNet-A has, the original is scored within these.
    """
    within = options.within
    old, targets = store.test_set(options.original), [store.test_set(name) for name in options.new]
    sets = [old, *targets]
    sampled = {each.name: part for each, part in zip(sets, clusters_of_sets(sets, options.clusters), strict=True)}

    def counts(test_set: TestSet, **scoring: Any) -> SetCounts:
        present = _names_on(store, test_set, names)
        scored = scored_predictions(store, test_set, present, progress=options.progress, **scoring)
        labels, covered = judged.get(test_set.name), _covered(store, test_set, present)
        return counts_by_measure(
            *(test_set, scored, measure, labels),
            covered=covered,
            clusters=sampled[test_set.name],
            confidence=store.config.confidence,
        )

    originals: dict[str, SetCounts] = {}
    pairs = []
    for target in targets:
        among = within or (None if judged else _part_of_classes(old, target))
        key = among.digest if isinstance(among, ClassSpace) else str(among)
        if key not in originals:
            originals[key] = counts(old, within=among)
        pair = SetPair(originals[key], counts(target, within=within, class_map=options.class_map))
        clusters = sampled[old.name], sampled[target.name]
        notes = (
            *_pair_notes(store, old, target, class_map=options.class_map),
            *common_clusters((old, target), clusters),
        )
        pairs.append(replace(pair, new=replace(pair.new, notes=(*pair.new.notes, *notes))))
    return pairs


def _pair_notes(store: Store, old: TestSet, new: TestSet, *, class_map: str | Path | None) -> Iterator[str]:
    if class_map or store.class_maps.read(new):
        yield f"{new.name} is scored through a class map and {old.name} among all its classes: the gap holds that"
    if overlap := _overlap(store, old, new):
        yield overlap


def _overlap(store: Store, old: TestSet, new: TestSet) -> str:
    """A note on images of the new set that are also in the original, by id or content; empty if there are none."""
    count = int(images_in_both(store, old, new)[1].sum())
    if not count:
        return ""
    return (
        f"{count:,} of {amount(len(new), 'image')} of {new.name} are images of {old.name} too: what is said of new "
        "images does not hold for them, and intervals take them as different images"
    )


def _part_of_classes(old: TestSet, new: TestSet) -> ClassSpace | None:
    """The classes of a new set if they are a proper subset of the original's."""
    return new.class_space if set(new.class_space.ids) < set(old.class_space.ids) else None


def chapters(data: ReportData) -> Iterator[Chapter]:
    """All sets that can be compared with the original; then against label sets of the same name, and with people."""
    new = [test_set for test_set in data.sets if data.comparable(test_set)]
    if not new:
        return
    yield _chapter(data, new)
    by_set = {test_set.name: _labels_by_name(data, test_set) for test_set in new}
    shared = [name for name in _labels_by_name(data, data.original) if any(name in own for own in by_set.values())]
    for name in shared:
        yield _chapter(data, [test_set for test_set in new if name in by_set[test_set.name]], labels=name)
    if people := _people_on_both(data, new):
        answered = [test_set for test_set in new if set(people) <= set(_people(data, test_set))]
        labeled = [test_set for test_set in answered if shared and shared[0] in by_set[test_set.name]]
        yield _chapter(data, labeled or answered, labels=shared[0] if labeled else "", people=people)


def _chapter(data: ReportData, new: Sequence[TestSet], *, labels: str = "", people: Sequence[str] = ()) -> Chapter:
    """The chapter on some new sets, by the labels of the original test sets or by label sets of the same name."""
    original, names = data.original.name, [test_set.name for test_set in new]
    about = f"{original} and {names[0] if len(new) == 1 else amount(len(new), 'new set')}"
    against = [f"{each.name}={_labels_by_name(data, each)[labels]}" for each in (data.original, *new)] if labels else []
    options = GeneralizationOptions(original, names, labels=against, people=people)
    about += (f" against {labels}" if labels else "") + (" with people" if people else "")
    return Chapter(about, options, lambda result: (result.sets_table(), result.table()))


def _people_on_both(data: ReportData, new: Sequence[TestSet]) -> list[str]:
    """The people with answers on the original and on the first of the new sets that has any of them."""
    original = _people(data, data.original)
    on_new = ([person for person in original if person in _people(data, test_set)] for test_set in new)
    return next((people for people in on_new if people), [])


def _people(data: ReportData, test_set: TestSet) -> tuple[str, ...]:
    return data.store.predictions.people_names(test_set.name)


def _labels_by_name(data: ReportData, test_set: TestSet) -> dict[str, str]:
    """The label sets of a test set, with their versions, by name."""
    return {without_version(full): full for full in data.labels(test_set)}


GENERALIZATION = Study(
    name="generalization",
    question="Does it hold on new data?",
    summary="Compare accuracies on new test sets with the original: gaps, ranks, linear fits, robustness, overfitting.",
    requires="Requires a second test set with the same classes and predictions of at least three of the models.",
    options=GeneralizationOptions,
    result=Generalization,
    run=run,
    figure=generalization_figure,
    findings=generalization_findings,
    verdicts=generalization_verdicts,
    chapters=chapters,
)
