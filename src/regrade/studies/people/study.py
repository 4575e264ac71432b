"""The record of the study of people: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import PERSON_PREFIX, InputError, TestSet
from regrade.display import Figure, Finding
from regrade.metrics import MultilabelRule
from regrade.studies.image_clusters import ImageClusters, clusters_of_sets, clusters_option
from regrade.studies.loading import chosen_models, chosen_people, reviewed_labels, scored_predictions
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.people.analysis import FAST_SECONDS, answered_images, modeled_people, people
from regrade.studies.people.figure import people_figure
from regrade.studies.people.findings import people_findings
from regrade.studies.people.modeled import ModeledPeople
from regrade.studies.people.participants import check_sets, common_models, common_people, overlaps
from regrade.studies.people.result import People, PeoplePart, PeopleResult
from regrade.studies.people.sets import people_on_sets
from regrade.studies.people.sets_figure import sets_figure
from regrade.studies.people.sets_findings import sets_findings, sets_verdicts
from regrade.studies.people.sets_result import PeopleOnSets
from regrade.studies.report_data import ReportData, scored_against
from regrade.studies.study import (
    Chapter,
    Parts,
    Study,
    StudyOptions,
    collapsed_option,
    labels_option,
    models_option,
    option,
    rule_option,
    seed_option,
)

if TYPE_CHECKING:
    from regrade.store import Store


@dataclass(frozen=True)
class PeopleOptions(StudyOptions):
    """Which people are compared with which models, and what counts as correct."""

    test_set: Sequence[str] | str = option(
        "Name of the test set. Repeat it to compare accuracies on further sets with those on the first.",
        names=("--test-set", "-t"),
    )
    people: Sequence[str] = option("Use only this person. May be repeated (default: all).", (), names=("--person",))
    models: Sequence[str] = models_option()
    labels: str | None = labels_option()
    rule: MultilabelRule | str | None = rule_option()
    collapsed: bool = collapsed_option()
    subsets: Sequence[str] = option(
        "Class group, or all classes but a group: objects, 'not dogs'. May be repeated (default: objects, organisms "
        "and 'without dogs').",
        (),
        names=("--subset",),
    )
    fast_seconds: float = option(
        "Images that the median person answers within this many seconds are fast.", FAST_SECONDS, minimum=0
    )
    clusters: str | None = clusters_option()
    seed: int = seed_option("the random sets of classes, and of the intervals of --reviewer-models")
    reviewer_models: bool = option(
        "Fit models of annotators to people's answers: the accuracy of each person without labels, and images on which "
        "a model contradicts the majority.",
        False,
    )

    def __post_init__(self) -> None:
        """Turn the name of one test set into a list."""
        if isinstance(self.test_set, str):
            object.__setattr__(self, "test_set", (self.test_set,))
        super().__post_init__()
        if not self.test_set:
            raise InputError("name at least one test set")


def run(store: Store, options: PeopleOptions) -> PeopleResult:
    """Compare people with models (default: all of both) on the images that all these people answered.

    With several test sets, accuracies on the further ones are compared with those on the first, for the people and
    models that have answers on all of them. With ``labels`` answers are scored against that label set. ``subsets`` are
    groups of classes such as ``objects`` or ``not dogs``; an image is fast if the median person took at most
    ``fast_seconds``. ``seed`` draws the random sets of classes that subsets of one test set are compared with.
    ``reviewer_models`` adds people's accuracies from their answers alone, by models of annotators. ``clusters`` is the
    column of the sampling clusters in the sets that have it (default: households).
    """
    if not options.labels and (options.rule or options.collapsed):
        raise InputError("rule and collapsed require labels")
    sets = [store.test_set(name) for name in options.test_set]
    if len(sets) > 1:
        if options.reviewer_models:
            raise InputError("--reviewer-models is about one test set: give --test-set once")
        return _on_sets(store, sets, options)
    (test_set,), (clusters,) = sets, clusters_of_sets(sets, options.clusters)
    names = chosen_people(store, test_set, options.people)
    if not names:
        raise InputError(f"no person has answers on {test_set.name} yet: run regrade import people")
    models = options.models or store.predictions.models_to_compare(test_set.name)
    everyone = (*names, *chosen_models(store, test_set, models))
    result = people(
        test_set,
        scored_predictions(store, test_set, everyone, progress=options.progress),
        rng=np.random.default_rng(options.seed),
        labels=_labels(store, test_set, options),
        subsets=options.subsets or None,
        fast_seconds=options.fast_seconds,
        clusters=clusters,
        confidence=store.config.confidence,
    )
    if not options.reviewer_models:
        return result
    notes = (*result.notes, _MODELS_INDEPENDENT) if clusters else result.notes
    return replace(result, modeled=_modeled(store, test_set, names, clusters, options), notes=notes)


_MODELS_INDEPENDENT = "not over clusters, but as if images were independent: intervals of models of annotators"


def _modeled(
    store: Store, test_set: TestSet, names: tuple[str, ...], clusters: ImageClusters | None, options: PeopleOptions
) -> ModeledPeople:
    confidence = store.config.confidence
    answered = answered_images(
        test_set,
        scored_predictions(store, test_set, names),
        labels=_labels(store, test_set, options),
        clusters=clusters,
        confidence=confidence,
    )
    return modeled_people(answered, rng=np.random.default_rng(options.seed), confidence=confidence)


def _on_sets(store: Store, sets: Sequence[TestSet], options: PeopleOptions) -> PeopleOnSets:
    """The people and models that have predictions on every one of several test sets of the same classes."""
    check_sets(sets)
    named = [name if name.startswith(PERSON_PREFIX) else PERSON_PREFIX + name for name in options.people]
    for test_set in sets:
        store.predictions.check_manifests(test_set.name, (*named, *options.models))
    names, left_out = common_people({each.name: store.predictions.people_names(each.name) for each in sets}, named)
    stored_models = store.predictions.model_names if options.models else store.predictions.models_to_compare
    models, without = common_models({each.name: stored_models(each.name) for each in sets}, options.models)
    answered = [
        answered_images(
            test_set,
            scored_predictions(store, test_set, (*names, *models), progress=options.progress),
            labels=_labels(store, test_set, options),
            subsets=options.subsets or None,
            fast_seconds=options.fast_seconds,
            clusters=clusters,
            confidence=store.config.confidence,
        )
        for test_set, clusters in zip(sets, clusters_of_sets(sets, options.clusters), strict=True)
    ]
    return people_on_sets(answered, notes=(*left_out, *without, *overlaps(sets)), confidence=store.config.confidence)


def _labels(store: Store, test_set: TestSet, options: PeopleOptions) -> ReviewedLabels | None:
    if not options.labels:
        return None
    return reviewed_labels(store, test_set, options.labels, rule=options.rule, collapsed=options.collapsed)


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Every set that people answered."""
    for test_set in data.sets:
        people_count = len(data.store.predictions.people_names(test_set.name))
        if people_count and people_count + data.model_count(test_set) > 1:
            labels = next(iter(data.labels(test_set)), None)
            yield Chapter(scored_against(test_set, labels), PeopleOptions(test_set.name, labels=labels))


