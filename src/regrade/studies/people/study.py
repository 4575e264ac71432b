"""The record of the study of people: its options, and how its data are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import InputError
from regrade.metrics import MultilabelRule
from regrade.store import Store
from regrade.studies.image_clusters import with_household_note
from regrade.studies.loading import chosen_models, chosen_people, reviewed_labels, scored_predictions
from regrade.studies.people.analysis import FAST_SECONDS, people
from regrade.studies.people.figure import people_figure
from regrade.studies.people.findings import people_findings
from regrade.studies.people.result import People, PeoplePart
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
    test_set_option,
)


@dataclass(frozen=True)
class PeopleOptions(StudyOptions):
    """Which people are compared with which models, and what counts as correct."""

    test_set: str = test_set_option()
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
    seed: int = seed_option("the random sets of classes")


def run(store: Store, options: PeopleOptions) -> People:
    """Compare people with models (default: all of both) on the images that all these people answered.

    With ``labels`` answers are scored against that label set. ``subsets`` are groups of classes such as ``objects`` or
    ``not dogs``; an image is fast if the median person took at most ``fast_seconds``. ``seed`` draws the random
    sets of classes that subsets are compared with.
    """
    test_set, labels, rule, collapsed = (
        store.test_set(options.test_set),
        options.labels,
        options.rule,
        options.collapsed,
    )
    if not labels and (rule or collapsed):
        raise InputError("rule and collapsed require labels")
    names = chosen_people(store, test_set, options.people)
    if not names:
        raise InputError(f"no person has answers on {test_set.name} yet: run regrade import people")
    judged = reviewed_labels(store, test_set, labels, rule=rule, collapsed=collapsed) if labels else None
    models = options.models or store.predictions.models_to_compare(test_set.name)
    everyone = (*names, *chosen_models(store, test_set, models))
    result = people(
        test_set,
        scored_predictions(store, test_set, everyone, progress=options.progress),
        rng=np.random.default_rng(options.seed),
        labels=judged,
        subsets=options.subsets or None,
        fast_seconds=options.fast_seconds,
        confidence=store.config.confidence,
    )
    return with_household_note(result, test_set)


def chapters(data: ReportData) -> Iterator[Chapter]:
    """Every set that people answered."""
    for test_set in data.sets:
        people_count = len(data.store.predictions.people_names(test_set.name))
        if people_count and people_count + data.model_count(test_set) > 1:
            labels = next(iter(data.labels(test_set)), None)
            yield Chapter(scored_against(test_set, labels), PeopleOptions(test_set.name, labels=labels))


PEOPLE = Study(
    name="people",
    question="How do models compare with people?",
    summary="Compare people with models on the same images: accuracy by subset, tests, agreement, time, common errors.",
    requires="Requires people's answers: regrade import people.",
    options=PeopleOptions,
    result=People,
    run=run,
    figure=people_figure,
    findings=people_findings,
    parts=Parts(
        PeoplePart,
        "Table to print. subsets: effect of --subset, compared with random classes. tests: McNemar test of every "
        "person and model. times: time and accuracy. agreement: between people. missed: images wrong for all.",
    ),
    chapters=chapters,
    head=40,
)
