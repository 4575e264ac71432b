"""Result of the mistakes study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, cast

from regrade.core import InputError, MistakeAnnotations, Table
from regrade.core.record import INLINE, NOT_IN_JSON, json_key
from regrade.studies.mistakes import tables
from regrade.studies.mistakes.categories import Categories, MajorSlice
from regrade.studies.mistakes.confused_classes import DEFINITION, DistanceCount, PairTail
from regrade.studies.mistakes.explanations import Explanations, explanation_table
from regrade.studies.mistakes.flow import Change, Flow
from regrade.studies.mistakes.flow_paths import FlowPaths
from regrade.studies.mistakes.severity import ModelSeverity
from regrade.studies.mistakes.severity_table import severity_table
from regrade.studies.mistakes.triage import TriageAgreement, TriageRow
from regrade.studies.study_result import StudyResult


class MistakePart(Enum):
    """The tables of a study of mistakes."""

    FLOW = "flow"
    TRIAGE = "triage"
    AGREEMENT = "agreement"
    CATEGORIES = "categories"
    DISTANCE = "distance"
    PAIRS = "pairs"
    COMPARE = "compare"
    MAJOR = "major"
    EXPLANATIONS = "explanations"
    SEVERITY = "severity"


@dataclass(frozen=True, eq=False, repr=False)
class Mistakes(StudyResult):
    """The mistakes of models on a test set, with reviewers' categories and a triage; best models first.

    Parts without data are empty or None: ``major`` without reviews, ``changes`` without a model to compare with.
    ``slice`` names the slice that all parts are restricted to, and ``slice_notes`` warn if models chose it by failing.
    """

    test_set: str
    labels: str
    relabeled: str | None
    flows: tuple[Flow, ...] = field(metadata=json_key("flow"))
    triage: tuple[TriageRow, ...]
    agreement: tuple[TriageAgreement, ...]
    categories: Categories = field(metadata=INLINE)
    distance_definition: str = field(default=DEFINITION, init=False)
    distances: tuple[DistanceCount, ...]
    pairs: PairTail
    changes: tuple[Change, ...]
    major: MajorSlice | None
    confidence: float = field(default=0.95, metadata=NOT_IN_JSON)
    notes: tuple[str, ...] = ()
    triage_notes: tuple[str, ...] = field(default=(), metadata=NOT_IN_JSON)
    slice: str | None = field(default=None, metadata=json_key("slice", only_if_set=True))
    explanations: Explanations | None = field(default=None, metadata=json_key("explanations", only_if_set=True))
    severities: tuple[ModelSeverity, ...] = field(default=(), metadata=NOT_IN_JSON)
    slice_notes: tuple[str, ...] = field(default=(), metadata=NOT_IN_JSON)
    paths: tuple[FlowPaths, ...] = field(default=(), metadata=NOT_IN_JSON)
    reviews: tuple[MistakeAnnotations, ...] = field(default=(), metadata=NOT_IN_JSON)
    review_notes: tuple[str, ...] = field(default=(), metadata=NOT_IN_JSON)
    cluster_notes: tuple[str, ...] = field(default=(), metadata=NOT_IN_JSON)

    def json_fields(self) -> dict[str, Any]:
        """The fields, with all notes; on a slice, also the severities."""
        notes = (*self.notes, *self.cluster_notes, *self.triage_notes, *self.slice_notes, *self.review_notes)
        severities = {"severity": self.severities} if self.slice else {}
        return {**super().json_fields(), **severities, "notes": notes}

    def table(self) -> Table:
        """Return the flow of the models' mistakes; the categories if there are only reviews."""
        return self.part(MistakePart.FLOW if self.flows else MistakePart.CATEGORIES)

    def part(self, part: MistakePart) -> Table:
        """Return one of the tables; an empty one raises with the missing input."""
        if not self._has(part):
            raise InputError(f"there is nothing to show as {part.value}: {_NEEDS[part]}")
        title = f"{self.images_title} against {self.labels}" + (f", then {self.relabeled}" if self.relabeled else "")
        builders: dict[MistakePart, Callable[[], Table]] = {
            MistakePart.FLOW: lambda: tables.flow_table(title, self.flows, self.notes),
            MistakePart.TRIAGE: lambda: tables.triage_table(title, self.triage, self.triage_notes),
            MistakePart.AGREEMENT: lambda: tables.agreement_table(title, self.agreement, self.triage_notes),
            MistakePart.CATEGORIES: lambda: tables.category_table(
                self.images_title, self.categories, self.review_notes
            ),
            MistakePart.DISTANCE: lambda: tables.distance_table(title, self.distances),
            MistakePart.PAIRS: lambda: tables.pair_table(title, self.pairs),
            MistakePart.COMPARE: lambda: tables.change_table(title, self.changes, self.notes),
            MistakePart.MAJOR: lambda: tables.major_table(title, cast(MajorSlice, self.major)),
            MistakePart.EXPLANATIONS: lambda: explanation_table(
                title, cast(Explanations, self.explanations), self.triage_notes
            ),
            MistakePart.SEVERITY: lambda: severity_table(title, self.severities, self.slice_notes),
        }
        table = builders[part]()
        return replace(table, notes=(*table.notes, *self.cluster_notes))

    @property
    def images_title(self) -> str:
        """The test set and the slice, for headings."""
        return self.test_set + (f", slice {self.slice}" if self.slice else "")

    @property
    def parts(self) -> tuple[MistakePart, ...]:
        """The available tables."""
        return tuple(part for part in MistakePart if self._has(part))

    def _has(self, part: MistakePart) -> bool:
        filled = {
            MistakePart.FLOW: self.flows,
            MistakePart.TRIAGE: self.triage,
            MistakePart.AGREEMENT: self.agreement,
            MistakePart.CATEGORIES: self.categories.counts,
            MistakePart.DISTANCE: self.distances,
            MistakePart.PAIRS: self.pairs.sources,
            MistakePart.COMPARE: self.changes,
            MistakePart.MAJOR: self.major,
            MistakePart.EXPLANATIONS: self.explanations,
            MistakePart.SEVERITY: self.severities,
        }
        return bool(filled[part])


_NO_REVIEWS = "it needs people's reviews of mistakes (regrade import mistakes)"
_NEEDS = {
    MistakePart.FLOW: "it needs predictions",
    MistakePart.TRIAGE: "it needs predictions",
    MistakePart.AGREEMENT: f"{_NO_REVIEWS}, of images that the labels score",
    MistakePart.CATEGORIES: _NO_REVIEWS,
    MistakePart.DISTANCE: "it needs mistakes, and classes with a hierarchy",
    MistakePart.PAIRS: "it needs predictions or reviews",
    MistakePart.COMPARE: "name the model to compare with by --against",
    MistakePart.MAJOR: _NO_REVIEWS,
    MistakePart.EXPLANATIONS: "it needs stored nearest training images: run regrade neighbors -t TEST_SET --against "
    "TRAINING_SET, and name the training set by --training-set",
    MistakePart.SEVERITY: "it needs predictions",
}
