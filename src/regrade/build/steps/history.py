"""regrade build history: how a published test set was built, from the files that its authors released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from pathlib import Path

from regrade.build.imagenetv2 import (
    ReviewedClasses,
    read_blacklist,
    read_near_duplicates,
    read_reviews,
    read_revisions,
    read_tasks,
    revision_number,
)
from regrade.build.revision_figure import history_figure
from regrade.build.revisions import Revision, convergence, union
from regrade.build.tasks import TaskPlan
from regrade.core import Column, FormatError, InputError, Table, Tabular
from regrade.studies.study import Parts, Study, StudyOptions, option

_FILES = ("revisions.parquet", "revisions.json", "tasks.parquet", "reviews.parquet", "blacklist.parquet",
          "near_duplicates.parquet")  # fmt: skip


class HistoryPart(Enum):
    """The tables of a history."""

    SETS = "sets"
    OVERLAPS = "overlaps"
    REVISIONS = "revisions"
    TASKS = "tasks"
    BLACKLIST = "blacklist"


@dataclass(frozen=True)
class HistoryOptions(StudyOptions):
    """The folder."""

    folder: Path = option(
        "Folder with revisions.parquet and .json, and tasks, reviews, blacklist and near_duplicates as .parquet.",
        is_argument=True,
        metavar="FOLDER",
    )


@dataclass(frozen=True)
class HistorySet:
    """One set: its revisions, the images of the last one, of all of them, and those that the last one added."""

    name: str
    revisions: int
    images: int
    images_of_all: int
    last_added: int | None


@dataclass(frozen=True)
class SetOverlap:
    """The number of images that the last revisions of two sets have in common."""

    first: str
    second: str
    images: int


@dataclass(frozen=True)
class HistoryRevision:
    """One revision, compared with the one before, and its review; None where there is none."""

    set_name: str
    number: int
    images: int
    added: int | None
    removed: int | None
    reviewed: int | None
    problematic: int | None


@dataclass(frozen=True, repr=False)
class History(Tabular):
    """How a published test set was built.

    ``compositions`` are the numbers of tasks, candidates, positive and negative controls, the most frequent first;
    ``near_duplicates`` are as listed, and ``near_duplicate_pairs`` count each pair once.
    """

    folder: str
    sets: tuple[HistorySet, ...]
    overlaps: tuple[SetOverlap, ...]
    union: int
    revisions: tuple[HistoryRevision, ...]
    tasks: int
    compositions: tuple[tuple[int, int, int, int], ...]
    blacklisted: int
    blacklist: tuple[tuple[str, int], ...]
    near_duplicates: int
    near_duplicate_pairs: int

    @property
    def parts(self) -> tuple[HistoryPart, ...]:
        """All tables, the main one first."""
        return tuple(HistoryPart)

    def table(self) -> Table:
        """The sets."""
        return self.part(HistoryPart.SETS)

    def part(self, part: HistoryPart) -> Table:
        """One of the tables."""
        match part:
            case HistoryPart.SETS:
                return self._sets()
            case HistoryPart.OVERLAPS:
                return self._overlaps()
            case HistoryPart.REVISIONS:
                return self._revisions()
            case HistoryPart.TASKS:
                return self._tasks()
            case HistoryPart.BLACKLIST:
                return self._blacklist()

    def _sets(self) -> Table:
        columns = (
            Column("name", "set"),
            Column("revisions", "revisions"),
            Column("images", "images"),
            Column("images_of_all", "images of all revisions"),
            Column("last_added", "added by the last revision"),
        )
        rows = tuple((row.name, row.revisions, row.images, row.images_of_all, row.last_added) for row in self.sets)
        reviews = sum(row.reviewed is not None for row in self.revisions)
        notes = (
            f"{self.union:,} images in all sets together",
            f"{self.tasks:,} tasks, {reviews:,} reviewed revisions, {self.blacklisted:,} blacklisted images, "
            f"{self.near_duplicates:,} listed near duplicates ({self.near_duplicate_pairs:,} different pairs)",
        )
        return Table(f"{self.folder}: {len(self.sets):,} sets", columns, rows, notes)

    def _overlaps(self) -> Table:
        columns = (Column("first", "set"), Column("second", "and"), Column("images", "images in both"))
        rows = tuple((row.first, row.second, row.images) for row in self.overlaps)
        return Table(f"{self.folder}: the last revisions, {self.union:,} images together", columns, rows)

    def _revisions(self) -> Table:
        columns = (
            Column("set", "set"),
            Column("number", "revision"),
            Column("images", "images"),
            Column("added", "added"),
            Column("removed", "removed"),
            Column("reviewed", "classes reviewed"),
            Column("problematic", "with problems"),
        )
        rows = tuple(
            (row.set_name, row.number, row.images, row.added, row.removed, row.reviewed, row.problematic)
            for row in self.revisions
        )
        return Table(f"{self.folder}: revisions", columns, rows)

    def _tasks(self) -> Table:
        columns = (
            Column("tasks", "tasks"),
            Column("candidates", "candidates"),
            Column("positives", "positive controls"),
            Column("negatives", "negative controls"),
        )
        return Table(f"{self.folder}: {self.tasks:,} tasks", columns, self.compositions)

    def _blacklist(self) -> Table:
        columns = (Column("reason", "reason"), Column("images", "images"))
        return Table(f"{self.folder}: {self.blacklisted:,} blacklisted images", columns, self.blacklist)


def run(_: None, options: HistoryOptions) -> History:
    """Read the published history of a test set, and count what each revision changed."""
    folder = Path(options.folder)
    _check_files(folder)
    sets, tasks, blacklist = read_revisions(folder), TaskPlan(read_tasks(folder), ()), read_blacklist(folder)
    if not sets:
        raise FormatError(f"{folder / 'revisions.parquet'} has no revisions")
    reviews, similar = read_reviews(folder), read_near_duplicates(folder)
    last = {name: revisions[-1] for name, revisions in sets.items()}
    return History(
        str(folder),
        tuple(_set(name, revisions) for name, revisions in sets.items()),
        tuple(SetOverlap(a, b, len(last[a].images & last[b].images)) for a, b in combinations(last, 2)),
        len(union(last.values())),
        tuple(row for name, revisions in sets.items() for row in _revision_rows(name, revisions, reviews)),
        len(tasks.tasks),
        tuple((count, *composition) for composition, count in tasks.composition().most_common()),
        len(blacklist),
        tuple(Counter(blacklist.values()).most_common()),
        len(similar),
        len({frozenset(pair) for pair in similar}),
    )


def _check_files(folder: Path) -> None:
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}")
    if lacking := [name for name in _FILES if not (folder / name).is_file()]:
        raise InputError(f"{folder} has no {lacking[0]}: a history consists of {', '.join(_FILES)}")


def _set(name: str, revisions: Sequence[Revision]) -> HistorySet:
    changes = convergence(revisions)
    last_added = len(changes[-1].added) if changes else None
    return HistorySet(name, len(revisions), len(revisions[-1].examples), len(union(revisions)), last_added)


def _revision_rows(
    name: str, revisions: Sequence[Revision], reviews: Mapping[str, ReviewedClasses]
) -> list[HistoryRevision]:
    rows = []
    for revision, change in zip(revisions, (None, *convergence(revisions)), strict=True):
        review = reviews.get(revision.name)
        rows.append(
            HistoryRevision(
                name,
                revision_number(revision.name),
                len(revision.examples),
                None if change is None else len(change.added),
                None if change is None else len(change.removed),
                None if review is None else review.reviewed,
                None if review is None else review.problematic,
            )
        )
    return rows


def _added(result: History) -> dict[str, dict[int, int]]:
    """The images that each revision after the first added, by set and number."""
    return {
        own.name: {
            row.number: row.added for row in result.revisions if row.set_name == own.name and row.added is not None
        }
        for own in result.sets
    }


BUILD_HISTORY = Study(
    name="history",
    question="How was a published test set built?",
    summary="Show how a published test set was built: revisions, overlaps, tasks, reviews and blacklist."
    "\n\nReads the files of ImageNetV2, or of another set in the same format; needs no workspace.",
    options=HistoryOptions,
    result=History,
    run=run,
    figure=lambda result: history_figure(_added(result)),
    in_workspace=False,
    parts=Parts(
        HistoryPart,
        "Table to print. overlaps: images in two final sets. revisions: what each added, and its review. tasks: their "
        "composition. blacklist: images by reason.",
    ),
)
