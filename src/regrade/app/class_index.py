"""All classes of a class space as one JSON file for search in the browser: names, synonyms, definitions, tree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256

from regrade.app.class_tree import class_tree
from regrade.classes import definition
from regrade.core import ClassSpace


@dataclass(frozen=True)
class ClassIndex:
    """The content of the file, and its ETag."""

    content: bytes
    tag: str


def class_index(space: ClassSpace) -> ClassIndex:
    """Return the index of a class space: classes as ``[id, name, synonyms, definition]``, the tree by `Branch`."""
    classes = [
        [class_id, name, [word for word in words if word != name], definition(class_id) or ""]
        for class_id, name, words in zip(space.ids, space.names, space.lemmas, strict=True)
    ]
    tree = [[branch.name, branch.branches, branch.classes, branch.count] for branch in class_tree(space)]
    groups = {name: sorted(space.groups[name]) for name in sorted(space.groups)}
    index = {"space": space.name, "classes": classes, "tree": tree, "groups": groups}
    content = json.dumps(index, ensure_ascii=False, separators=(",", ":")).encode()
    return ClassIndex(content, f'"{sha256(content).hexdigest()[:32]}"')
