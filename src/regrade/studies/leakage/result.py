"""Result of the leakage study."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from regrade.core import Column, Estimate, InputError, Table
from regrade.core.amounts import amount
from regrade.core.record import json_key
from regrade.stats import agreeing_with_test, widen_for_comparisons
from regrade.studies.leakage.pairs import DecidedPairs, LeakedPair
from regrade.studies.study_result import StudyResult

ANY = "any"
"""All distances combined: an image is a near duplicate if any of them finds it."""

_LISTED = 5  # most unreadable images listed in notes


class LeakagePart(Enum):
    """The tables of a study of leakage."""

    DISTANCES = "distances"
    MODELS = "models"
    PAIRS = "pairs"
    GROUPS = "groups"


@dataclass(frozen=True)
class DistanceResult:
    """Near duplicates by one distance, or by `ANY`: pairs, and the images of the test set that have one.

    ``share`` is relative to the images that could be compared. Within one set only surplus images count, not the one
    kept per group. ``labeled`` images have a labeled near duplicate, and ``differing`` is the share of these with a
    different label. ``unconfirmed`` pairs are within the threshold, and their pixels do not show that they are near
    duplicates: they count nowhere else. ``crowded`` images reached the limit of listed neighbors and may have more.
    """

    distance: str
    cut: float | None
    pairs: int
    images: int
    share: Estimate | None
    labeled: int
    differing: Estimate | None
    crowded: int
    unconfirmed: int = 0


@dataclass(frozen=True)
class LeakedModel:
    """One model with and without the images found by one distance, or by `ANY`; undefined values are None.

    ``leaked`` is the accuracy on the images with near duplicates and ``clean`` that on the others. ``difference`` is
    leaked - clean, and ``change`` is all - clean, the effect of the leaked images on the reported accuracy. Intervals
    are per model; in `Leakage.model_table`, those of differences are for all models together. ``p_value`` is of
    Fisher's exact test that the difference is 0, and ``holm`` is corrected for all models.
    """

    model: str
    distance: str
    all: Estimate
    leaked: Estimate | None = field(metadata=json_key("found"))
    clean: Estimate | None = field(metadata=json_key("others"))
    difference: Estimate | None
    change: Estimate | None
    p_value: float | None = None
    holm: float | None = None


@dataclass(frozen=True)
class DuplicateGroup:
    """A group of near duplicates within one set: the image to keep, and the surplus."""

    kept: str
    surplus: tuple[str, ...]


@dataclass(frozen=True)
class NearestBar:
    """Number of images by the distance of their nearest neighbor, in units of the threshold; the last bar is open."""

    distance: str
    low: float
    high: float | None
    images: int


@dataclass(frozen=True)
class SkippedImage:
    """An image that could not be read, and the reason."""

    test_set: str
    image: str
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Leakage(StudyResult):
    """The near duplicates of a test set in another set, or within itself if ``against`` is None."""

    test_set: str
    against: str | None
    images: int
    references: int
    results: tuple[DistanceResult, ...] = field(metadata=json_key("found"))
    models: tuple[LeakedModel, ...]
    pairs: tuple[LeakedPair, ...]
    groups: tuple[DuplicateGroup, ...]
    nearest: tuple[NearestBar, ...]
    unreadable: tuple[SkippedImage, ...]
    confidence: float
    notes: tuple[str, ...] = ()
    decided: DecidedPairs | None = field(default=None, metadata=json_key("decided", only_if_set=True))

    @property
    def title(self) -> str:
        """The sets that were compared."""
        return f"{self.test_set} against {self.against}" if self.against else f"within {self.test_set}"

    def by(self, distance: str) -> DistanceResult:
        """Return the result of one distance, or of `ANY`."""
        return next(result for result in self.results if result.distance == distance)

    def models_by(self, distance: str = ANY) -> tuple[LeakedModel, ...]:
        """Return every model with and without the images found by one distance."""
        return tuple(model for model in self.models if model.distance == distance)

    @property
    def parts(self) -> tuple[LeakagePart, ...]:
        """The available tables."""
        contents = {LeakagePart.MODELS: self.models, LeakagePart.PAIRS: self.pairs, LeakagePart.GROUPS: self.groups}
        return tuple(part for part in LeakagePart if contents.get(part, True))

    def part(self, part: LeakagePart) -> Table:
        """Return one of the tables; an empty one raises."""
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
        """Return one row per distance."""
        labeled = any(result.labeled for result in self.results)
        columns = [
            Column("distance", "by"), Column("cut", "threshold", percent=False, digits=2), Column("pairs", "pairs"),
            Column("images", "images" if self.against else "surplus images"), Column("share", "share, %"),
        ]  # fmt: skip
        columns += [Column("differing", "of these with another label, %")] if labeled else []
        crowded = any(result.crowded for result in self.results)
        columns += [Column("crowded", "with more near duplicates")] if crowded else []
        doubtful = any(result.unconfirmed for result in self.results)
        columns += [Column("unconfirmed", "similar, not confirmed")] if doubtful else []
        rows = tuple(
            (result.distance, _number(result.cut), *(getattr(result, column.key) for column in columns[2:]))
            for result in self.results
        )
        return Table(f"near duplicates {self._where}", tuple(columns), rows, (*self._in_words(), *self.notes))

    def model_table(self) -> Table:
        """Return one row per model: accuracy on all images, on the leaked ones and on the others."""
        words = ("leaked", "clean") if self.against else ("surplus", "deduplicated")
        columns = (
            Column("model", "model"),
            Column("all", "all images"),
            Column("found", f"{words[0]}"),
            Column("others", f"{words[1]}"),
            Column("difference", f"{words[0]} − {words[1]}"),
            Column("change", f"all − {words[1]}", detail=True),
            Column("holm", "p, Holm", percent=False, digits=4),
        )
        models = self.models_by()
        rows = tuple(
            (row.model, row.all, row.leaked, row.clean, *self._together(row, len(models)), row.holm) for row in models
        )
        notes = (
            f"{words[0]}: found by any distance; differences in points",
            f"p: Fisher's exact test of {words[0]} against {words[1]}, corrected for all models (Holm)",
            "intervals of differences hold for all models together and exclude 0 exactly if p is at most "
            f"{1 - self.confidence:.2g}; those of accuracies are per model",
            "the difference compares two kinds of images, which may differ in more than leakage",
        )
        return Table(f"top-1 accuracy {self._where}, in %", columns, rows, notes)

    def _together(self, row: LeakedModel, models: int) -> tuple[Estimate | None, Estimate | None]:
        """Difference and change with intervals that agree with the corrected test."""
        differs = row.holm is not None and row.holm <= 1 - self.confidence
        first, second = (
            estimate
            and agreeing_with_test(
                widen_for_comparisons(estimate, models, confidence=self.confidence) if models > 1 else estimate,
                differs=differs,
            )
            for estimate in (row.difference, row.change)
        )
        return first, second

    def pair_table(self) -> Table:
        """Return one row per pair, nearest first; the last column is for people to fill in."""
        names = [result.distance for result in self.results if result.distance != ANY]
        columns = [Column("image", "image"), Column("reference", "near duplicate")]
        if any(pair.label or pair.reference_label for pair in self.pairs):
            columns += [
                Column("label", "label"), Column("reference_label", "its label"), Column("differs", "labels differ")
            ]  # fmt: skip
        columns.append(Column("mirrored", "mirrored", detail=True))
        columns += [] if all(pair.confirmed for pair in self.pairs) else [Column("confirmed", "confirmed")]
        rows = tuple(
            (
                *(getattr(pair, column.key) for column in columns),
                *(_number(pair.distances.get(name)) for name in names),
                pair.decision or "",
            )
            for pair in self.pairs
        )
        columns += [*(Column(name, name, percent=False, digits=4) for name in names), Column("verdict", "verdict")]
        verdicts = self._decisions() or ["the column verdict is for people to fill in"]
        notes = (*verdicts, *self._left_out())
        return Table(f"pairs {self._where}", tuple(columns), rows, notes)

    def group_table(self) -> Table:
        """Return one row per group of near duplicates within the set."""
        columns = (Column("kept", "keep"), Column("count", "surplus images"), Column("surplus", "surplus"))
        rows = tuple((group.kept, len(group.surplus), ", ".join(group.surplus)) for group in self.groups)
        kept = "kept: the largest image, or the first of equal size; each surplus image is a near duplicate of it"
        return Table(f"groups {self._where}", columns, rows, (kept, *self._left_out()))

    @property
    def _where(self) -> str:
        return self.title if self.against is None else f"of {self.title}"

    def _in_words(self) -> list[str]:
        references = f"{amount(self.references, 'image')} of {self.against}{self._unread(self.against)}"
        among = f"among {references}" if self.against else "in the same set"
        lines = [f"{amount(self.images, 'image')} of {self.test_set}{self._unread(self.test_set)}, searched {among}"]
        methods = sorted({result.share.method for result in self.results if result.share})
        lines += [f"intervals: {', '.join(methods)}"] if methods else []
        if any(result.crowded for result in self.results):
            lines.append("more near duplicates: images that reached the limit of candidates; raise it with --most")
        if any(result.unconfirmed for result in self.results):
            lines.append(
                "similar, not confirmed: their pixels do not show that these pairs are near duplicates; they are not "
                "counted: let people judge them"
            )
        return [*lines, *self._decisions(), *self._left_out()]

    def _decisions(self) -> list[str]:
        if self.decided is None:
            return []
        duplicates, different = self.decided.duplicates, self.decided.different
        return [
            f"decided by people: {amount(duplicates, 'pair')} duplicate, {different:,} different and not counted; "
            f"undecided: {amount(self.decided.undecided, 'pair')}"
        ]

    def _unread(self, name: str | None) -> str:
        count = sum(image.test_set == name for image in self.unreadable)
        return f" ({count:,} unreadable)" if count else ""

    def _left_out(self) -> list[str]:
        listed = self.unreadable[:_LISTED]
        lines = [f"unreadable in {skipped.test_set}: {skipped.image}: {skipped.reason}" for skipped in listed]
        if len(self.unreadable) > _LISTED:
            lines.append(f"... and {amount(len(self.unreadable) - _LISTED, 'more unreadable image')}")
        return lines


def _number(value: float | None) -> float | int | None:
    """A distance, as an integer if it is one."""
    return int(value) if value is not None and value == int(value) else value
