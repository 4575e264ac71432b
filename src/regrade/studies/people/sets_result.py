"""The result of a study of people and models on several test sets, and its tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from regrade.core import Cell, Column, Estimate, InputError, Table
from regrade.core.amounts import amount
from regrade.core.record import NOT_IN_JSON, Record
from regrade.studies.image_basis import Basis
from regrade.studies.people.accuracy import LEAD, Contender
from regrade.studies.people.result import PeoplePart, PeopleResult
from regrade.studies.scoring import EVERYTHING


class GapVerdict(Enum):
    """What the corrected test of a gap says about the accuracy on the new set, compared with the original."""

    LOWER = "lower"
    HIGHER = "higher"
    NOT_DETECTED = "no difference detected"


@dataclass(frozen=True)
class SetsRow(Record):
    """One person or model, the mean of people or their lead, on a subset of the original and of a new test set.

    ``gap`` is the accuracy on the original minus that on the new set; ``holm`` is its p-value corrected for all gaps of
    the study.
    """

    who: str
    kind: Contender
    subset: str
    test_set: str
    original: Estimate
    accuracy: Estimate
    gap: Estimate
    p_value: float
    holm: float
    level: float = field(default=0.05, metadata=NOT_IN_JSON)

    @property
    def verdict(self) -> GapVerdict:
        """The conclusion of the corrected test."""
        if self.holm > self.level:
            return GapVerdict.NOT_DETECTED
        return GapVerdict.LOWER if self.gap.value > 0 else GapVerdict.HIGHER

    @property
    def change(self) -> Estimate:
        """The accuracy on the new set minus that on the original: the gap with the opposite sign."""
        return replace(self.gap, value=-self.gap.value, low=-self.gap.high, high=-self.gap.low)

    def json_fields(self) -> dict[str, Any]:
        """The fields and the verdict."""
        return {**super().json_fields(), "verdict": self.verdict}


@dataclass(frozen=True, repr=False)
class PeopleOnSets(PeopleResult, records="rows"):
    """The same people and models on an original test set and on new ones, best on the original first.

    ``bases`` are the images and labels of each set, the original first; ``sizes`` counts the images of each subset by
    set; ``novel`` counts predictions that no one has judged.
    """

    bases: tuple[Basis, ...]
    confidence: float
    sizes: dict[str, dict[str, int]]
    rows: tuple[SetsRow, ...]
    novel: dict[str, dict[str, int]]
    notes: tuple[str, ...]

    def json_fields(self) -> dict[str, Any]:
        """The test sets with their images and labels, the rows, and all notes."""
        return {
            "test_sets": self.names,
            "labels": [basis.labels and f"{basis.labels}@{basis.labels_version}" for basis in self.bases],
            "rule": self.bases[0].rule,
            "confidence": self.confidence,
            "subsets": self.sizes,
            "rows": self.rows,
            "novel": self.novel,
            "notes": self._all_notes,
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the test sets, the original first."""
        return tuple(basis.test_set for basis in self.bases)

    @property
    def original(self) -> str:
        """The name of the original test set."""
        return self.names[0]

    def on(self, test_set: str, subset: str = EVERYTHING) -> tuple[SetsRow, ...]:
        """The rows of one new set and subset, best on the original first."""
        return tuple(row for row in self.rows if (row.test_set, row.subset) == (test_set, subset))

    def lead(self, test_set: str) -> SetsRow | None:
        """The lead of people over models on all images of a new set; None if it is undefined."""
        return next((row for row in self.on(test_set) if row.kind is Contender.LEAD), None)

    @property
    def parts(self) -> tuple[PeoplePart, ...]:
        """The tables."""
        return (PeoplePart.ACCURACY, *([PeoplePart.SUBSETS] if len(next(iter(self.sizes.values()))) > 1 else []))

    def part(self, part: PeoplePart) -> Table:
        """Return one of the tables; those about a single test set raise."""
        if part is PeoplePart.ACCURACY:
            return self.table()
        if part is not PeoplePart.SUBSETS:
            raise InputError(f"the table {part.value} is about one test set: give --test-set once")
        if part not in self.parts:
            raise InputError(f"the table {part.value} is empty: no subset has images of every test set")
        return self.subset_table()

    def table(self) -> Table:
        """One row per person or model, with the accuracies on all images of every set and the gaps to the first."""
        sizes = {name: sizes[EVERYTHING] for name, sizes in self.sizes.items()}
        several = len(self.names) > 2
        columns = [Column("who", "who"), Column("kind", "kind", detail=True)]
        columns.append(Column(f"accuracy_{self.original}", f"{self.original} ({sizes[self.original]:,})"))
        for name in self.names[1:]:
            of = f" to {name}" if several else ""
            columns += [
                Column(f"accuracy_{name}", f"{name} ({sizes[name]:,})"),
                Column(f"gap_{name}", f"gap{of}"),
                Column(f"holm_{name}", f"p-value{of} (Holm)", percent=False, digits=3, detail=True),
                Column(f"verdict_{name}", f"on {name}"),
            ]
        rows = tuple(self._cells(first) for first in self.on(self.names[1]))
        shown = [row for row in self.rows if row.subset == EVERYTHING]
        title = f"people and models on {' and '.join(self.names)}{self._against}, accuracy in %"
        return Table(title, tuple(columns), rows, (*self._counts(), *self._explained(shown), *self._all_notes))

    def _cells(self, first: SetsRow) -> tuple[Cell, ...]:
        """The cells of everyone in the main table."""
        own = [row for name in self.names[1:] for row in self.on(name) if row.who == first.who]
        cells: list[Cell] = [first.who, first.kind.value, first.original]
        for row in own:
            cells += [row.accuracy, row.gap, row.holm, row.verdict.value]
        return tuple(cells)

    def subset_table(self) -> Table:
        """One row per person or model, subset and new set."""
        columns = (
            Column("who", "who"),
            Column("subset", "subset"),
            Column("test_set", "new set"),
            Column("original", self.original),
            Column("accuracy", "new set"),
            Column("gap", "gap"),
            Column("p_value", "p-value", percent=False, digits=3, detail=True),
            Column("holm", "p-value (Holm)", percent=False, digits=3),
            Column("verdict", "verdict"),
        )
        rows = tuple(
            (row.who, row.subset, row.test_set, row.original, row.accuracy, row.gap, row.p_value, row.holm,
             row.verdict.value)
            for row in self.rows
        )  # fmt: skip
        sizes = "; ".join(f"{name}: {_listed(sizes)}" for name, sizes in self.sizes.items())
        title = f"people and models on subsets of {' and '.join(self.names)}{self._against}, in %"
        return Table(title, columns, rows, (f"images: {sizes}", *self._explained(self.rows)))

    @property
    def _against(self) -> str:
        labels = dict.fromkeys(f"{basis.labels}@{basis.labels_version}" for basis in self.bases if basis.labels)
        return f" against {' and '.join(labels)}" if labels else ""

    @property
    def _all_notes(self) -> tuple[str, ...]:
        """The notes of the study, and those of the scoring on each set."""
        return (*dict.fromkeys(note for basis in self.bases for note in basis.notes), *self.notes)

    def _counts(self) -> tuple[str, ...]:
        """How many people and models are less and more accurate on each new set."""
        return tuple(f"on {name}: {self.counted(name)}" for name in self.names[1:])

    def counted(self, test_set: str) -> str:
        """How many people and models are less and more accurate on all images of a new set, in words."""
        parts = []
        for kind, words in ((Contender.PERSON, ("person", "people")), (Contender.MODEL, ("model", "models"))):
            rows = [row for row in self.on(test_set) if row.kind is kind]
            lower, higher = (
                sum(row.verdict is verdict for row in rows) for verdict in (GapVerdict.LOWER, GapVerdict.HIGHER)
            )
            if rows:
                parts.append(f"of {amount(len(rows), *words)} {lower:,} less and {higher:,} more accurate")
        return "; ".join(parts)

    def _explained(self, shown: Iterable[SetsRow]) -> tuple[str, ...]:
        lead = (f"{LEAD}: a difference of accuracies, in points",) if any(map(_is_lead, self.rows)) else ()
        return (
            f"gap: {self.original} minus the other set, in points; its interval holds for all {len(self.rows):,} gaps "
            "together (Bonferroni), and verdicts are corrected for all of them (Holm)",
            *lead,
            *_methods(estimate for row in shown for estimate in (row.original, row.accuracy, row.gap)),
        )


def _is_lead(row: SetsRow) -> bool:
    return row.kind is Contender.LEAD


def _listed(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} {size:,}" for name, size in sizes.items())


def _methods(estimates: Iterable[Estimate]) -> tuple[str, ...]:
    return (f"intervals: {', '.join(sorted({estimate.method for estimate in estimates}))}",)
