"""Images of another test set, corrupted as they are read: nothing is copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regrade.core import FileStamp, Images, ImageSource, InputError, Orientation, StoredImage
from regrade.core.arrays import IntArray
from regrade.testsets.corrupted_place import CleanPlace, CorruptedPlace
from regrade.testsets.corruptions import corrupt
from regrade.testsets.corruptions.crop import center
from regrade.testsets.corruptions.pixels import through_jpeg
from regrade.testsets.decode import decode
from regrade.testsets.reader import Reader, ReaderOptions, ReaderResult

READER = "corrupted"
_STORED_QUALITY = 85  # the released images were stored as JPEG of this quality


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
