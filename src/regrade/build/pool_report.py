"""What a pool contains: candidates by reason of exclusion, class, keyword and author, compared with the targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from regrade.build.pool import (
    CandidateRow,
    PoolAuthor,
    PoolClass,
    PoolExclusion,
    PoolKeyword,
    Refused,
    author_counts,
    class_counts,
    in_two_classes,
    keyword_counts,
    keywords_by_class,
)
from regrade.build.pool_source import PoolCandidate
from regrade.core import ClassSpace, Column, Table, Tabular, TestSet
from regrade.core.amounts import amount

Item = TypeVar("Item")

_SHOWN = 5  # names in a note
_MANY_COPIES = 5  # equal images of different sources that suggest a placeholder


class PoolPart(Enum):
    """The tables of a pool."""

    SUMMARY = "summary"
    CLASSES = "classes"
    KEYWORDS = "keywords"
    AUTHORS = "authors"
    EXCLUDED = "excluded"


@dataclass(frozen=True)
class ExcludedCandidate:
    """A listed image that is not in the pool."""

    image: str
    class_name: str
    reason: PoolExclusion
    detail: str


@dataclass(frozen=True, repr=False)
class PoolReport(Tabular):
    """A pool: how many candidates were listed, excluded by reason and kept, by class, keyword and author.

    ``new`` is false if the same pool was stored before, ``stored`` after a dry run. ``not_downloaded`` counts the kept
    candidates of a dry run whose images were not looked at.
    """

    pool: str
    source: str
    class_space: str
    stored: bool
    new: bool
    listed: int
    kept: int
    not_downloaded: int
    exclusions: dict[str, int]
    without_license: int
    in_two_classes: int
    target: int | None
    lagging: tuple[str, ...]
    classes_of_one_author: tuple[str, ...]
    classes_without_references: tuple[str, ...]
    classes: tuple[PoolClass, ...]
    keywords: tuple[PoolKeyword, ...]
    authors: tuple[PoolAuthor, ...]
    excluded: tuple[ExcludedCandidate, ...]
    notes: tuple[str, ...]

    @property
    def parts(self) -> tuple[PoolPart, ...]:
        """The tables that have rows, the main one first."""
        rows = {PoolPart.KEYWORDS: self.keywords, PoolPart.AUTHORS: self.authors, PoolPart.EXCLUDED: self.excluded}
        return tuple(part for part in PoolPart if rows.get(part, True))

    def table(self) -> Table:
        """The summary."""
        return self.part(PoolPart.SUMMARY)

    def part(self, part: PoolPart) -> Table:
        """One of the tables."""
        match part:
            case PoolPart.SUMMARY:
                return self._summary()
            case PoolPart.CLASSES:
                return self._classes()
            case PoolPart.KEYWORDS:
                return self._keywords()
            case PoolPart.AUTHORS:
                return self._authors()
            case PoolPart.EXCLUDED:
                return self._excluded()

    def _summary(self) -> Table:
        rows: list[tuple[str, int]] = [
            ("listed", self.listed),
            *((f"excluded: {reason.replace('_', ' ')}", count) for reason, count in self.exclusions.items()),
            ("kept", self.kept),
            *([("kept, not downloaded yet", self.not_downloaded)] if self.not_downloaded else []),
            ("classes", sum(row.kept > 0 for row in self.classes)),
            ("authors", len(self.authors)),
            ("without a license", self.without_license),
            *([("classes that lag", len(self.lagging))] if self.target is not None else []),
        ]
        columns = (Column("quantity", "candidates"), Column("value", "number"))
        state = "dry run" if not self.stored else "stored" if self.new else "stored already"
        return Table(f"{self.pool}: {state}", columns, tuple(rows), self.notes)

    def _classes(self) -> Table:
        columns = (
            Column("class", "class"),
            Column("name", "name"),
            Column("listed", "listed"),
            Column("kept", "kept"),
            Column("target", "target"),
            Column("missing", "missing"),
            Column("authors", "authors"),
            Column("largest_author", "most frequent author"),
            Column("largest_share", "share of this author"),
        )
        rows = tuple(
            (
                row.class_id,
                row.name,
                row.listed,
                row.kept,
                row.target,
                row.missing,
                row.authors,
                row.largest_author,
                row.largest_author_images / row.kept if row.largest_author else None,
            )
            for row in self.classes
        )
        return Table(f"{self.pool}: classes", columns, rows)

    def _keywords(self) -> Table:
        columns = (
            Column("class", "class"),
            Column("keyword", "keyword"),
            Column("listed", "listed"),
            Column("kept", "kept"),
            Column("target", "target"),
        )
        rows = tuple((row.class_id, row.keyword, row.listed, row.kept, row.target) for row in self.keywords)
        return Table(f"{self.pool}: keywords", columns, rows)

    def _authors(self) -> Table:
        columns = (
            Column("author", "author"),
            Column("images", "images"),
            Column("share", "share"),
            Column("classes", "classes"),
        )
        rows = tuple((row.author, row.images, row.share, row.classes) for row in self.authors)
        return Table(f"{self.pool}: authors", columns, rows)

    def _excluded(self) -> Table:
        columns = (
            Column("image", "image"),
            Column("class", "class"),
            Column("reason", "reason"),
            Column("detail", "detail"),
        )
        rows = tuple((row.image, row.class_name, row.reason.value, row.detail) for row in self.excluded)
        return Table(f"{self.pool}: excluded candidates", columns, rows)


@dataclass(frozen=True)
class CheckedCandidates:
    """The candidates of a source with the reasons of those that were excluded, by position.

    ``classes`` maps the class names of the source to indices of ``space``; ``references`` are the reference sets.
    """

    candidates: Sequence[PoolCandidate]
    refusals: Mapping[int, Refused]
    classes: Mapping[str, int]
    space: ClassSpace
    references: Sequence[TestSet]

    @property
    def kept(self) -> list[PoolCandidate]:
        """The candidates that were not excluded."""
        return [row for position, row in enumerate(self.candidates) if position not in self.refusals]

    @property
    def rows(self) -> list[CandidateRow]:
        """The candidates of classes of the class space."""
        return [
            CandidateRow(
                self.space.ids[self.classes[row.class_name]],
                row.metadata.get("keyword", ""),
                row.metadata.get("author", ""),
                position not in self.refusals,
            )
            for position, row in enumerate(self.candidates)
            if row.class_name in self.classes
        ]

    @property
    def excluded(self) -> tuple[ExcludedCandidate, ...]:
        """The excluded candidates in the order of the source."""
        rows = ((self.candidates[position], refused) for position, refused in sorted(self.refusals.items()))
        return tuple(ExcludedCandidate(row.id, row.class_name, refused.reason, refused.detail) for row, refused in rows)

    @property
    def references_of_space(self) -> list[TestSet]:
        """The reference sets with the classes of the pool."""
        return [reference for reference in self.references if reference.class_space.digest == self.space.digest]

    def name_of(self, class_id: str) -> str:
        """The name of a class."""
        return self.space.names[self.space.index_of[class_id]]


@dataclass(frozen=True)
class PoolOutcome:
    """What a run was asked for, and what it did: see the fields of the same names of `PoolReport`."""

    pool: str
    source: str
    target: int | None
    not_downloaded: int
    stored: bool
    new: bool


def pool_report(checked: CheckedCandidates, outcome: PoolOutcome, notes: Sequence[str] = ()) -> PoolReport:
    """Count the candidates of a pool, and compare them with the target; ``notes`` come first."""
    kept, rows, references = checked.kept, checked.rows, checked.references_of_space
    by_class = class_counts(rows, checked.name_of, outcome.target)
    lacking = _without_references(by_class, references)
    without_license = sum(not row.metadata.get("license") for row in kept)
    doubled = in_two_classes(checked.candidates, checked.refusals)
    return PoolReport(
        outcome.pool,
        outcome.source,
        checked.space.name,
        outcome.stored,
        outcome.new,
        len(checked.candidates),
        len(kept),
        outcome.not_downloaded,
        exclusion_counts(checked.refusals),
        without_license,
        doubled,
        outcome.target,
        tuple(row.class_id for row in by_class if row.missing),
        tuple(row.class_id for row in by_class if row.has_one_author),
        lacking,
        by_class,
        keyword_counts(rows, _reference_keywords(references), outcome.target),
        author_counts(rows),
        checked.excluded,
        (
            *notes,
            *_class_notes(by_class, lacking, len(checked.space)),
            *_license_notes(without_license, len(kept)),
            *_copy_notes(checked.candidates, checked.refusals, doubled),
        ),
    )


def exclusion_counts(refusals: Mapping[int, Refused]) -> dict[str, int]:
    """The number of excluded candidates per reason, in the order of the checks."""
    counts = Counter(refused.reason for refused in refusals.values())
    return {reason.value: counts[reason] for reason in PoolExclusion if counts[reason]}


def _without_references(by_class: Sequence[PoolClass], references: Sequence[TestSet]) -> tuple[str, ...]:
    """The classes with candidates that no reference image has; empty without a reference set of the same classes."""
    if not references:
        return ()
    labels = {label for reference in references for label in reference.labels.tolist()}
    index_of = references[0].class_space.index_of
    return tuple(row.class_id for row in by_class if row.kept and index_of[row.class_id] not in labels)


def _reference_keywords(references: Sequence[TestSet]) -> dict[str, dict[str, int]]:
    """The number of reference images by class and keyword, of the first set that has keywords."""
    with_keywords = (reference for reference in references if "keyword" in reference.group_columns)
    reference = next(with_keywords, None)
    return {} if reference is None else keywords_by_class(reference, reference.group_columns["keyword"])


def _class_notes(by_class: Sequence[PoolClass], lacking: Sequence[str], classes: int) -> list[str]:
    notes = []
    if lagging := [row for row in by_class if row.missing]:
        most = sorted(lagging, key=lambda row: (-(row.missing or 0), row.class_id))
        listed = _listed(most, lambda row: f"{row.class_id} ({row.kept} of {row.target})")
        notes.append(f"{amount(len(lagging), 'class lags', 'classes lag')} behind the target: {listed}")
    if by_class and by_class[0].target is not None and (absent := classes - len(by_class)):
        notes.append(f"{amount(absent, 'class has', 'classes have')} no candidates at all")
    if single := [row for row in by_class if row.has_one_author]:
        listed = _listed(single, lambda row: f"{row.class_id} ({row.kept} by {row.largest_author})")
        notes.append(f"{amount(len(single), 'class has', 'classes have')} images of one author only: {listed}")
    if lacking:
        listed = _listed(lacking, str)
        notes.append(f"{amount(len(lacking), 'class has', 'classes have')} no reference images: {listed}")
    return notes


def _license_notes(without: int, kept: int) -> list[str]:
    return [f"{without:,} of {amount(kept, 'image')} have no license"] if without else []


def _copy_notes(candidates: Sequence[PoolCandidate], refusals: Mapping[int, Refused], doubled: int) -> list[str]:
    notes = []
    if doubled:
        what = amount(doubled, "candidate is a duplicate", "candidates are duplicates")
        notes.append(f"{what} of one of another class: see --show excluded")
    copies = Counter(
        refused.kept_position for refused in refusals.values() if refused.reason is PoolExclusion.EXACT_DUPLICATE
    )
    for position, count in copies.most_common(1):
        if position is not None and count >= _MANY_COPIES:
            image = candidates[position].id
            notes.append(f"{count:,} candidates have the pixels of {image!r}: it may be the placeholder of a server")
    return notes


def _listed(items: Sequence[Item], text: Callable[[Item], str]) -> str:
    more = ", ..." if len(items) > _SHOWN else ""
    return ", ".join(map(text, items[:_SHOWN])) + more
