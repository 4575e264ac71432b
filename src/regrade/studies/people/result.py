"""The result of a study of people and models on the same images, and its tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from regrade.core import Cell, Column, Estimate, InputError, Table
from regrade.core.amounts import amount
from regrade.core.record import INLINE, json_key
from regrade.studies.compare.model_pairs import Pair
from regrade.studies.compare.result import pair_table
from regrade.studies.image_basis import Basis
from regrade.studies.people.accuracy import Contender, PeopleRow
from regrade.studies.people.answers import Agreement, FastImages, SpeedBand, TimeSpent
from regrade.studies.people.modeled import ModeledPeople
from regrade.studies.scoring import EVERYTHING
from regrade.studies.study_result import StudyResult


class PeoplePart(Enum):
    """The tables of a study of people."""

    ACCURACY = "accuracy"
    SUBSETS = "subsets"
    TESTS = "tests"
    TIMES = "times"
    AGREEMENT = "agreement"
    MISSED = "missed"
    REVIEWER_MODELS = "reviewer-models"
    DISAGREEMENTS = "disagreements"


_NEEDS = {
    PeoplePart.SUBSETS: "it requires images of a class group (--subset), or answer times",
    PeoplePart.TESTS: "it requires a model",
    PeoplePart.TIMES: "it requires people with answer times",
    PeoplePart.AGREEMENT: "it requires two people who answered the same images",
    PeoplePart.REVIEWER_MODELS: "it requires --reviewer-models",
    PeoplePart.DISAGREEMENTS: "it requires --reviewer-models, and an image on which a model contradicts the majority",
}


@dataclass(frozen=True)
class MissedImage:
    """The id of an image, with the display name of its original label."""

    image: str
    label: str


@dataclass(frozen=True)
class Missed:
    """The images that all people, all models, and all of both get wrong; ``models`` is empty without models."""

    people: tuple[MissedImage, ...]
    models: tuple[MissedImage, ...]
    everyone: tuple[MissedImage, ...]


class PeopleResult(StudyResult):
    """The result of a study of people, on one test set or on several."""


@dataclass(frozen=True, repr=False)
class People(PeopleResult, records="rows"):
    """People and models on the same images and labels, best first.

    ``sizes`` counts the images of each subset; ``own`` is each person's accuracy on all images they were asked about;
    ``tests`` compare every person (first) with every model (second), corrected for these pairs; ``fast``, ``times`` and
    ``speed`` cover the answers with a known time.
    """

    basis: Basis = field(metadata=INLINE)
    sizes: dict[str, int] = field(metadata=json_key("subsets"))
    rows: tuple[PeopleRow, ...]
    own: dict[str, Estimate]
    tests: tuple[Pair, ...]
    missed: Missed
    agreement: Agreement | None
    times: tuple[TimeSpent, ...]
    fast: FastImages | None
    speed: tuple[SpeedBand, ...]
    novel: dict[str, int]
    notes: tuple[str, ...]
    modeled: ModeledPeople | None = field(default=None, metadata=json_key("reviewer_models", only_if_set=True))

    def json_fields(self) -> dict[str, Any]:
        """The fields, with all notes."""
        return {**super().json_fields(), "notes": (*self.basis.notes, *self.notes)}

    def names(self, kind: Contender) -> tuple[str, ...]:
        """The names of one kind, best first."""
        return tuple(row.who for row in self.on(EVERYTHING) if row.kind is kind)

    def on(self, subset: str) -> tuple[PeopleRow, ...]:
        """The rows of one subset, ordered by accuracy on all images."""
        return tuple(row for row in self.rows if row.subset == subset)

    def ahead(self) -> Contender | None:
        """The side whose best is significantly ahead of everyone on the other side, corrected for all pairs, or None.

        The best of each side is selected on the same answers, so the test of this one pair is not enough.
        """
        people, models, level = self.names(Contender.PERSON), self.names(Contender.MODEL), 1 - self.basis.confidence
        shown = {pair: pair.difference.value if pair.holm <= level else 0.0 for pair in self.tests}
        if shown and all(lead > 0 for pair, lead in shown.items() if pair.first == people[0]):
            return Contender.PERSON
        if shown and all(lead < 0 for pair, lead in shown.items() if pair.second == models[0]):
            return Contender.MODEL
        return None

    def table(self) -> Table:
        """One row per person or model, with the accuracy on every subset."""
        accuracies = {(row.who, row.subset): row.accuracy for row in self.rows}
        partly = any(self.own[who].n != accuracies[who, EVERYTHING].n for who in self.own)
        columns = [Column("who", "who"), Column("kind", "kind", detail=True)]
        columns += [Column(name, f"{name} ({size:,})") for name, size in self.sizes.items()]
        columns += [Column("own", "all they labeled")] if partly else []
        columns += [Column("novel", "novel", detail=True)] if any(self.novel.values()) else []
        rows = []
        for row in self.on(EVERYTHING):
            cells: list[Cell] = [row.who, row.kind.value, *(accuracies.get((row.who, name)) for name in self.sizes)]
            cells += [self.own.get(row.who)] if partly else []
            cells += [self.novel.get(row.who)] if any(self.novel.values()) else []
            rows.append(tuple(cells))
        title = f"people and models on {self.basis.title}, accuracy in %"
        return Table(title, tuple(columns), tuple(rows), (*self._findings(), *self.basis.notes, *self.notes))

    @property
    def parts(self) -> tuple[PeoplePart, ...]:
        """The tables with rows."""
        return tuple(part for part in PeoplePart if part not in _NEEDS or self._part(part).rows)

    def part(self, part: PeoplePart) -> Table:
        """Return one of the tables; an empty one raises with the missing input."""
        table = self._part(part)
        if not table.rows and part in _NEEDS:
            raise InputError(f"the table {part.value} is empty: {_NEEDS[part]}")
        return table

    def _part(self, part: PeoplePart) -> Table:
        tables = {
            PeoplePart.ACCURACY: self.table,
            PeoplePart.SUBSETS: self.subset_table,
            PeoplePart.TESTS: self.test_table,
            PeoplePart.TIMES: self.time_table,
            PeoplePart.AGREEMENT: self.agreement_table,
            PeoplePart.MISSED: self.missed_table,
            PeoplePart.REVIEWER_MODELS: self.modeled_table,
            PeoplePart.DISAGREEMENTS: self.disagreement_table,
        }
        return tables[part]()

    def subset_table(self) -> Table:
        """One row per person or model and subset, with the change of accuracy on the subset."""
        columns = (
            Column("who", "who"),
            Column("subset", "subset"),
            Column("accuracy", "accuracy"),
            Column("change", "change"),
            Column("chance_low", "random subsets, from"),
            Column("chance_high", "to"),
            Column("p_value", "p-value of the change", percent=False, digits=3),
        )
        rows = tuple(_subset_cells(row) for row in self.rows if row.subset != EVERYTHING)
        notes = (
            "change: accuracy on the subset minus accuracy on all images, in points",
            "random subsets: range of the change over random sets of as many classes; p-value: how often such a set "
            "changes the accuracy by at least as much",
            "intervals are simultaneous for all subsets of a person or model; p-values are not corrected for the "
            "number of subsets",
            *_methods(estimate for row in self.rows for estimate in (row.accuracy, row.change)),
        )
        return Table(f"subsets of {self.basis.title}, in %", columns, rows, notes)

    def test_table(self) -> Table:
        """One row per person and model: McNemar's tests."""
        novel = any(pair.lowest != pair.highest for pair in self.tests)
        methods = {pair.difference.method for pair in self.tests}
        return pair_table(self.basis, self.tests, novel=novel, methods=methods)

    def time_table(self) -> Table:
        """One row per person: the time spent, and accuracy from the quickest to the slowest quarter of the images."""
        plain = {"percent": False}
        columns = (
            Column("person", "person"),
            Column("images", "images"),
            Column("median", "median", **plain),
            Column("lower_quartile", "lower quartile", **plain, detail=True),
            Column("upper_quartile", "upper quartile", **plain, detail=True),
            Column("hours", "hours", **plain),
            *(Column(f"quarter_{q}", f"accuracy, {word} quarter") for q, word in enumerate(_QUARTERS, start=1)),
        )
        bands = {(band.person, band.quarter): band.accuracy for band in self.speed}
        own = ("person", "images", "median", "lower_quartile", "upper_quartile", "hours")
        rows = tuple(
            (*(getattr(time, key) for key in own), *(bands.get((time.person, q)) for q in range(1, 5)))
            for time in self.times
        )
        notes = (*self._fast_note(), "images: all images that the person was asked about and that have a known time")
        methods = _methods([*(time.median for time in self.times), *(band.accuracy for band in self.speed)])
        return Table(f"time spent on {self.basis.title}, in seconds", columns, rows, (*notes, *methods))

    def agreement_table(self) -> Table:
        """The measures of agreement, and the share of equal answers for each pair of people."""
        columns = (Column("measure", "measure"), Column("value", "value"), Column("images", "images"))
        agreement = self.agreement
        named: list[tuple[str, Estimate | None]] = []
        if agreement is not None:
            named = [("equal answers", agreement.equal), ("Fleiss' kappa", agreement.fleiss)]
            named += [("Krippendorff's alpha", agreement.krippendorff)]
            named += [(f"equal answers of {pair.first} and {pair.second}", pair.share) for pair in agreement.pairs]
        rows = tuple((what, value, value.n if value else None) for what, value in named)
        notes = (
            "kappa is over the images that everyone answered, alpha over all images that two or more people answered",
            *_methods(value for _, value in named),
        )
        notes = notes if rows else ("agreement needs two or more people",)
        return Table(f"agreement between people on {self.basis.title}, x 100", columns, rows, notes)

    def missed_table(self) -> Table:
        """One row per image that all people or all models get wrong."""
        columns = (Column("image", "image"), Column("label", "label"), Column("missed_by", "missed by all"))
        both = {missed.image for missed in self.missed.everyone}
        parts = (
            ("people and models", self.missed.everyone),
            ("people", [missed for missed in self.missed.people if missed.image not in both]),
            ("models", [missed for missed in self.missed.models if missed.image not in both]),
        )
        rows = tuple((missed.image, missed.label, who) for who, images in parts for missed in images)
        people = self.names(Contender.PERSON)
        alone = f"there is only one person: every image that {people[0]} gets wrong counts as missed by all people"
        nothing = "no image is missed by all people" + (", nor by all models" if self.tests else "")
        notes = (*(() if rows else (nothing,)), *((alone,) if len(people) == 1 else ()))
        return Table(f"images of {self.basis.title} that all people or all models get wrong", columns, rows, notes)

    def modeled_table(self) -> Table:
        """One row per person: the accuracy in the one-coin model, and by the labels; empty without models."""
        title = f"people on {self.basis.title}, from their answers and by the labels"
        return self.modeled.table(title) if self.modeled else Table(title, (), ())

    def disagreement_table(self) -> Table:
        """One row per image on which a model of people and their majority disagree; empty without models."""
        title = f"images of {self.basis.title} on which a model of people contradicts the majority"
        return self.modeled.disagreement_table(title) if self.modeled else Table(title, (), ())

    def _findings(self) -> tuple[str, ...]:
        level = 1 - self.basis.confidence
        findings = []
        if self.tests:
            ahead, behind = (
                sum(pair.holm <= level and sign * pair.difference.value > 0 for pair in self.tests) for sign in (1, -1)
            )
            findings.append(
                f"of {amount(len(self.tests), 'pair')} of a person and a model, the person is ahead in {ahead:,} and "
                f"behind in {behind:,} at the {100 * level:g}% level (exact McNemar, Holm)"
            )
        missed = self.missed
        words = f"images missed by all people: {len(missed.people):,}"
        if self.tests:
            words += f", by all models: {len(missed.models):,}, by all of both: {len(missed.everyone):,}"
        findings.append(words)
        if self.agreement and self.agreement.krippendorff:
            findings.append(f"agreement between people, Krippendorff's alpha x 100: {self.agreement.krippendorff}")
        return (*findings, *self._fast_note(), *_methods(row.accuracy for row in self.rows))

    def _fast_note(self) -> tuple[str, ...]:
        if self.fast is None:
            return ()
        fast = self.fast
        return (
            f"the median person took at most {fast.limit:g} s on {fast.at_most:,} of {amount(fast.timed, 'image')}, "
            f"and less than {fast.limit:g} s on {fast.less:,}",
        )


def _methods(estimates: Iterable[Estimate | None]) -> tuple[str, ...]:
    """The methods of the intervals."""
    methods = sorted({estimate.method for estimate in estimates if estimate})
    return (f"intervals: {', '.join(methods)}",) if methods else ()


_QUARTERS = ("quickest", "second", "third", "slowest")


def _subset_cells(row: PeopleRow) -> tuple[Cell, ...]:
    chance = (row.chance.low, row.chance.high, row.chance.p_value) if row.chance else (None, None, None)
    return (row.who, row.subset, row.accuracy, row.change, *chance)
