"""The classes of ObjectNet and their map to ImageNet classes, from the files of its release."""

from __future__ import annotations

from pathlib import Path

from regrade.classes import class_by_words
from regrade.core import ClassMap, ClassSpace, FormatError, InputError, MapRule
from regrade.tables import read_json

_MAPPINGS = "mappings"
_LABELS = "folder_to_objectnet_label.json"
_IMAGENET = "objectnet_to_imagenet_1k.json"


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
