"""Test sets of corrupted images, which are corrupted as they are read: nothing is copied."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regrade.core import FileStamp, FormatError, Images, ImageSource, InputError, Orientation, StoredImage, TestSet
from regrade.core.arrays import IntArray
from regrade.core.names import refuse_text
from regrade.testsets.corruptions import CORRUPTIONS, SEVERITIES, check_corruption, check_severity, corrupt
from regrade.testsets.corruptions.pixels import center, through_jpeg
from regrade.testsets.decode import decode
from regrade.testsets.reader import Reader, ReaderOptions, ReaderResult

READER = "corrupted"
_STORED_QUALITY = 85  # the released images were stored as JPEG of this quality
COLUMNS = ("corruption", "severity", "image")


@dataclass(frozen=True)
class CleanPlace:
    """A clean image: its id, its location for its own reader, and how it is read."""

    image: str
    location: str
    reader: str
    orientation: str
    border: int

    def text(self) -> str:
        """The location as JSON."""
        return json.dumps(vars(self), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> CleanPlace:
        """Parse the JSON of a location; raise if it is invalid."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError):
            raise _invalid_location(text) from None


class CorruptedPlace(NamedTuple):
    """The corruption of a clean image; ``clean`` stays text, since there may be millions of these."""

    corruption: str
    severity: int
    clean: str

    def text(self) -> str:
        """The location as text: ``fog/3``, a space and the clean image."""
        return f"{self.corruption}/{self.severity} {self.clean}"

    @classmethod
    def from_text(cls, text: str) -> CorruptedPlace:
        """Parse the text of a location; raise if it is invalid."""
        kind, _, clean = text.partition(" ")
        corruption, _, severity = kind.partition("/")
        if not severity.isdecimal():
            raise _invalid_location(text)
        return cls(corruption, int(severity), clean)

    def rng(self, image: str) -> np.random.Generator:
        """A random generator that depends only on the image, corruption and severity."""
        key = json.dumps([image, self.corruption, self.severity])
        return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()))


def _invalid_location(text: str) -> FormatError:
    return FormatError(f"{text!r} is not the location of a corrupted image")


class CorruptedReader(Reader):
    """Opens test sets created by `corrupted`; ``open_clean`` opens the clean images, which have the same root."""

    name = READER

    def __init__(self, open_clean: Callable[[ImageSource], Images]) -> None:
        self._open_clean = open_clean

    def recognizes(self, path: Path) -> bool:  # noqa: ARG002
        """Never: corrupted images are created from a test set, not found at a path."""
        return False

    def find(self, path: Path, options: ReaderOptions) -> ReaderResult:  # noqa: ARG002
        """Raise: corrupted images are created from a test set."""
        raise InputError("corrupted images are created from a test set: use regrade testsets corrupt")

    def open(self, source: ImageSource) -> Images:
        """Open the clean images; they are corrupted when they are read."""
        rows: dict[str, int] = {}
        texts = (CorruptedPlace.from_text(text).clean for text in source.locations)
        row_of = np.fromiter((rows.setdefault(text, len(rows)) for text in texts), np.int64, len(source.locations))
        clean = [CleanPlace.from_text(text) for text in rows]
        clean_source = ImageSource(
            clean[0].reader,
            source.root,
            tuple(place.location for place in clean),
            Orientation(clean[0].orientation),
            clean[0].border,
            source.base,
        )
        return CorruptedImages(self._open_clean(clean_source), source.locations, row_of)


@dataclass(frozen=True, eq=False)
class CorruptedImages(Images):
    """Corrupted images: the clean images, and for each position (n,) its location and the row of its clean image."""

    clean: Images
    places: Sequence[str]
    rows: IntArray

    def read(self, position: int) -> StoredImage:
        """The pixels of an image: cropped to 224 x 224, corrupted and compressed as JPEG, like the released images."""
        return self.rendered(position, self.stored(position))

    def stored(self, position: int) -> StoredImage:
        """The clean image."""
        return self.clean.read(int(self.rows[position]))

    def rendered(self, position: int, stored: StoredImage) -> StoredImage:
        """The corrupted pixels of a clean image."""
        place = CorruptedPlace.from_text(self.places[position])
        clean = CleanPlace.from_text(place.clean)
        image = decode(stored, orientation=Orientation(clean.orientation), border=clean.border)
        pixels = corrupt(center(image), place.corruption, place.severity, place.rng(clean.image))
        return through_jpeg(pixels, _STORED_QUALITY)

    def stamp(self, position: int) -> FileStamp | None:
        """The stamp of the clean image's file."""
        return self.clean.stamp(int(self.rows[position]))


@dataclass(frozen=True, eq=False)
class Corrupted:
    """A test set of corrupted images, and the source of its images."""

    test_set: TestSet
    source: ImageSource


def corrupted(
    test_set: TestSet,
    source: ImageSource,
    *,
    name: str,
    corruptions: Sequence[str] = (),
    severities: Sequence[int] = (),
    images: int | None = None,
    rng: np.random.Generator,
) -> Corrupted:
    """Create a test set with every image under every corruption and severity (default: all of both).

    Labels and groups are those of the clean images; the group columns ``corruption``, ``severity`` and ``image`` (the
    id of the clean image) are added. ``images`` limits the test set to a random sample of that many images.
    """
    taken = [column for column in COLUMNS if column in test_set.groups]
    if taken:
        raise InputError(
            f"test set {test_set.name} already has a group column {taken[0]!r}: choose a test set of clean images"
        )
    chosen = _chosen(test_set, images, rng)
    kinds = [(c, s) for c in _selected_corruptions(corruptions) for s in _selected_severities(severities)]
    rows = [(c, s, int(position)) for c, s in kinds for position in chosen]
    groups = {
        column: tuple(values[position] for *_, position in rows) for column, values in test_set.groups.items()
    } | {
        "corruption": tuple(c for c, _, _ in rows),
        "severity": tuple(str(s) for _, s, _ in rows),
        "image": tuple(test_set.ids[position] for *_, position in rows),
    }  # fmt: skip
    ids = tuple(f"{c}/{s}/{test_set.ids[position]}" for c, s, position in rows)
    labels = np.tile(test_set.labels[chosen], len(kinds))
    clean = {int(position): _clean_place(test_set, source, int(position)).text() for position in chosen}
    locations = tuple(CorruptedPlace(c, s, clean[position]).text() for c, s, position in rows)
    return Corrupted(
        TestSet(name, test_set.class_space, ids, labels, groups),
        ImageSource(READER, source.root, locations, base=source.base),
    )


def _clean_place(test_set: TestSet, source: ImageSource, position: int) -> CleanPlace:
    return CleanPlace(
        test_set.ids[position], source.locations[position], source.reader, source.orientation.value, source.border
    )


def _chosen(test_set: TestSet, images: int | None, rng: np.random.Generator) -> IntArray:
    if images is None:
        return np.arange(len(test_set))
    if not 1 <= images <= len(test_set):
        raise InputError(f"a sample of test set {test_set.name} has 1 to {len(test_set):,} images, got {images:,}")
    return np.sort(rng.choice(len(test_set), size=images, replace=False))


def _selected_corruptions(names: Sequence[str]) -> list[str]:
    """The selected corruptions in the order of the paper; all of them if none are named."""
    refuse_text(names, "corruptions")
    for name in names:
        check_corruption(name)
    return [name for name in CORRUPTIONS if name in names or not names]


def _selected_severities(severities: Sequence[int]) -> list[int]:
    for severity in severities:
        check_severity(severity)
    return [severity for severity in SEVERITIES if severity in severities or not severities]
