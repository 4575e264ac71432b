"""Levels of folders above the class folders: their names are group values of the images below."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regrade.core import MismatchError, UnknownName


@dataclass(frozen=True)
class Level:
    """One level of folders above the class folders: the name of its group column, and its possible values."""

    name: str
    values: tuple[str, ...] = ()
    """Empty if any value is possible."""


def level_values(levels: Sequence[Level], folders: Sequence[str], root: Path) -> tuple[str, ...]:
    """The value of each level, outermost first, from the folders between the root and a class folder.

    A level with known values may also be the root or a folder above it.
    """
    missing = len(levels) - len(folders)
    above = Path(os.path.abspath(root)).parts  # noqa: PTH100 - a link keeps its own name
    values = [*[""] * len(levels), *above, *folders][-len(levels) :]
    for number, (level, value) in enumerate(zip(levels, values, strict=True)):
        if not level.values and number < missing:
            layout = "/".join((*(expected.name for expected in levels), "class"))
            raise MismatchError(f"{root}: expected folders by {layout}, but there is none for {level.name!r}")
        if level.values and value not in level.values:
            raise UnknownName(level.name, value, level.values, hint=f" (a folder's name in {root})")
    return tuple(values)
