"""Sets of the catalog that bring classes of their own, found in the form in which they are released."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regrade.core import ClassMap, ClassSpace, InputError
from regrade.tables import Columns
from regrade.testsets.catalog import CatalogEntry, Files
from regrade.testsets.folder import FolderReader
from regrade.testsets.mapped_table import read_mapped_table
from regrade.testsets.objectnet import objectnet_map
from regrade.testsets.reader import Layout, ReaderOptions, ReaderResult
from regrade.testsets.table import ManifestReader


@dataclass(frozen=True)
class Released:
    """What a release holds: its examples, the reader of its images (none if they are not here), and its class map."""

    found: ReaderResult
    reader: str | None
    class_map: ClassMap


def brings_classes(listed: CatalogEntry) -> bool:
    """Whether a set of the catalog comes with classes of its own and a map onto those of the models."""
    return listed.columns is not None or listed.files is Files.MAPPED_FOLDERS


def find_released(
    listed: CatalogEntry,
    path: Path,
    source: ClassSpace,
    *,
    layout: Layout = Layout.PROVEN,
    columns: Columns | None = None,
) -> Released:
    """Find the examples of such a set, its classes mapped from ``source``; ``columns`` may add group columns."""
    stated = columns or Columns()
    if listed.columns is None:
        class_map = objectnet_map(path, source)
        found = FolderReader().find(path, ReaderOptions(class_map.target, layout, stated))
        return Released(found, FolderReader.name, class_map)
    if stated.id or stated.label or layout is not Layout.PROVEN:
        raise InputError(f"what the columns of {listed.name} are is known: leave out all but --group")
    groups = tuple(dict.fromkeys((*listed.groups, *stated.groups)))
    table = read_mapped_table(path, listed.name, listed.columns, groups, source)
    return Released(table.found, ManifestReader.name if table.found.locations else None, table.class_map)
