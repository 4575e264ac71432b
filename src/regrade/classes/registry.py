"""The built-in class spaces, by name: ImageNet-1k with its WordNet hierarchy, ImageNet-A and -R, CIFAR-10, digits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from regrade.core import ClassSpace, Hierarchy, UnknownName

_CIFAR_10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@lru_cache(maxsize=1)
def imagenet_1k() -> ClassSpace:
    """Return the 1,000 classes in the order of their indices (sorted wnids).

    >>> space = imagenet_1k()
    >>> space.names[134], len(space.group("dogs"))
    ('crane (wading bird)', 118)
    """
    content = _content()
    synsets = content["synsets"]
    lemmas = {wnid: tuple(words) for wnid, (_, words) in synsets.items()}
    return ClassSpace(
        content["name"],
        tuple(content["classes"]),
        tuple(content["classes"].values()),
        tuple(lemmas[wnid] for wnid in content["classes"]),
        Hierarchy({wnid: tuple(parents) for wnid, (parents, _) in synsets.items()}, lemmas),
        {group: tuple(members) for group, members in content["groups"].items()},
        {int(label): tuple(accepted) for label, accepted in content["collapsed"].items()},
    )


@lru_cache(maxsize=1)
def imagenet_a() -> ClassSpace:
    """Return the 200 classes of ImageNet-A (Hendrycks et al. 2021), in ImageNet's order."""
    return _subset("imagenet-a")


@lru_cache(maxsize=1)
def imagenet_r() -> ClassSpace:
    """Return the 200 classes of ImageNet-R (Hendrycks et al. 2021), in ImageNet's order."""
    return _subset("imagenet-r")


def _subset(name: str) -> ClassSpace:
    space = imagenet_1k()
    return space.subset(name, space.groups[name])


def _content() -> Any:
    """Read the file that ``scripts/build_imagenet_classes.py`` writes."""
    return json.loads((files("regrade.classes") / "data" / "imagenet-1k.json").read_text(encoding="utf-8"))


def cifar_10() -> ClassSpace:
    """Return the ten classes of CIFAR-10 (Krizhevsky 2009), in the order of its labels."""
    return ClassSpace("cifar-10", _CIFAR_10, groups={"animals": (2, 3, 4, 5, 6, 7), "vehicles": (0, 1, 8, 9)})


def digits() -> ClassSpace:
    """Return the ten digits; the id of each class is the digit."""
    return ClassSpace("digits", tuple("0123456789"))


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
