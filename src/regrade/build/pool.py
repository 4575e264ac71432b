"""Which candidates enter a pool, and how the pool compares with its targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from regrade.build.date_window import DateWindow, read_date
from regrade.build.pool_source import PoolCandidate
from regrade.build.samplers import keyword_targets
from regrade.core import UNLABELED, TestSet


class PoolExclusion(StrEnum):
    """Why a candidate is not in a pool, in the order in which candidates are checked."""

    UNKNOWN_CLASS = "unknown_class"
    NO_DATE = "no_date"
    OUTSIDE_DATES = "outside_dates"
    UNREADABLE = "unreadable"
    DUPLICATE_SOURCE = "duplicate_source"
    IDENTICAL_TO_REFERENCE = "identical_to_reference"
    EXACT_DUPLICATE = "exact_duplicate"
    NEAR_REFERENCE = "near_reference"
    NEAR_DUPLICATE = "near_duplicate"


class DateColumn(StrEnum):
    """The date of an image that a date window limits."""

    UPLOADED = "uploaded"
    TAKEN = "taken"


@dataclass(frozen=True)
class Refused:
    """Why a candidate was excluded; ``kept_position`` is that of the candidate of which it is a duplicate."""

    reason: PoolExclusion
    detail: str = ""
    kept_position: int | None = None


Refusals = dict[int, Refused]
"""The excluded candidates by their position in the source."""


def class_refusals(candidates: Sequence[PoolCandidate], classes: Mapping[str, int]) -> Refusals:
    """Candidates for a class that is not in the class space."""
    return {
        position: Refused(
            PoolExclusion.UNKNOWN_CLASS, f"class {row.class_name!r}" if row.class_name else "it has no class"
        )
        for position, row in enumerate(candidates)
        if row.class_name not in classes
    }


def date_refusals(
    candidates: Sequence[PoolCandidate], positions: Iterable[int], window: DateWindow, column: DateColumn | None
) -> Refusals:
    """Candidates without a date, or with one outside the window; nothing if there is no window.

    Without a ``column``, the date of an image is that of its upload, or the one when it was taken if that is missing.
    """
    refusals: Refusals = {}
    columns = [column] if column else list(DateColumn)
    for position in positions if window else ():
        texts = [(name.value, candidates[position].metadata.get(name.value, "")) for name in columns]
        name, text = next(((name, text) for name, text in texts if text), ("", ""))
        day = read_date(text)
        if not text:
            refusals[position] = Refused(PoolExclusion.NO_DATE, "it has no date")
        elif day is None:
            refusals[position] = Refused(PoolExclusion.NO_DATE, f"{name} {text!r} is not a date")
        elif day not in window:
            refusals[position] = Refused(PoolExclusion.OUTSIDE_DATES, f"{name} {day}")
    return refusals


def source_refusals(candidates: Sequence[PoolCandidate], positions: Iterable[int]) -> Refusals:
    """All but the first candidate of each source id, and of each id."""
    refusals: Refusals = {}
    first: dict[tuple[str, str], int] = {}
    for position in positions:
        row = candidates[position]
        keys = (("id", row.id), ("source", row.source_id))
        earlier = next((first[key] for key in keys if key in first), None)
        if earlier is None:
            first |= dict.fromkeys(keys, position)
        else:
            detail = f"source id {row.source_id!r} again, {_named(candidates[earlier])}"
            refusals[position] = Refused(PoolExclusion.DUPLICATE_SOURCE, detail, earlier)
    return refusals


def exact_refusals(
    candidates: Sequence[PoolCandidate], hashes: Mapping[int, bytes], references: Mapping[bytes, str]
) -> Refusals:
    """Candidates with the pixels of a reference image, and all but the first of those with equal pixels.

    ``hashes`` are those of the decoded pixels by position, in the order of the source; ``references`` map the hash of a
    reference image to its description.
    """
    refusals: Refusals = {}
    first: dict[bytes, int] = {}
    for position, pixels in hashes.items():
        if pixels in references:
            refusals[position] = Refused(PoolExclusion.IDENTICAL_TO_REFERENCE, f"it is {references[pixels]}")
        elif (earlier := first.setdefault(pixels, position)) != position:
            detail = f"same pixels as {_named(candidates[earlier])}"
            refusals[position] = Refused(PoolExclusion.EXACT_DUPLICATE, detail, earlier)
    return refusals


def _named(candidate: PoolCandidate) -> str:
    return f"{candidate.id!r} (class {candidate.class_name})"


def near_refusal(candidates: Sequence[PoolCandidate], kept_position: int) -> Refused:
    """The exclusion of a near duplicate of a candidate that is kept."""
    detail = f"near duplicate of {_named(candidates[kept_position])}"
    return Refused(PoolExclusion.NEAR_DUPLICATE, detail, kept_position)


def in_two_classes(candidates: Sequence[PoolCandidate], refusals: Mapping[int, Refused]) -> int:
    """The number of excluded duplicates of a candidate of another class."""
    return sum(
        refused.kept_position is not None
        and candidates[refused.kept_position].class_name != candidates[position].class_name
        for position, refused in refusals.items()
    )


@dataclass(frozen=True)
class PoolClass:
    """One class: listed and kept candidates, the target, and the author with most images."""

    class_id: str
    name: str
    listed: int
    kept: int
    target: int | None
    authors: int
    largest_author: str
    largest_author_images: int

    @property
    def missing(self) -> int | None:
        """How many candidates are missing to the target; None without a target."""
        return None if self.target is None else max(self.target - self.kept, 0)

    @property
    def has_one_author(self) -> bool:
        """Whether all images, and more than one, are by the same author."""
        return self.kept > 1 and self.largest_author_images == self.kept


@dataclass(frozen=True)
class PoolKeyword:
    """One keyword of a class: listed and kept candidates, and the target if the reference images have keywords."""

    class_id: str
    keyword: str
    listed: int
    kept: int
    target: int | None


@dataclass(frozen=True)
class PoolAuthor:
    """One author: the kept images, their share of the pool, and the number of classes."""

    author: str
    images: int
    share: float
    classes: int


@dataclass(frozen=True)
class CandidateRow:
    """A candidate of a known class, and whether it was kept."""

    class_id: str
    keyword: str
    author: str
    kept: bool


def class_counts(
    rows: Sequence[CandidateRow], name_of: Callable[[str], str], target: int | None
) -> tuple[PoolClass, ...]:
    """The counts of every class with candidates, by class id."""
    by_class: dict[str, list[CandidateRow]] = {}
    for row in rows:
        by_class.setdefault(row.class_id, []).append(row)
    counts = []
    for class_id, own in sorted(by_class.items()):
        authors = Counter(row.author for row in own if row.kept and row.author)
        largest, images = min(authors.items(), key=lambda item: (-item[1], item[0]), default=("", 0))
        kept = sum(row.kept for row in own)
        counts.append(PoolClass(class_id, name_of(class_id), len(own), kept, target, len(authors), largest, images))
    return tuple(counts)


def keyword_counts(
    rows: Sequence[CandidateRow], references: Mapping[str, Mapping[str, int]], target: int | None
) -> tuple[PoolKeyword, ...]:
    """The counts of every keyword of every class.

    ``references`` are the numbers of reference images by class and keyword: the ``target`` of a class is divided among
    its keywords in proportion to them, also among those without candidates.
    """
    listed = Counter((row.class_id, row.keyword) for row in rows if row.keyword)
    kept = Counter((row.class_id, row.keyword) for row in rows if row.keyword and row.kept)
    targets: dict[tuple[str, str], int] = {}
    for class_id in sorted({row.class_id for row in rows}) if target is not None else ():
        counts = {keyword: count for keyword, count in references.get(class_id, {}).items() if keyword}
        divided = keyword_targets(counts, target or 0, len(counts)) if counts else {}
        targets |= {(class_id, keyword): number for keyword, number in divided.items()}
    return tuple(
        PoolKeyword(*entry, listed[entry], kept[entry], targets.get(entry)) for entry in sorted({*listed, *targets})
    )


def keywords_by_class(test_set: TestSet, keywords: Sequence[str]) -> dict[str, dict[str, int]]:
    """The number of labeled images by class and keyword; ``keywords`` (n,) are in the order of the test set."""
    counts: dict[str, dict[str, int]] = {}
    for label, keyword in zip(test_set.labels.tolist(), keywords, strict=True):
        if label != UNLABELED:
            of_class = counts.setdefault(test_set.class_space.ids[label], {})
            of_class[keyword] = of_class.get(keyword, 0) + 1
    return counts


def author_counts(rows: Sequence[CandidateRow]) -> tuple[PoolAuthor, ...]:
    """The named authors of kept images, the most frequent first."""
    kept = [row for row in rows if row.kept]
    images = Counter(row.author for row in kept if row.author)
    classes = Counter(author for author, _ in {(row.author, row.class_id) for row in kept})
    return tuple(
        PoolAuthor(author, count, count / len(kept), classes[author])
        for author, count in sorted(images.items(), key=lambda item: (-item[1], item[0]))
    )
