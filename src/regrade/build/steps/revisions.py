"""regrade build revisions: all revisions of a build, what changed between two of them, and how the review converges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from regrade.build.eligibility import Exclusion
from regrade.build.files import RevisionCollection, StoredRevision, TaskCollection
from regrade.build.review import BuildReview, BuildReviewCollection, Example
from regrade.build.revision_figure import revision_figure
from regrade.build.revisions import Revision, RevisionChange, change, convergence
from regrade.build.samplers import Strategy
from regrade.build.steps.tasks import build_name
from regrade.core import Column, InputError, Table, Tabular
from regrade.core.amounts import amount
from regrade.core.record import NOT_IN_JSON
from regrade.store import Store
from regrade.studies.study import Parts, Study, StudyOptions, option


class RevisionPart(Enum):
    """The tables of revisions."""

    REVISIONS = "revisions"
    CHANGES = "changes"
    EXCLUDED = "excluded"
    PROBLEMS = "problems"


@dataclass(frozen=True)
class RevisionOptions(StudyOptions):
    """The build, and the two revisions that are compared."""

    build: str = build_name()
    first: int | None = option(
        "changes: compare with this revision (default: the one before the other).", None, names=("--from",), minimum=0
    )
    second: int | None = option(
        "changes, excluded: the other revision (default: the last one).", None, names=("--to",), minimum=0
    )


@dataclass(frozen=True)
class RevisionRow:
    """One revision; ``added`` and ``removed`` are compared with the one before, None for the first.

    ``to_review`` images had no decision when it was drawn; ``reviewed`` have one now, and ``flagged`` must not be drawn
    again. They are None if the build has no review.
    """

    number: int
    strategy: Strategy
    seed: int
    images: int
    added: int | None
    removed: int | None
    excluded: dict[str, int]
    problems: tuple[str, ...]
    to_review: int | None = None
    reviewed: int | None = None
    flagged: int | None = None


@dataclass(frozen=True)
class ExcludedImage:
    """A candidate that a revision could not draw, the rule that excluded it, and the reason of the review."""

    class_id: str
    image: str
    rule: Exclusion
    reason: str


@dataclass(frozen=True, repr=False)
class Revisions(Tabular):
    """The revisions of a build, and the difference between two of them if there are two.

    ``removal_reasons`` says why the images that the second one lacks are not in it; ``excluded`` lists all candidates
    that the second one could not draw.
    """

    build: str
    revisions: tuple[RevisionRow, ...]
    compared: tuple[int, int] | None
    change: RevisionChange | None = field(metadata=NOT_IN_JSON)
    removal_reasons: dict[Example, str] = field(metadata=NOT_IN_JSON)
    excluded: tuple[ExcludedImage, ...] = field(metadata=NOT_IN_JSON)

    def json_fields(self) -> dict[str, object]:
        """The fields, with the images of the difference in alphabetical order, and why images were removed."""
        added, removed = ([], []) if self.change is None else (sorted(self.change.added), sorted(self.change.removed))
        reasons = {image: self.removal_reasons[image, class_id] for image, class_id in removed}
        return {**super().json_fields(), "added": added, "removed": removed, "removal_reasons": reasons}

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
            case RevisionPart.EXCLUDED:
                return self._excluded()
            case RevisionPart.PROBLEMS:
                return self._problems()

    def _revisions(self) -> Table:
        reasons = [reason for reason in Exclusion if any(reason.value in row.excluded for row in self.revisions)]
        counts = ("to_review", "reviewed", "flagged") if any(row.reviewed is not None for row in self.revisions) else ()
        columns = (
            Column("number", "revision"),
            Column("strategy", "strategy"),
            Column("seed", "seed"),
            Column("images", "images"),
            Column("added", "added"),
            Column("removed", "removed"),
            *(Column(name, name.replace("_", " ")) for name in counts),
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
                *(getattr(row, name) for name in counts),
                *(row.excluded.get(reason.value, 0) for reason in reasons),
                len(row.problems),
            )
            for row in self.revisions
        )
        notes = ["added and removed: compared with the revision before; they tend to 0 as the review comes to an end"]
        if counts:
            notes.append("to review: images without a decision when the revision was drawn; reviewed, flagged: by now")
        return Table(f"revisions of {self.build}", columns, rows, tuple(notes))

    def _changes(self) -> Table:
        if self.change is None or self.compared is None:
            raise InputError(f"build {self.build} has only one revision: there is nothing to compare")
        columns = (
            Column("change", "change"), Column("class", "class"), Column("image", "image"), Column("reason", "reason")
        )  # fmt: skip
        pairs = (("added", self.change.added), ("removed", self.change.removed))
        rows = tuple(
            (kind, class_id, image, self.removal_reasons[image, class_id] if kind == "removed" else "")
            for kind, examples in pairs
            for image, class_id in sorted(examples, key=lambda example: (example[1], example[0]))
        )
        before, after = self.compared
        counts = f"{amount(len(self.change.added), 'image')} added, {len(self.change.removed):,} removed"
        return Table(f"{self.build}, from revision {before} to {after}: {counts}", columns, rows)

    def _excluded(self) -> Table:
        columns = (
            Column("class", "class"), Column("image", "image"), Column("rule", "rule"), Column("reason", "reason")
        )  # fmt: skip
        rules = {rule: rule.value.replace("_", " ") for rule in Exclusion}
        rows = tuple((row.class_id, row.image, rules[row.rule], row.reason) for row in self.excluded)
        return Table(f"{self.build}: {len(rows):,} candidates that could not be drawn", columns, rows)

    def _problems(self) -> Table:
        columns = (Column("number", "revision"), Column("problem", "problem"))
        rows = tuple((row.number, problem) for row in self.revisions for problem in row.problems)
        return Table(f"{self.build}: problems of revisions", columns, rows)


def list_revisions(store: Store, options: RevisionOptions) -> Revisions:
    """List the revisions of a build, and compare two of them."""
    stored = read_revisions(store, options.build)
    reviews = _Reviews(store, options.build)
    compared = _compared([revision.number for revision in stored], options)
    changes = (None, *convergence([_images(revision) for revision in stored]))
    by_number = {revision.number: revision for revision in stored}
    difference = None if compared is None else change(*(_images(by_number[number]) for number in compared))
    last = by_number[options.second if options.second is not None else stored[-1].number]
    excluded = _excluded_images(last, reviews.flagged)
    return Revisions(
        options.build,
        tuple(_row(revision, own, reviews) for revision, own in zip(stored, changes, strict=True)),
        compared,
        difference,
        _removal_reasons(difference, excluded, reviews.flagged),
        excluded,
    )


class _Reviews:
    """The review of a build now and when each revision was drawn; every version is read once."""

    def __init__(self, store: Store, build: str) -> None:
        self._collection = BuildReviewCollection(store.root)
        self._versions: dict[int, BuildReview] = {}
        self.newest = self._collection.newest(build)

    @property
    def flagged(self) -> Mapping[str, str]:
        """The images that must not be drawn again, with the reason."""
        return {} if self.newest is None else self.newest.flagged

    def to_review(self, revision: StoredRevision) -> int:
        """The number of images of a revision without a decision when it was drawn."""
        version, images = revision.settings.get("review"), len(revision.sample.examples)
        if version is None:
            return images
        if version not in self._versions:
            self._versions[version] = self._collection.read(revision.build, version)
        return images - self._versions[version].reviewed(revision.sample.examples)


def _excluded_images(revision: StoredRevision, flagged: Mapping[str, str]) -> tuple[ExcludedImage, ...]:
    """The excluded candidates of a revision in the order of the rules, then by class and image."""
    rows = [
        ExcludedImage(of_class.class_id, image, rule, flagged.get(image, "") if rule is Exclusion.BLACKLISTED else "")
        for of_class in revision.sample.classes
        for image, rule in of_class.excluded.items()
    ]
    return tuple(sorted(rows, key=lambda row: (list(Exclusion).index(row.rule), row.class_id, row.image)))


def _removal_reasons(
    difference: RevisionChange | None, excluded: Sequence[ExcludedImage], flagged: Mapping[str, str]
) -> dict[Example, str]:
    """Why each removed image is not in the later revision: the review, the rule that excludes it, or the draw."""
    rules = {(row.image, row.class_id): row.reason or row.rule.value.replace("_", " ") for row in excluded}
    removed = () if difference is None else difference.removed
    return {example: flagged.get(example[0]) or rules.get(example, "not drawn") for example in removed}


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


def _row(revision: StoredRevision, own: RevisionChange | None, reviews: _Reviews) -> RevisionRow:
    sample, review = revision.sample, reviews.newest
    return RevisionRow(
        revision.number,
        sample.strategy,
        sample.seed,
        len(sample.examples),
        None if own is None else len(own.added),
        None if own is None else len(own.removed),
        {reason.value: count for reason, count in sorted(sample.exclusions().items())},
        sample.problems,
        None if review is None else reviews.to_review(revision),
        None if review is None else review.reviewed(sample.examples),
        None if review is None else review.count_flagged(sample.examples),
    )


BUILD_REVISIONS = Study(
    name="revisions",
    question="Does the review come to an end?",
    summary="List the revisions of a build with what each added and removed; compare two of them image by image.",
    options=RevisionOptions,
    result=Revisions,
    run=list_revisions,
    figure=lambda result: revision_figure(
        result.build,
        {row.number: row.added for row in result.revisions if row.added is not None},
        {row.number: row.to_review for row in result.revisions if row.to_review is not None and row.added is not None},
    ),
    parts=Parts(
        RevisionPart,
        "Table to print. changes: the images that differ between two revisions (--from, --to), with the reasons for "
        "removals. excluded: the candidates that a revision (--to) could not draw. problems: why revisions cannot be "
        "frozen.",
    ),
)
