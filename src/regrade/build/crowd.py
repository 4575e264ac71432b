"""A simulated crowd with known selection probabilities, to plan a build and to check its statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from regrade.build.frequencies import Assignment
from regrade.build.tasks import GridTask
from regrade.core import InputError


class Care(StrEnum):
    """How a simulated worker answers."""

    CAREFUL = "careful"
    """Selects an image with its selection probability."""
    CARELESS = "careless"
    """As a careful worker for most tiles, and without looking for the others."""
    RANDOM = "random"
    """Selects half of the images, whatever they show."""
    ADVERSARIAL = "adversarial"
    """Selects what a careful worker would not."""


UNSEEN_SHARE = 0.4
"""The share of tiles that a careless worker answers without looking."""


@dataclass(frozen=True)
class SimulatedWorker:
    """A worker of a simulated crowd."""

    name: str
    care: Care = Care.CAREFUL


def crowd(size: int, shares: Mapping[Care, float]) -> tuple[SimulatedWorker, ...]:
    """So many workers; given shares are not careful; at least one of each kind with a positive share.

    >>> [worker.care.value for worker in crowd(5, {Care.CARELESS: 0.2})]
    ['careless', 'careful', 'careful', 'careful', 'careful']
    """
    if size < 1 or any(share < 0 for share in shares.values()) or sum(shares.values()) > 1:
        raise InputError("a crowd needs workers, and shares of kinds that are not negative and at most 1 together")
    kinds = [care for care in Care if care is not Care.CAREFUL and shares.get(care, 0.0) > 0]
    cares: list[Care] = []
    for care in kinds:
        cares += [care] * max(1, round(shares[care] * size))
    if len(cares) > size:
        raise InputError(f"a crowd of {size} is too small for these shares, which need {len(cares)} workers")
    cares += [Care.CAREFUL] * (size - len(cares))
    return tuple(SimulatedWorker(f"worker-{number:03}", care) for number, care in enumerate(cares, start=1))


def simulate_answers(
    tasks: Sequence[GridTask],
    probabilities: Mapping[tuple[str, str], float],
    workers: Sequence[SimulatedWorker],
    *,
    workers_per_task: int,
    seed: int,
) -> list[Assignment]:
    """Let random workers answer each task.

    ``probabilities`` maps pairs of image and class to the probability that a careful worker selects the image.
    """
    if workers_per_task > len(workers):
        raise InputError(f"{workers_per_task} workers per task were requested, and there are {len(workers)}")
    generator = np.random.default_rng(seed)
    assignments = []
    for task in tasks:
        chances = np.array([probabilities[tile.image, task.class_id] for tile in task.tiles])
        for number in generator.choice(len(workers), workers_per_task, replace=False):
            worker = workers[int(number)]
            chosen = generator.random(len(chances)) < _selection_chances(chances, worker.care, generator)
            selected = frozenset(tile.image for tile, is_chosen in zip(task.tiles, chosen, strict=True) if is_chosen)
            assignments.append(Assignment(task.id, worker.name, selected))
    return assignments


def _selection_chances(chances: np.ndarray, care: Care, generator: np.random.Generator) -> np.ndarray:
    match care:
        case Care.CAREFUL:
            return chances
        case Care.CARELESS:
            return np.where(generator.random(len(chances)) < UNSEEN_SHARE, 0.5, chances)
        case Care.RANDOM:
            return np.full(len(chances), 0.5)
        case Care.ADVERSARIAL:
            return 1 - chances
