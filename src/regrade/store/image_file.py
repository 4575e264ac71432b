"""The locations of a test set's images as a Parquet file; the images themselves are not copied."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from regrade.core import ImageSource, MismatchError, Orientation, TestSet
from regrade.store.layout import place_of_images
from regrade.store.metadata import PLACE
from regrade.store.parquet import read_parquet, write_parquet
from regrade.tables import packed_column, text_array


def inside_workspace(source: ImageSource, workspace: Path) -> ImageSource:
    """The source with a root relative to the workspace if it is inside, so that the workspace can be moved."""
    base = workspace.resolve()
    path = base / source.path
    root = path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path)
    return replace(source, root=root, base=str(base))


def write_images(source: ImageSource, test_set: TestSet, file: BinaryIO) -> None:
    """Write the location of each example's image, with reader, root and reading options as metadata."""
    table = pa.table({"example": text_array(test_set.ids), "location": text_array(source.locations)})
    meta = {
        PLACE: place_of_images(test_set.name),
        "test_set": test_set.name,
        "test_set_digest": test_set.digest,
        "reader": source.reader,
        "root": source.root,
        "orientation": source.orientation.value,
        "border": source.border,
    }
    write_parquet(table, meta, file)


def read_images(path: Path, test_set: TestSet, workspace: Path) -> ImageSource:
    """Read the locations; raise if they were stored for another version of the test set."""
    table, meta = read_parquet(path, ["location"])
    if meta["test_set_digest"] != test_set.digest:
        raise MismatchError(f"{path} was made for another version of test set {test_set.name!r}")
    return ImageSource(
        meta["reader"],
        meta["root"],
        packed_column(table["location"]),
        Orientation(meta["orientation"]),
        int(meta["border"]),
        str(workspace.resolve()),
    )
