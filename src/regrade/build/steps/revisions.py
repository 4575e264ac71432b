"""regrade build revisions: all revisions of a build, what changed between two of them, and how the review converges."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from regrade.build.eligibility import Exclusion
from regrade.build.files import RevisionCollection, StoredRevision, TaskCollection
from regrade.build.revision_figure import revision_figure
from regrade.build.revisions import Revision, RevisionChange, change, convergence
from regrade.build.samplers import Strategy
from regrade.build.steps.tasks import build_name
from regrade.core import Column, InputError, Table, Tabular
from regrade.core.record import NOT_IN_JSON
from regrade.store import Store
from regrade.studies.study import Parts, Study, StudyOptions, option


class RevisionPart(Enum):
    """The tables of revisions."""

    REVISIONS = "revisions"
    CHANGES = "changes"
    PROBLEMS = "problems"


@dataclass(frozen=True)
class RevisionOptions(StudyOptions):
    """The build, and the two revisions that are compared."""

    build: str = build_name()
    first: int | None = option(
        "changes: compare with this revision (default: the one before the other).", None, names=("--from",), minimum=0
    )
    second: int | None = option(
        "changes: the other revision (default: the last one).", None, names=("--to",), minimum=0
    )


@dataclass(frozen=True)
class RevisionRow:
    """One revision; ``added`` and ``removed`` are compared with the one before, None for the first."""

    number: int
    strategy: Strategy
    seed: int
    images: int
    added: int | None
    removed: int | None
    excluded: dict[str, int]
    problems: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Revisions(Tabular):
    """The revisions of a build, and the difference between two of them if there are two."""

    build: str
    revisions: tuple[RevisionRow, ...]
    compared: tuple[int, int] | None
    change: RevisionChange | None = field(metadata=NOT_IN_JSON)

    def json_fields(self) -> dict[str, object]:
        """The fields, with the images of the difference in alphabetical order."""
        added, removed = ([], []) if self.change is None else (sorted(self.change.added), sorted(self.change.removed))
        return {**super().json_fields(), "added": added, "removed": removed}

    @property
    def parts(self) -> tuple[RevisionPart, ...]:
        """The tables that there are, the main one first."""
        return tuple(part for part in RevisionPart if part is not RevisionPart.CHANGES or self.change is not None)

    def table(self) -> Table:
        """One row per revision."""
        return self.part(RevisionPart.REVISIONS)

    def part(self, part: RevisionPart) -> Table:
        """One of the tables."""
        match part:
            case RevisionPart.REVISIONS:
                return self._revisions()
            case RevisionPart.CHANGES:
                return self._changes()
            case RevisionPart.PROBLEMS:
                return self._problems()

    def _revisions(self) -> Table:
        reasons = [reason for reason in Exclusion if any(reason.value in row.excluded for row in self.revisions)]
        columns = (
            Column("number", "revision"),
            Column("strategy", "strategy"),
            Column("seed", "seed"),
            Column("images", "images"),
            Column("added", "added"),
            Column("removed", "removed"),
            *(Column(reason.value, reason.value.replace("_", " ")) for reason in reasons),
            Column("problems", "problems"),
        )
        rows = tuple(
            (
                row.number,
                row.strategy.value,
                row.seed,
                row.images,
                row.added,
                row.removed,
                *(row.excluded.get(reason.value, 0) for reason in reasons),
                len(row.problems),
            )
            for row in self.revisions
        )
        note = "added and removed: compared with the revision before; they tend to 0 as the review comes to an end"
        return Table(f"revisions of {self.build}", columns, rows, (note,))

    def _changes(self) -> Table:
        if self.change is None or self.compared is None:
            raise InputError(f"build {self.build} has only one revision: there is nothing to compare")
        columns = (Column("change", "change"), Column("class", "class"), Column("image", "image"))
        pairs = (("added", self.change.added), ("removed", self.change.removed))
        rows = tuple(
            (kind, class_id, image)
            for kind, examples in pairs
            for image, class_id in sorted(examples, key=lambda example: (example[1], example[0]))
        )
        before, after = self.compared
        counts = f"{len(self.change.added):,} images added, {len(self.change.removed):,} removed"
        return Table(f"{self.build}, from revision {before} to {after}: {counts}", columns, rows)

    def _problems(self) -> Table:
        columns = (Column("number", "revision"), Column("problem", "problem"))
        rows = tuple((row.number, problem) for row in self.revisions for problem in row.problems)
        return Table(f"{self.build}: problems of revisions", columns, rows)


def run(store: Store, options: RevisionOptions) -> Revisions:
    """List the revisions of a build, and compare two of them."""
    stored = read_revisions(store, options.build)
    compared = _compared([revision.number for revision in stored], options)
    changes = (None, *convergence([_images(revision) for revision in stored]))
    by_number = {revision.number: revision for revision in stored}
    return Revisions(
        options.build,
        tuple(_row(revision, own) for revision, own in zip(stored, changes, strict=True)),
        compared,
        None if compared is None else change(*(_images(by_number[number]) for number in compared)),
    )


def read_revisions(store: Store, build: str) -> list[StoredRevision]:
    """All revisions of a build, in their order; raise if there are none."""
    TaskCollection(store.root).read(build)  # raises if the build is unknown
    revisions = RevisionCollection(store.root)
    numbers = revisions.numbers(build)
    if not numbers:
        raise InputError(f"build {build} has no revisions yet: draw one with regrade build sample {build}")
    return [revisions.read(build, number) for number in numbers]


def _compared(numbers: list[int], options: RevisionOptions) -> tuple[int, int] | None:
    """The numbers of the two revisions to compare; None if there is only one and none was named."""
    for number in (options.first, options.second):
        if number is not None and number not in numbers:
            listed = ", ".join(map(str, numbers[-8:]))
            raise InputError(f"build {options.build} has no revision {number}: the last ones are {listed}")
    second = numbers[-1] if options.second is None else options.second
    earlier = [number for number in numbers if number < second]
    first = options.first if options.first is not None else earlier[-1] if earlier else None
    return None if first is None else (first, second)


def _images(revision: StoredRevision) -> Revision:
    return Revision(f"{revision.build}-{revision.number}", frozenset(revision.sample.examples), revision.settings)


def _row(revision: StoredRevision, own: RevisionChange | None) -> RevisionRow:
    sample = revision.sample
    return RevisionRow(
        revision.number,
        sample.strategy,
        sample.seed,
        len(sample.examples),
        None if own is None else len(own.added),
        None if own is None else len(own.removed),
        {reason.value: count for reason, count in sorted(sample.exclusions().items())},
        sample.problems,
    )


BUILD_REVISIONS = Study(
    name="revisions",
    question="Does the review come to an end?",
    summary="List the revisions of a build with what each added and removed; compare two of them image by image.",
    options=RevisionOptions,
    result=Revisions,
    run=run,
    figure=lambda result: revision_figure(
        result.build, {row.number: row.added for row in result.revisions if row.added is not None}
    ),
    parts=Parts(
        RevisionPart,
        "Table to print. changes: the images that differ between two revisions (--from, --to). problems: why revisions "
        "cannot be frozen.",
    ),
)
