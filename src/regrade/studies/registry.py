"""The registry of studies: each is a method of the workspace's ``study``, a command and chapters of the report."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from regrade.core import InputError, Tabular
from regrade.display import Figure, Finding
from regrade.display.finding import finding_kinds as finding_kinds  # noqa: PLC0414 - complete after the imports below
from regrade.display.finding import verdict_kinds as verdict_kinds  # noqa: PLC0414
from regrade.studies.checks.study import CHECKS
from regrade.studies.class_map.study import CLASS_MAP
from regrade.studies.classes.study import CLASSES
from regrade.studies.compare.study import COMPARE
from regrade.studies.confidence.study import CONFIDENCE
from regrade.studies.confusion.study import CONFUSION
from regrade.studies.corruptions.study import CORRUPTIONS
from regrade.studies.frequency.study import FREQUENCY
from regrade.studies.gate.study import GATE
from regrade.studies.generalization.study import GENERALIZATION
from regrade.studies.geography.study import GEOGRAPHY
from regrade.studies.grade.study import GRADE
from regrade.studies.label_change.study import LABEL_CHANGE
from regrade.studies.leakage.study import LEAKAGE, NEIGHBORS_COMMAND
from regrade.studies.methods import AnyStudy, studies_of, study_function, study_method
from regrade.studies.mistakes.study import MISTAKES
from regrade.studies.models.study import MODELS
from regrade.studies.multilabel.study import MULTILABEL
from regrade.studies.offered import offered_studies
from regrade.studies.people.study import PEOPLE
from regrade.studies.plan.study import PLAN_ACCURACY, PLAN_DIFFERENCE, PLAN_DISPARITY, PLAN_RANK, PLAN_REVIEW
from regrade.studies.remedies.study import REMEDIES
from regrade.studies.shift.study import SHIFT
from regrade.studies.similarity.study import SIMILARITY
from regrade.studies.study import O, Study

if TYPE_CHECKING:
    from regrade.store import Store

P = ParamSpec("P")
R = TypeVar("R", bound=Tabular)


class Studies:
    """The studies of a workspace, one method each, in the order of the report's chapters."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def run(self, study: Study[P, O, R], *arguments: P.args, **named: P.kwargs) -> R:
        """Run any study, for example one of another package."""
        return study.result_of(self.store, study.options(*arguments, **named))

    grade = study_method(GRADE)
    compare = study_method(COMPARE)
    remedies = study_method(REMEDIES)
    generalization = study_method(GENERALIZATION)
    shift = study_method(SHIFT)
    frequency = study_method(FREQUENCY)
    geography = study_method(GEOGRAPHY)
    class_map = study_method(CLASS_MAP)
    corruptions = study_method(CORRUPTIONS)
    models = study_method(MODELS)
    classes = study_method(CLASSES)
    confidence = study_method(CONFIDENCE)
    mistakes = study_method(MISTAKES)
    confusion = study_method(CONFUSION)
    people = study_method(PEOPLE)
    multilabel = study_method(MULTILABEL)
    similarity = study_method(SIMILARITY)
    leakage = study_method(LEAKAGE)
    label_change = study_method(LABEL_CHANGE)
    gate = study_method(GATE)
    checks = study_method(CHECKS)


class Plans:
    """Plans: how many images or decisions a claim needs, from assumed rates or those measured on a test set."""

    def __init__(self, store: Store) -> None:
        self.store = store

    accuracy = study_method(PLAN_ACCURACY)
    difference = study_method(PLAN_DIFFERENCE)
    rank = study_method(PLAN_RANK)
    disparity = study_method(PLAN_DISPARITY)
    review = study_method(PLAN_REVIEW)


STUDIES = studies_of(Studies)
"""The studies of this package."""


def all_studies() -> tuple[AnyStudy, ...]:
    """The studies of this package and those that installed packages offer."""
    return (*STUDIES, *offered_studies(frozenset(study.name for study in STUDIES)))


def study_of(result: object) -> AnyStudy | None:
    """The study that results of this kind come from."""
    return next((study for study in all_studies() if isinstance(result, study.result)), None)


def figure(result: object) -> Figure:
    """The figure of a study's result."""
    study = study_of(result)
    if study is None or study.figure is None:
        raise InputError(f"there is no figure for a {type(result).__name__}")
    return study.figure(result)


def findings(result: object) -> tuple[Finding, ...]:
    """The findings of a study's result, highest weight first; empty if none are defined for this kind of result."""
    study = study_of(result)
    return () if study is None else study.findings(result)


def verdicts(result: object) -> frozenset[Enum]:
    """The distinct verdicts that the tables of a study's result print; empty if there are none."""
    study = study_of(result)
    return frozenset() if study is None else study.verdicts(result)


find_near_duplicates = study_function(NEIGHBORS_COMMAND)
"""Find near duplicates between two folders of images or within one, without a workspace."""
