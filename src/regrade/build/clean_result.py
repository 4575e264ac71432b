"""The result of a search for duplicates of a build: pairs by distance, by set and one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from regrade.build.duplicates import DuplicateReview, pair_queue_name
from regrade.core import Column, ImagePair, InputError, PairSearch, Table, Tabular
from regrade.core.amounts import amount
from regrade.core.panel import PairRelation

SOURCE_COLUMN = "source_id"
"""The group column of a pool that says which photograph an image is."""

_LISTED = 3  # images named in a note


class CleanPart(Enum):
    """The tables of a search for duplicates."""

    DISTANCES = "distances"
    SETS = "sets"
    PAIRS = "pairs"


@dataclass(frozen=True)
class DistanceRow:
    """The pairs within the target of one distance, by what is known about them.

    ``smallest`` is the smallest distance without a decision, None if all pairs are decided.
    """

    distance: str
    target: float
    pairs: int
    exact: int
    duplicates: int
    different: int
    undecided: int
    smallest: float | None


@dataclass(frozen=True)
class SetRow:
    """The pairs with images of one set; ``images`` were compared."""

    test_set: str
    images: int
    pairs: int
    exact: int
    undecided: int


@dataclass(frozen=True)
class PairRow:
    """One pair: both images, their distances, and the decision, empty if there is none."""

    image: str
    test_set: str
    reference: str
    mirrored: bool
    distances: Mapping[str, float]
    relation: str


@dataclass(frozen=True, repr=False)
class CleanedBuild(Tabular):
    """The near duplicates of a build by distance, by set and one by one, and the queue in which people decide."""

    build: str
    scope: str
    images: int
    distances: tuple[DistanceRow, ...]
    sets: tuple[SetRow, ...]
    pairs: tuple[PairRow, ...]
    queue: str
    queued: int
    notes: tuple[str, ...]

    @property
    def parts(self) -> tuple[CleanPart, ...]:
        """The tables that there are, the main one first."""
        return tuple(part for part in CleanPart if part is not CleanPart.PAIRS or self.pairs)

    def part(self, part: CleanPart) -> Table:
        """One of the tables."""
        tables = {CleanPart.DISTANCES: self.table, CleanPart.SETS: self._set_table, CleanPart.PAIRS: self._pair_table}
        if part not in self.parts:
            raise InputError(f"there are no {part.value} to show for {self.build}")
        return tables[part]()

    def table(self) -> Table:
        """One row per distance."""
        columns = (
            Column("distance", "by"),
            Column("target", "target", percent=False, digits=4),
            Column("pairs", "pairs"),
            Column("exact", "exact"),
            Column("duplicates", "duplicates"),
            Column("different", "different"),
            Column("undecided", "undecided"),
            Column("smallest", "smallest undecided", percent=False, digits=4),
        )
        rows = tuple(
            (row.distance, _number(row.target), row.pairs, row.exact, row.duplicates, row.different, row.undecided,
             _number(row.smallest))
            for row in self.distances
        )  # fmt: skip
        return Table(f"{self.build}: near duplicates of {self._subject}", columns, rows, self.notes)

    def _set_table(self) -> Table:
        names = {"test_set": "set", "images": "images compared", "pairs": "pairs", "exact": "exact",
                 "undecided": "undecided"}  # fmt: skip
        rows = tuple(tuple(getattr(row, name) for name in names) for row in self.sets)
        columns = tuple(Column(name, text) for name, text in names.items())
        return Table(f"{self.build}: near duplicates of {self._subject} by set", columns, rows, self.notes)

    def _pair_table(self) -> Table:
        by = list(dict.fromkeys(name for row in self.pairs for name in row.distances))
        names = {"image": "image", "test_set": "set", "reference": "near duplicate", "mirrored": "mirrored"}
        columns = (
            *(Column(name, text) for name, text in names.items()),
            *(Column(name, name, percent=False, digits=4) for name in by),
            Column("relation", "decision"),
        )
        rows = tuple(
            (*(getattr(row, name) for name in names), *(_number(row.distances.get(name)) for name in by), row.relation)
            for row in self.pairs
        )
        return Table(f"{self.build}: pairs of {self._subject}", columns, rows)

    @property
    def _subject(self) -> str:
        return f"{amount(self.images, 'image')} of {self.scope}"


def _number(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == int(value) else value


def cleaned_build(
    scope: str, images: Sequence[str], searches: Sequence[PairSearch], review: DuplicateReview, *, queued: int
) -> CleanedBuild:
    """The result of searches, the first of which compared the images with each other."""
    pairs, targets = unique_pairs(searches), searches[0].targets
    ordered = sorted(pairs, key=lambda pair: (pair.closeness(targets), pair.key))
    undecided = sum(review.relation(pair) is None for pair in pairs)
    return CleanedBuild(
        review.build,
        scope,
        len(images),
        tuple(_distance_row(name, target, pairs, review) for name, target in targets.items()),
        tuple(_set_row(search, review) for search in searches),
        tuple(_pair_row(pair, review) for pair in ordered),
        pair_queue_name(review.build) if undecided else "",
        queued,
        tuple(_notes(review.build, images, searches, undecided, queued)),
    )


def _distance_row(name: str, target: float, pairs: Sequence[ImagePair], review: DuplicateReview) -> DistanceRow:
    inside = [pair for pair in pairs if pair.distances.get(name, float("inf")) <= target]
    relations = [review.relation(pair) for pair in inside]
    open_distances = [pair.distances[name] for pair in inside if review.relation(pair) is None]
    return DistanceRow(
        name,
        target,
        len(inside),
        sum(pair.is_exact for pair in inside),
        relations.count(PairRelation.DUPLICATE),
        relations.count(PairRelation.DIFFERENT),
        len(open_distances),
        min(open_distances, default=None),
    )


def _set_row(search: PairSearch, review: DuplicateReview) -> SetRow:
    exact = sum(pair.is_exact for pair in search.pairs)
    undecided = sum(review.relation(pair) is None for pair in search.pairs)
    name = f"{search.against} (each other)" if search.is_within else search.against
    return SetRow(name, len(search.images), len(search.pairs), exact, undecided)


def _pair_row(pair: ImagePair, review: DuplicateReview) -> PairRow:
    relation = review.relation(pair)
    return PairRow(
        pair.first.image,
        pair.second.test_set,
        pair.second.image,
        pair.mirrored,
        dict(pair.distances),
        "" if relation is None else relation.value,
    )


def _notes(build: str, images: Sequence[str], searches: Sequence[PairSearch], undecided: int, queued: int) -> list[str]:
    within, *between = searches
    lines = [f"compared with each other and with {', '.join(search.against for search in between)}"]
    if left_out := sorted(set(images) - set(within.images)):
        more = ", ..." if len(left_out) > _LISTED else ""
        lines.append(
            f"not compared, since they cannot be read or have no embeddings: {', '.join(left_out[:_LISTED])}{more}"
        )
    if within.same_source:
        lines.append(f"skipped, since their {SOURCE_COLUMN} is the same: {amount(within.same_source, 'pair')}")
    if crowded := sum(search.crowded for search in searches):
        lines.append(f"images that may have more neighbors than --neighbors: {crowded:,}")
    if undecided:
        name = pair_queue_name(build)
        lines.append(
            f"to decide in the app: {amount(undecided, 'pair')} ({queued:,} new) in the queue {name!r}; then regrade "
            f"review publish {name!r}, and regrade build sample"
        )
    else:
        lines.append("nothing to decide")
    return lines


def unique_pairs(searches: Sequence[PairSearch]) -> list[ImagePair]:
    """The pairs of several searches, each once."""
    return list({pair.key: pair for search in searches for pair in search.pairs}.values())