def _figure(result: PeopleResult) -> Figure:
    return sets_figure(result) if isinstance(result, PeopleOnSets) else people_figure(_on_one_set(result))


def _findings(result: PeopleResult) -> tuple[Finding, ...]:
    return sets_findings(result) if isinstance(result, PeopleOnSets) else people_findings(_on_one_set(result))


def _verdicts(result: PeopleResult) -> frozenset[Enum]:
    return sets_verdicts(result) if isinstance(result, PeopleOnSets) else frozenset()


def _on_one_set(result: PeopleResult) -> People:
    assert isinstance(result, People)
    return result


PEOPLE = Study(
    name="people",
    question="How do models compare with people?",
    summary="Compare people with models on the same images: accuracy by subset, tests, agreement, time, common errors.",
    requires="Requires people's answers: regrade import people.",
    options=PeopleOptions,
    result=PeopleResult,  # type: ignore[type-abstract]
    run=run,
    figure=_figure,
    findings=_findings,
    verdicts=_verdicts,
    parts=Parts(
        PeoplePart,
        "Table to print. subsets: effect of --subset, compared with random classes, or on each test set. tests: "
        "McNemar test of every person and model. times: time and accuracy. agreement: between people. missed: images "
        "wrong for all. reviewer-models, disagreements: with --reviewer-models.",
        lambda options, _result: PeoplePart.REVIEWER_MODELS if options.reviewer_models else None,
    ),
    chapters=chapters,
    head=40,
)
