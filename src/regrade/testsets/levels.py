"""Folders above the class folders: what their names say of the images below."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regrade.core import MismatchError, UnknownName


@dataclass(frozen=True)
class Level:
    """One level of folders above the class folders: the group column their names give, and the names there are."""

    name: str
    values: tuple[str, ...] = ()
    """Empty where they are not known beforehand."""


def level_values(levels: Sequence[Level], folders: Sequence[str], root: Path) -> tuple[str, ...]:
    """The value of each level, outermost first, from the folders below a root that lead to a class folder.

    Where its names are known, a level may also be the root or a folder above it: its name proves it.
    """
    missing = len(levels) - len(folders)
    above = Path(os.path.abspath(root)).parts  # noqa: PTH100 - a link keeps its own name
    values = [*[""] * len(levels), *above, *folders][-len(levels) :]
    for number, (level, value) in enumerate(zip(levels, values, strict=True)):
        if not level.values and number < missing:
            form = "/".join((*(one.name for one in levels), "class"))
            raise MismatchError(f"{root}: expected folders by {form}, but there is none for {level.name!r}")
        if level.values and value not in level.values:
            raise UnknownName(level.name, value, level.values, hint=f" (a folder's name in {root})")
    return tuple(values)
