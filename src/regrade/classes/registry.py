"""The built-in class spaces, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from regrade.classes.imagenet import imagenet_1k, imagenet_a, imagenet_r
from regrade.classes.small import cifar_10, digits
from regrade.core import ClassSpace, UnknownName

_BUILDERS: Mapping[str, Callable[[], ClassSpace]] = {
    "imagenet-1k": imagenet_1k,
    "imagenet-a": imagenet_a,
    "imagenet-r": imagenet_r,
    "cifar-10": cifar_10,
    "digits": digits,
}

BUILT_IN: tuple[str, ...] = tuple(_BUILDERS)
"""The names of the built-in class spaces."""


def class_space(name: str) -> ClassSpace:
    """Return a built-in class space by name; an unknown name raises an error with suggestions."""
    if name not in _BUILDERS:
        raise UnknownName("class space", name, BUILT_IN)
    return _BUILDERS[name]()
