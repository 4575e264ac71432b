"""Where a test set's images are, as one Parquet file: example and place; the images stay where they are."""

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
    """The source with its root relative to the workspace where it lies inside: the workspace can then be moved."""
    base = workspace.resolve()
    path = base / source.path
    root = path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path)
    return replace(source, root=root, base=str(base))


def write_images(source: ImageSource, test_set: TestSet, file: BinaryIO) -> None:
    """Write each example's place, with reader, root and how the images are to be read."""
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
    """Read the places back; those of another version of the test set raise."""
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
