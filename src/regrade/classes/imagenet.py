"""The 1,000 classes of ImageNet with their WordNet hierarchy, and the 200 of ImageNet-A and -R."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

from regrade.core import ClassSpace, Hierarchy


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
