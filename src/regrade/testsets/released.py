"""Read test sets of the catalog that have their own classes, in the format of their release."""

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
    """The content of a release: its examples, the reader of its images (None if missing), and its class map."""

    examples: ReaderResult
    reader: str | None
    class_map: ClassMap


def brings_classes(listed: CatalogEntry) -> bool:
    """Whether a test set of the catalog has its own classes and a map to the classes that models predict."""
    return listed.columns is not None or listed.files is Files.MAPPED_FOLDERS


def find_released(
    listed: CatalogEntry,
    path: Path,
    source: ClassSpace,
    *,
    layout: Layout = Layout.PROVEN,
    columns: Columns | None = None,
) -> Released:
    """Read the examples and the class map of such a test set; ``columns`` may add group columns.

    ``source`` is the class space that models predict.
    """
    named = columns or Columns()
    if listed.columns is None:
        class_map = objectnet_map(path, source)
        examples = FolderReader().find(path, ReaderOptions(class_map.target, layout, named))
        return Released(examples, FolderReader.name, class_map)
    if named.id or named.label or layout is not Layout.PROVEN:
        raise InputError(
            f"the columns of {listed.name} are known from the catalog: omit all column options but --group"
        )
    groups = tuple(dict.fromkeys((*listed.groups, *named.groups)))
    table = read_mapped_table(path, listed.name, listed.columns, groups, source)
    return Released(table.examples, ManifestReader.name if table.examples.locations else None, table.class_map)
