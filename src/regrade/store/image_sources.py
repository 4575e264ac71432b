"""The locations of test sets' images as Parquet files; the images themselves are not copied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from regrade.core import ImageSource, InputError, Orientation, TestSet
from regrade.store.collection import Collection, check_test_set
from regrade.store.layout import place_of
from regrade.store.metadata import PLACE
from regrade.store.parquet import read_parquet, write_parquet
from regrade.store.transaction import Transaction
from regrade.tables import packed_column, text_array


def has_no_root(source: ImageSource) -> bool:
    """Whether the folder or file of images is missing."""
    return not source.path.exists()


class ImageSourceCollection(Collection[ImageSource, TestSet]):
    """Where the images of test sets are.

    Other locations are refused, unless ``is_missing`` says that the images at the stored ones are gone.
    """

    kind = "images"

    def __init__(self, root: Path, is_missing: Callable[[ImageSource], bool] = has_no_root) -> None:
        super().__init__(root)
        self._is_missing = is_missing

    def names_of(self, _source: ImageSource, test_set: TestSet) -> tuple[str, ...]:
        """The name of the test set."""
        return (test_set.name,)

    def refusal(self, source: ImageSource, test_set: TestSet) -> str:
        """The error for other locations of the same test set."""
        return (
            f"the images of {test_set.name} are registered at {self.read(test_set).path}, which exists: remove "
            f"{self.path(test_set.name)} to read them from {self._inside(source).path} instead"
        )

    def put(self, change: Transaction, source: ImageSource, test_set: TestSet) -> None:
        """Stage the locations in place of the stored ones."""
        change.replace_at(self.path(test_set.name), lambda file: self.write(source, test_set, file))

    def write(self, source: ImageSource, test_set: TestSet, file: BinaryIO) -> None:
        """Write the location of each example's image, with reader, root and reading options as metadata."""
        source = self._inside(source)
        table = pa.table({"example": text_array(test_set.ids), "location": text_array(source.locations)})
        meta = {
            PLACE: place_of(self.kind, test_set.name),
            "test_set": test_set.name,
            "test_set_digest": test_set.digest,
            "reader": source.reader,
            "root": source.root,
            "orientation": source.orientation.value,
            "border": source.border,
        }
        write_parquet(table, meta, file)

    def is_same(self, source: ImageSource, test_set: TestSet) -> bool:
        """Whether the stored locations and reading options are the same."""
        return self.read(test_set) == self._inside(source)

    def may_replace(self, _source: ImageSource, test_set: TestSet) -> bool:
        """Whether the images at the stored locations are gone."""
        return self._is_missing(self.read(test_set))

    def read(self, test_set: TestSet) -> ImageSource:
        """Read the locations; raise if there are none, or if they were stored for another version of the test set."""
        self.check(test_set)
        path = self.path(test_set.name)
        table, meta = read_parquet(path, ["location"])
        check_test_set(path, meta["test_set_digest"], test_set)
        return ImageSource(
            meta["reader"],
            meta["root"],
            packed_column(table["location"]),
            Orientation(meta["orientation"]),
            int(meta["border"]),
            str(self.root.resolve()),
        )

    def check(self, test_set: TestSet) -> None:
        """Raise if a test set has no images, with the command that adds them."""
        if not self.has(test_set.name):
            raise InputError(f"test set {test_set.name} has no images: regrade testsets add {test_set.name} PATH")

    def _inside(self, source: ImageSource) -> ImageSource:
        """The source with a root relative to the workspace if it is inside, so that the workspace can be moved."""
        base = self.root.resolve()
        path = base / source.path
        root = path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path)
        return replace(source, root=root, base=str(base))
