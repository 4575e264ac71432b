"""The published history of ImageNetV2: revisions, tasks, reviews and blacklist, as the authors released them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from regrade.build.revisions import Revision
from regrade.build.tasks import GridTask, Tile, TileRole
from regrade.core import FormatError
from regrade.tables import read_json, read_table, texts

_ROLES = {
    "images_to_label": TileRole.CANDIDATE,
    "images_pos_control": TileRole.POSITIVE,
    "images_neg_control": TileRole.NEGATIVE,
}


def read_revisions(folder: Path) -> dict[str, tuple[Revision, ...]]:
    """The revisions of each set in the order in which they were made: ``imagenetv2-a`` with ``imagenetv2-a-0``, ...

    The folder contains ``revisions.parquet`` (dataset, image, wnid) and ``revisions.json`` (settings of each).
    """
    path = folder / "revisions.parquet"
    names, images, classes = _columns(path, ("dataset", "image", "wnid"))
    settings = read_json(folder / "revisions.json")
    if not isinstance(settings, dict):
        raise FormatError(f"{folder / 'revisions.json'} must be an object with the settings of each revision")
    examples: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, image, class_id in zip(names, images, classes, strict=True):
        examples[name].append((image, class_id))
    sets: dict[str, list[Revision]] = defaultdict(list)
    for name in sorted(examples, key=_number):
        own: Any = settings.get(name, {})
        sets[name.rpartition("-")[0]].append(Revision(name, frozenset(examples[name]), own))
    return {name: tuple(revisions) for name, revisions in sorted(sets.items())}


def read_tasks(folder: Path) -> tuple[GridTask, ...]:
    """The selection tasks, from ``tasks.parquet`` (task, wnid, role, image)."""
    path = folder / "tasks.parquet"
    names, classes, roles, images = _columns(path, ("task", "wnid", "role", "image"))
    if unknown := sorted(set(roles) - set(_ROLES)):
        raise FormatError(f"{path}: unknown role {unknown[0]!r}, expected one of {', '.join(_ROLES)}")
    tiles: dict[tuple[str, str], list[Tile]] = defaultdict(list)
    for name, class_id, role, image in zip(names, classes, roles, images, strict=True):
        tiles[name, class_id].append(Tile(image, _ROLES[role]))
    return tuple(GridTask(name, class_id, tuple(own)) for (name, class_id), own in tiles.items())


@dataclass(frozen=True)
class ReviewedClasses:
    """The review of a revision: how many classes were reviewed, and in how many problems were found."""

    reviewed: int
    problematic: int


def read_reviews(folder: Path) -> dict[str, ReviewedClasses]:
    """The reviews by the name of the revision, from ``reviews.parquet`` (dataset, reviewed, problematic)."""
    path = folder / "reviews.parquet"
    names, reviewed, problematic = _columns(path, ("dataset", "reviewed", "problematic"))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name, *flags in zip(names, reviewed, problematic, strict=True):
        if unknown := set(flags) - {"true", "false"}:
            raise FormatError(f"{path}: {min(unknown)!r} is neither true nor false")
        counts[name].update(
            kind for kind, flag in zip(("reviewed", "problematic"), flags, strict=True) if flag == "true"
        )
    return {name: ReviewedClasses(own["reviewed"], own["problematic"]) for name, own in counts.items()}


def read_blacklist(folder: Path) -> dict[str, str]:
    """The reason of each image that must not be drawn, from ``blacklist.parquet`` (image, reason)."""
    images, reasons = _columns(folder / "blacklist.parquet", ("image", "reason"))
    return dict(zip(images, reasons, strict=True))


def read_near_duplicates(folder: Path) -> tuple[tuple[str, str], ...]:
    """Images with a similar one, from ``near_duplicates.parquet`` (image, like); many pairs are listed twice."""
    images, similar = _columns(folder / "near_duplicates.parquet", ("image", "like"))
    return tuple(zip(images, similar, strict=True))


def revision_number(name: str) -> int:
    """The number of a revision, by its name."""
    return _number(name)[1]


def _columns(path: Path, names: Sequence[str]) -> list[tuple[str, ...]]:
    table: pa.Table = read_table(path)
    if lacking := [name for name in names if name not in table.column_names]:
        raise FormatError(f"{path} has no column {lacking[0]}")
    return [texts(table, name) for name in names]


def _number(name: str) -> tuple[str, int]:
    """The set and the number of a revision, so that revision 10 comes after 9."""
    before, _, number = name.rpartition("-")
    if not number.isdigit():
        raise FormatError(f"{name!r} is not the name of a revision: expected a name that ends with -NUMBER")
    return before, int(number)
