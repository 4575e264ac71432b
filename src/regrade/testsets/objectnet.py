"""ObjectNet's own classes, and the ImageNet classes that stand for them, from the files of its release."""

from __future__ import annotations

from pathlib import Path

from regrade.classes import class_by_words
from regrade.core import ClassMap, ClassSpace, FormatError, InputError, MapRule
from regrade.tables import read_json

_MAPPINGS = "mappings"
_LABELS = "folder_to_objectnet_label.json"
_IMAGENET = "objectnet_to_imagenet_1k.json"


def objectnet_map(root: Path, source: ClassSpace) -> ClassMap:
    """Read the map of a release: ``root/mappings`` holds it, beside ``root/images``.

    A class is called as its folder of images, and shown by its label; one that the release gives no ImageNet class
    is left unmapped. A prediction is right if any class that stands for the label is in the top k.
    """
    if not root.is_dir():
        raise InputError(f"{root} is no folder: ObjectNet is added from the folder that its archive unpacks to")
    labels = _texts(root / _MAPPINGS / _LABELS)
    described = _texts(root / _MAPPINGS / _IMAGENET)
    strangers = sorted(set(described).difference(labels.values()))
    if strangers:
        raise FormatError(f"{root / _MAPPINGS / _IMAGENET} maps {strangers[0]!r}, which {_LABELS} does not have")
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
            f"{path} is missing: ObjectNet's release has it beside its images; give the folder that holds both"
        )
    content = read_json(path)
    if not (isinstance(content, dict) and content and all(isinstance(text, str) for text in content.values())):
        raise FormatError(f"{path}: a JSON object from text to text is wanted")
    return content
