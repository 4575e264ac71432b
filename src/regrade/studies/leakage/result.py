"""What a study of leakage found: one result, several tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from regrade.core import Column, Distance, Estimate, InputError, Table, Tabular
from regrade.core.amounts import amount
from regrade.studies.leakage.pairs import LeakedPair

ANY = "any"
"""Stands for all distances together: an image is found if any of them finds it."""

_NAMED = 5  # unreadable images that notes name


class LeakagePart(Enum):
    """The tables of a study of leakage."""

    DISTANCES = "distances"
    MODELS = "models"
    PAIRS = "pairs"
    GROUPS = "groups"


@dataclass(frozen=True)
class DistanceResult:
    """What one distance found, or `ANY`: pairs, and the images of the test set that have a near duplicate.

    ``share`` is that of the found among the images that could be compared. Within one set an image is found where
    it is surplus: not the one that is kept of each group. ``labeled`` images have a near duplicate with a label, of
    which ``differing`` have one with another label. ``crowded`` images list as many as they may and may
    have more.
    """

    distance: str
    cut: float | None
    pairs: int
    images: int
    share: Estimate | None
    labeled: int
    differing: Estimate | None
    crowded: int


@dataclass(frozen=True)
class LeakedModel:
    """One model with and without the images that one distance, or `ANY`, has found; what is undefined is none.

    ``difference`` is the accuracy on found images less that on the others, ``change`` the accuracy on all less that on
    the others: what the found images add to the figure that everyone quotes. Both have intervals per model;
    ``p_value`` is of Fisher's exact test that the difference is 0, and ``holm`` corrects it for all models.
    """

    model: str
    distance: str
    all: Estimate
    found: Estimate | None
    others: Estimate | None
    difference: Estimate | None
    change: Estimate | None
    p_value: float | None = None
    holm: float | None = None


@dataclass(frozen=True)
class DuplicateGroup:
    """Images of one set that hang together: the one to keep, and the surplus."""

    kept: str
    surplus: tuple[str, ...]


@dataclass(frozen=True)
class NearestBar:
    """How many images have their nearest neighbor this far away, in units of the cut; the last bar is open."""

    distance: str
    low: float
    high: float | None
    images: int


@dataclass(frozen=True)
class SkippedImage:
    """A image that could not be read, and why."""

    test_set: str
    image: str
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Leakage(Tabular):
    """Which images of a test set have near duplicates in another set, or within it where ``against`` is none."""

    test_set: str
    against: str | None
    images: int
    references: int
    found: tuple[DistanceResult, ...]
    models: tuple[LeakedModel, ...]
    pairs: tuple[LeakedPair, ...]
    groups: tuple[DuplicateGroup, ...]
    nearest: tuple[NearestBar, ...]
    unreadable: tuple[SkippedImage, ...]
    confidence: float
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Which sets were held against each other."""
        return f"{self.test_set} against {self.against}" if self.against else f"within {self.test_set}"

    def by(self, distance: str) -> DistanceResult:
        """What one distance found, or `ANY`."""
        return next(one for one in self.found if one.distance == distance)

    def models_by(self, distance: str = ANY) -> tuple[LeakedModel, ...]:
        """Every model with and without what one distance found."""
        return tuple(one for one in self.models if one.distance == distance)

    @property
    def parts(self) -> tuple[LeakagePart, ...]:
        """The tables that have anything to show."""
        there = {LeakagePart.MODELS: self.models, LeakagePart.PAIRS: self.pairs, LeakagePart.GROUPS: self.groups}
        return tuple(part for part in LeakagePart if there.get(part, True))

    def part(self, part: LeakagePart) -> Table:
        """One of the tables; one that has nothing to show raises."""
        if part not in self.parts:
            raise InputError(f"there are no {part.value} to show for {self.title}")
        tables = {
            LeakagePart.DISTANCES: self.table,
            LeakagePart.MODELS: self.model_table,
            LeakagePart.PAIRS: self.pair_table,
            LeakagePart.GROUPS: self.group_table,
        }
        return tables[part]()

    def table(self) -> Table:
        """One line a distance."""
        labeled = any(one.labeled for one in self.found)
        columns = [
            Column("distance", "by"), Column("cut", "threshold", percent=False, digits=2), Column("pairs", "pairs"),
            Column("images", "images" if self.against else "surplus images"), Column("share", "share, %"),
        ]  # fmt: skip
        columns += [Column("differing", "of these with another label, %")] if labeled else []
        columns += [Column("crowded", "with more near duplicates")] if any(one.crowded for one in self.found) else []
        rows = tuple(
            (one.distance, _number(one.cut), *(getattr(one, column.key) for column in columns[2:]))
            for one in self.found
        )
        return Table(f"near duplicates {self._where}", tuple(columns), rows, (*self._in_words(), *self.notes))

    def model_table(self) -> Table:
        """One line a model: accuracy on all images, on the found ones and on the others."""
        words = ("leaked", "clean") if self.against else ("surplus", "deduplicated")
        columns = (
            Column("model", "model"),
            Column("all", "all images"),
            Column("found", f"{words[0]}"),
            Column("others", f"{words[1]}"),
            Column("difference", f"{words[0]} − {words[1]}"),
            Column("change", f"all − {words[1]}"),
            Column("holm", "p, Holm", percent=False, digits=4),
        )
        rows = tuple(tuple(getattr(one, column.key) for column in columns) for one in self.models_by())
        notes = (
            f"{words[0]}: found by any distance; differences in points, with intervals per model",
            f"p: Fisher's exact test of {words[0]} against {words[1]}, corrected for all models (Holm)",
            "the difference compares two kinds of images, which may differ in more than leakage",
        )
        return Table(f"top-1 accuracy {self._where}, in %", columns, rows, notes)

    def pair_table(self) -> Table:
        """One line a pair, the nearest first; the last column is for people to fill in."""
        names = [one.distance for one in self.found if one.distance != ANY]
        columns = [Column("image", "image"), Column("reference", "near duplicate")]
        if any(one.label or one.reference_label for one in self.pairs):
            columns += [
                Column("label", "label"), Column("reference_label", "its label"), Column("differs", "labels differ")
            ]  # fmt: skip
        columns.append(Column("mirrored", "mirrored"))
        rows = tuple(
            (
                *(getattr(one, column.key) for column in columns),
                *(_number(one.distances.get(name)) for name in names),
                "",
            )
            for one in self.pairs
        )
        columns += [*(Column(name, name, percent=False, digits=4) for name in names), Column("verdict", "verdict")]
        notes = ("the verdict is for people to give", *self._left_out())
        return Table(f"pairs {self._where}", tuple(columns), rows, notes)

    def group_table(self) -> Table:
        """One line a group of near duplicates within the set."""
        columns = (Column("kept", "keep"), Column("count", "surplus images"), Column("surplus", "surplus"))
        rows = tuple((one.kept, len(one.surplus), ", ".join(one.surplus)) for one in self.groups)
        kept = "kept: the largest image, of equal ones the first; near duplicates of near duplicates are in the group"
        return Table(f"groups {self._where}", columns, rows, (kept, *self._left_out()))

    def as_dict(self) -> dict[str, Any]:
        """The study, ready for JSON."""
        return {
            "test_set": self.test_set,
            "against": self.against,
            "images": self.images,
            "references": self.references,
            "found": [asdict(one) for one in self.found],
            "models": [asdict(one) for one in self.models],
            "pairs": [one.as_dict() for one in self.pairs],
            "groups": [asdict(one) for one in self.groups],
            "nearest": [asdict(one) for one in self.nearest],
            "unreadable": [asdict(one) for one in self.unreadable],
            "confidence": self.confidence,
            "notes": list(self.notes),
        }

    @property
    def _where(self) -> str:
        return self.title if self.against is None else f"of {self.title}"

    def _in_words(self) -> list[str]:
        there = f"{amount(self.references, 'image')} of {self.against}{self._unread(self.against)}"
        among = f"among {there}" if self.against else "in the same set"
        lines = [f"{amount(self.images, 'image')} of {self.test_set}{self._unread(self.test_set)}, searched {among}"]
        methods = sorted({one.share.method for one in self.found if one.share})
        lines += [f"intervals: {', '.join(methods)}"] if methods else []
        if any(one.crowded for one in self.found):
            lines.append("more near duplicates: images with as many candidates as are looked at; give more with --most")
        if any(one.distance == Distance.FEATURES.value for one in self.found):
            lines.append("features: near in a model's eyes is alike, not the same; let people judge the pairs")
        return [*lines, *self._left_out()]

    def _unread(self, name: str | None) -> str:
        count = sum(one.test_set == name for one in self.unreadable)
        return f" ({count:,} unreadable)" if count else ""

    def _left_out(self) -> list[str]:
        lines = [f"unreadable in {one.test_set}: {one.image}: {one.reason}" for one in self.unreadable[:_NAMED]]
        if len(self.unreadable) > _NAMED:
            lines.append(f"... and {amount(len(self.unreadable) - _NAMED, 'more unreadable image')}")
        return lines


def _number(value: float | None) -> float | int | None:
    """A distance as people read it: whole where it is."""
    return int(value) if value is not None and value == int(value) else value
