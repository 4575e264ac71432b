"""Result of the mistakes study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from regrade.core import Estimate, InputError, Table, Tabular
from regrade.studies.mistakes import tables
from regrade.studies.mistakes.agreement import TriageAgreement
from regrade.studies.mistakes.categories import Categories
from regrade.studies.mistakes.changes import Change
from regrade.studies.mistakes.distances import DEFINITION, DistanceCount
from regrade.studies.mistakes.flow import Flow
from regrade.studies.mistakes.major import MajorSlice
from regrade.studies.mistakes.pairs import PairTail
from regrade.studies.mistakes.triage import TriageKind, TriageRow

MOST_PAIRS = 100
"""Number of confused pairs in the JSON output; the table has all."""


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


@dataclass(frozen=True, eq=False, repr=False)
class Mistakes(Tabular):
    """The mistakes of models on a test set, with reviewers' categories and a triage; best models first.

    Parts without data are empty or None: ``major`` without reviews, ``changes`` without a model to compare with.
    """

    test_set: str
    labels: str
    relabeled: str | None
    flows: tuple[Flow, ...]
    triage: tuple[TriageRow, ...]
    agreement: tuple[TriageAgreement, ...]
    categories: Categories
    distances: tuple[DistanceCount, ...]
    pairs: PairTail
    changes: tuple[Change, ...]
    major: MajorSlice | None
    confidence: float = 0.95
    notes: tuple[str, ...] = ()
    triage_notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """Return the flow of the models' mistakes; the categories if there are only reviews."""
        return self.part(MistakePart.FLOW if self.flows else MistakePart.CATEGORIES)

    def part(self, part: MistakePart) -> Table:
        """Return one of the tables; an empty one raises with the missing input."""
        if not self._has(part):
            raise InputError(f"there is nothing to show as {part.value}: {_NEEDS[part]}")
        title = f"{self.test_set} against {self.labels}" + (f", then {self.relabeled}" if self.relabeled else "")
        builders: dict[MistakePart, Callable[[], Table]] = {
            MistakePart.FLOW: lambda: tables.flow_table(title, self.flows, self.notes),
            MistakePart.TRIAGE: lambda: tables.triage_table(title, self.triage, self.triage_notes),
            MistakePart.AGREEMENT: lambda: tables.agreement_table(title, self.agreement, self.triage_notes),
            MistakePart.CATEGORIES: lambda: tables.category_table(self.test_set, self.categories),
            MistakePart.DISTANCE: lambda: tables.distance_table(title, self.distances),
            MistakePart.PAIRS: lambda: tables.pair_table(title, self.pairs),
            MistakePart.COMPARE: lambda: tables.change_table(title, self.changes, self.notes),
            MistakePart.MAJOR: lambda: tables.major_table(title, cast(MajorSlice, self.major)),
        }
        return builders[part]()

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
        }
        return bool(filled[part])

    def as_dict(self) -> dict[str, Any]:
        """Return the study as a dict for JSON, with only the most frequent confused pairs."""
        kinds = [kind.value for kind in TriageKind]
        return {
            "test_set": self.test_set,
            "labels": self.labels,
            "relabeled": self.relabeled,
            "flow": [_flow(flow) for flow in self.flows],
            "triage": [
                {
                    "model": row.model,
                    "images": row.images,
                    "errors": row.errors,
                    "counts": dict(zip(kinds, row.counts, strict=True)),
                    "shares": None if row.shares is None else dict(zip(kinds, _plain(row.shares), strict=True)),
                }
                for row in self.triage
            ],
            "agreement": [tables.agreement_record(row) for row in self.agreement],
            "categories": [tables.category_record(count) for count in self.categories.counts],
            "tests": [tables.test_record(test) for test in self.categories.tests],
            "distance_definition": DEFINITION,
            "distances": [tables.distance_record(count) for count in self.distances],
            "pairs": {
                "sources": list(self.pairs.sources),
                "pairs": len(self.pairs),
                "confusions": self.pairs.total,
                "frequencies": {str(size): pairs for size, pairs in self.pairs.frequencies.items()},
                "most_frequent": [dict(vars(pair)) for pair in self.pairs.rows(MOST_PAIRS)],
            },
            "changes": [change.as_dict() for change in self.changes],
            "major": None if self.major is None else tables.major_record(self.major),
            "notes": [*self.notes, *self.triage_notes],
        }


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
}


def _flow(flow: Flow) -> dict[str, Any]:
    accuracies = {
        when: {rule: _value(getattr(getattr(flow, when), rule)) for rule in ("over_images", "over_classes")}
        for when in ("before", "after")
    }
    return {**vars(flow), "overturned": flow.overturned, **accuracies}


def _plain(estimates: tuple[Estimate, ...]) -> list[dict[str, Any]]:
    return [estimate.as_dict() for estimate in estimates]


def _value(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate.as_dict()
