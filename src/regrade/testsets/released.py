"""Read test sets of the catalog that have their own classes, in the format of their release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regrade.classes import class_by_words
from regrade.core import ClassMap, ClassSpace, FormatError, InputError, MapRule
from regrade.tables import Columns, read_json
from regrade.testsets.catalog import CatalogEntry, Files
from regrade.testsets.folder import FolderReader
from regrade.testsets.mapped_table import read_mapped_table
from regrade.testsets.reader import Layout, ReaderOptions, ReaderResult
from regrade.testsets.table import ManifestReader

_MAPPINGS = "mappings"
_LABELS = "folder_to_objectnet_label.json"
_IMAGENET = "objectnet_to_imagenet_1k.json"


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


def objectnet_map(root: Path, source: ClassSpace) -> ClassMap:
    """Read the class map of a release from ``root/mappings``, next to ``root/images``.

    The id of a class is its folder of images, its display name is its label. Classes without an ImageNet class are left
    unmapped. A prediction is correct if any mapped class of the label is in the top k.
    """
    if not root.is_dir():
        raise InputError(f"{root} is not a folder: give the folder that ObjectNet's archive unpacks to")
    labels = _texts(root / _MAPPINGS / _LABELS)
    described = _texts(root / _MAPPINGS / _IMAGENET)
    unknown = sorted(set(described).difference(labels.values()))
    if unknown:
        raise FormatError(f"{root / _MAPPINGS / _IMAGENET} maps {unknown[0]!r}, which is not in {_LABELS}")
    folders = sorted(labels)
    space = ClassSpace("objectnet", tuple(folders), tuple(labels[folder] for folder in folders))
    sources = tuple(_classes(described.get(name, ""), source, root, name) for name in space.names)
    return ClassMap(source, space, sources, MapRule.ANY_IN_TOP_K)


def _classes(descriptions: str, source: ClassSpace, root: Path, name: str) -> tuple[int, ...]:
    try:
        return tuple(class_by_words(source, words.strip()) for words in descriptions.split(";") if words.strip())
    except InputError as error:
        raise FormatError(f"{root / _MAPPINGS / _IMAGENET}, {name!r}: {error}") from None


def _texts(path: Path) -> dict[str, str]:
    if not path.is_file():
        raise InputError(
            f"{path} is missing: give the folder of ObjectNet's release that contains both images/ and mappings/"
        )
    content = read_json(path)
    if not (isinstance(content, dict) and content and all(isinstance(text, str) for text in content.values())):
        raise FormatError(f"{path}: expected a JSON object that maps strings to strings")
    return content
