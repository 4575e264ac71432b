"""The review of a build by class: its newest revision, the progress of one person, and the convergence curve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from regrade.app.cache import RecentCache, build_stamp
from regrade.build.files import RevisionCollection, TaskCollection
from regrade.build.review import Example
from regrade.build.steps.revisions import RevisionOptions, RevisionRow, Revisions, list_revisions
from regrade.core import ClassSpace
from regrade.core.panel import Fitness
from regrade.ledger import ItemStanding, Person, Queue
from regrade.store import Store

_CACHED_BUILDS = 8
_WIDTH, _HEIGHT, _MARGIN = 320, 96, 8  # of the curve, in pixels


@dataclass(frozen=True, eq=False)
class RevisionUnderReview:
    """The newest revision of a build: its images by class, the reference set of the build, and all its revisions."""

    images: Mapping[str, Sequence[str]]
    reference: str
    history: Revisions

    @property
    def row(self) -> RevisionRow:
        """The counts of the revision."""
        return self.history.revisions[-1]

    @property
    def removed(self) -> list[tuple[str, int]]:
        """Why images of the revision before are not in it, the most frequent reason first."""
        return Counter(self.history.removal_reasons.values()).most_common()

    @property
    def curve(self) -> ConvergenceCurve | None:
        """The images that each revision added; None if there is only one revision."""
        added = [(row.number, row.added) for row in self.history.revisions if row.added is not None]
        return ConvergenceCurve(added) if added else None


@dataclass(frozen=True)
class ConvergenceCurve:
    """A small curve of revision numbers and the images that each added; points are in pixels of the drawing."""

    added: Sequence[tuple[int, int]]
    width: int = _WIDTH
    height: int = _HEIGHT

    @property
    def points(self) -> list[tuple[float, float, int, int]]:
        """The place of each point, its revision and its count."""
        most = max(1, *(count for _, count in self.added))
        step = (_WIDTH - 2 * _MARGIN) / max(1, len(self.added) - 1)
        rise = (_HEIGHT - 2 * _MARGIN) / most
        return [
            (round(_MARGIN + place * step, 1), round(_HEIGHT - _MARGIN - count * rise, 1), number, count)
            for place, (number, count) in enumerate(self.added)
        ]

    @property
    def line(self) -> str:
        """The points as an SVG polyline."""
        return " ".join(f"{x},{y}" for x, y, *_ in self.points)


class RevisionCache:
    """The newest revisions of builds, read again when files of the build change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cache: RecentCache[RevisionUnderReview] = RecentCache(_CACHED_BUILDS)

    def newest(self, build: str) -> RevisionUnderReview:
        """The newest revision of a build; raises if the build is unknown or has none."""
        return self._cache.get(build, lambda: self._read(build), stamp=build_stamp(self._store, build))

    def _read(self, build: str) -> RevisionUnderReview:
        history = list_revisions(self._store, RevisionOptions(build))
        newest = RevisionCollection(self._store.root).read(build, history.revisions[-1].number)
        images: dict[str, list[str]] = {}
        for image, class_id in newest.sample.examples:
            images.setdefault(class_id, []).append(image)
        return RevisionUnderReview(images, TaskCollection(self._store.root).read(build).reference, history)


@dataclass(frozen=True)
class ReviewedClass:
    """The images of a class in the newest revision: open for a person, reviewed, and flagged by them or decided so."""

    class_id: str
    name: str
    images: int
    open: int
    flagged: int
    not_queued: int

    @property
    def reviewed(self) -> int:
        """The images on which the person need not vote any more."""
        return self.images - self.open - self.not_queued


def class_progress(
    revision: RevisionUnderReview, standings: Sequence[ItemStanding], space: ClassSpace
) -> list[ReviewedClass]:
    """The progress of every class of a revision, in the order of the class space."""
    by_example: dict[Example, ItemStanding] = {(row.item.example, row.item.class_id): row for row in standings}
    rows = []
    for class_id in sorted(revision.images, key=space.index):
        images = revision.images[class_id]
        queued = [by_example[image, class_id] for image in images if (image, class_id) in by_example]
        flagged = sum(Fitness.PROBLEMATIC.value in (row.own, row.decision) for row in queued)
        rows.append(
            ReviewedClass(
                class_id,
                space.names[space.index(class_id)],
                len(images),
                sum(row.open for row in queued),
                flagged,
                len(images) - len(queued),
            )
        )
    return rows


def next_class(rows: Sequence[ReviewedClass], queue: Queue, person: Person, *, after: str = "") -> str | None:
    """The next class with open images after a class; at first, after a place that differs by person.

    People who begin at different places seldom review the same class at the same time.
    """
    names = [row.class_id for row in rows]
    digest = blake2b(f"{queue.id} {person.id}".encode(), digest_size=8).digest()
    start = names.index(after) + 1 if after in names else int.from_bytes(digest, "big") % max(1, len(rows))
    ordered = [*rows[start:], *rows[:start]]
    return next((row.class_id for row in ordered if row.open and row.class_id != after), None)
