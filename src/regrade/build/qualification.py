"""Qualification tasks: grids of reference images only, whose classes are known, before a worker gets real tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from regrade.build.files import BuildTasks
from regrade.build.tasks import GridTask, Tile, TileRole, classes_of
from regrade.core import InputError
from regrade.core.amounts import amount

FEWEST, MOST = 4, 12
"""Images of each kind that a qualification task has at least and at most."""

_ID_DIGITS = 16
_RESERVED = 8  # images of a class that are kept as examples, if enough others are left
_ENOUGH = 12


@dataclass(frozen=True)
class Qualification:
    """Qualification tasks in their order; ``reused`` counts images that are also controls of real tasks."""

    tasks: tuple[GridTask, ...]
    reused: int


def control_images(stored: BuildTasks) -> frozenset[str]:
    """The reference images that are controls of any task."""
    return frozenset(tile.image for task in stored.tasks for tile in task.tiles if tile.role is not TileRole.CANDIDATE)


def make_qualification(stored: BuildTasks, references: Mapping[str, Sequence[str]], count: int) -> Qualification:
    """Make tasks with as many images of a class as of its most similar class, each image in one of them only.

    ``references`` maps a class to its reference images. Controls are taken only if there are not enough other images,
    and so are the images that workers see as examples. The first tasks stay the same when more are made.
    """
    controls, used = control_images(stored), set[str]()
    examples = _example_images(references, controls)
    rivals = _negative_classes(stored, references)
    order = _generator(stored.digest, "classes").permutation(len(rivals))
    classes = [sorted(rivals)[i] for i in order]
    tasks: list[GridTask] = []
    for avoided in (controls | examples, controls, frozenset[str]()):
        for class_id in classes:
            if len(tasks) == count:
                break
            taken = used | avoided
            positives, negatives = (
                [image for image in references[name] if image not in taken] for name in (class_id, rivals[class_id])
            )
            if min(len(positives), len(negatives)) >= FEWEST:
                tasks.append(_task(stored, len(tasks), class_id, positives, negatives))
                used |= {tile.image for tile in tasks[-1].tiles}
    if len(tasks) < count:
        raise InputError(
            f"there are reference images for {amount(len(tasks), 'qualification task')} of {count}, which need "
            f"{FEWEST} images of a class and {FEWEST} of a similar one: reduce --qualification or --tries, or set "
            "--qualification 0"
        )
    return Qualification(tuple(tasks), len(used & controls))


def _negative_classes(stored: BuildTasks, references: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The class of the negative controls of each class with tasks; without such controls, any other class."""
    class_of = {image: class_id for class_id, images in references.items() for image in images}
    rivals: dict[str, str] = {}
    for task in stored.tasks:
        negative = next((tile.image for tile in task.tiles if tile.role is TileRole.NEGATIVE), None)
        if negative is not None:
            rivals.setdefault(task.class_id, class_of[negative])
    names = sorted(references)
    for class_id in classes_of(stored.tasks):
        if class_id not in rivals and class_id in references and len(names) > 1:
            rivals[class_id] = names[(names.index(class_id) + 1) % len(names)]
    return rivals


def _example_images(references: Mapping[str, Sequence[str]], controls: AbstractSet[str]) -> frozenset[str]:
    """The last images of each class that are no controls, if enough others are left for a qualification."""
    spare = [[image for image in images if image not in controls] for images in references.values()]
    return frozenset(image for own in spare if len(own) >= _RESERVED + _ENOUGH for image in own[-_RESERVED:])


def _task(
    stored: BuildTasks, number: int, class_id: str, positives: Sequence[str], negatives: Sequence[str]
) -> GridTask:
    generator = _generator(stored.digest, f"qualification {number}")
    size = min(len(positives), len(negatives), MOST)
    tiles = [
        Tile(images[i], role)
        for role, images in ((TileRole.POSITIVE, positives), (TileRole.NEGATIVE, negatives))
        for i in generator.permutation(len(images))[:size]
    ]
    task_id = hashlib.sha256(f"{stored.digest} qualification {number}".encode()).hexdigest()[:_ID_DIGITS]
    return GridTask(task_id, class_id, tuple(tiles[i] for i in generator.permutation(len(tiles))))


def _generator(*parts: str) -> np.random.Generator:
    return np.random.default_rng(list(hashlib.sha256("\n".join(parts).encode()).digest()))
