"""All classes of a space in one small file: names, words, meanings and the tree, for search in the browser."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256

from regrade.app.class_tree import class_tree
from regrade.classes import definition
from regrade.core import ClassSpace


@dataclass(frozen=True)
class ClassIndex:
    """The file's content, and a tag that is another one as soon as the content is."""

    content: bytes
    tag: str


def class_index(space: ClassSpace) -> ClassIndex:
    """The index of a class space: classes as ``[id, name, other words, definition]``, branches as `Branch` has them."""
    classes = [
        [class_id, name, [word for word in words if word != name], definition(class_id) or ""]
        for class_id, name, words in zip(space.ids, space.names, space.lemmas, strict=True)
    ]
    tree = [[one.name, one.branches, one.classes, one.count] for one in class_tree(space)]
    groups = {name: sorted(space.groups[name]) for name in sorted(space.groups)}
    found = {"space": space.name, "classes": classes, "tree": tree, "groups": groups}
    content = json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()
    return ClassIndex(content, f'"{sha256(content).hexdigest()[:32]}"')
