"""Selection tasks: grids of candidates with planted controls, as in Recht et al. 2019.

A task shows images for one class, and a worker selects those that contain it. Among the candidates are reference
images of the class (positive controls) and of the most similar class (negative controls), which measure the worker.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

import numpy as np

from regrade.core import ClassSpace, InputError
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.core.hierarchy_distance import Steps, hierarchy_distances

_ID_DIGITS = 16


class TileRole(StrEnum):
    """What an image is in a task; workers are never shown it."""

    CANDIDATE = "candidate"
    POSITIVE = "positive"
    NEGATIVE = "negative"


@dataclass(frozen=True)
class Tile:
    """One image of a task."""

    image: str
    role: TileRole


@dataclass(frozen=True)
class GridTask:
    """A grid of images for one class; the id tells nothing about its content."""

    id: str
    class_id: str
    tiles: tuple[Tile, ...]

    def count(self, role: TileRole) -> int:
        """The number of tiles with a role."""
        return len(self.of(role))

    def of(self, role: TileRole) -> tuple[Tile, ...]:
        """The tiles with a role."""
        return tuple(tile for tile in self.tiles if tile.role is role)

    def order_for(self, worker: str) -> tuple[Tile, ...]:
        """The tiles in the order in which a worker sees them: another one for everyone, always the same for one."""
        return tuple(self.tiles[i] for i in _generator(self.id, worker).permutation(len(self.tiles)))


@dataclass(frozen=True)
class TaskOptions:
    """The composition of tasks: 48 tiles with 3 positive and 3 negative controls by default.

    A class whose tasks contain fewer than ``annotated_references`` different positive controls gets further tasks, of
    about a third each of new positive controls, candidates and negative controls. ``by`` names the group column, such
    as ``keyword``, whose value all candidates of a task share; empty if a task has candidates of any value.
    """

    tiles: int = 48
    positives: int = 3
    negatives: int = 3
    workers: int = 10
    annotated_references: int = 20
    seed: int = 0
    by: str = ""

    def __post_init__(self) -> None:
        if min(self.positives, self.negatives, self.annotated_references) < 0 or self.workers < 1:
            raise InputError("numbers of controls and workers must not be negative, and a task needs a worker")
        if self.candidates < 1:
            controls = f"{self.positives} positive and {self.negatives} negative controls"
            raise InputError(f"a task of {self.tiles} tiles with {controls} has no room for candidates")

    @property
    def candidates(self) -> int:
        """The number of candidates in a full task."""
        return self.tiles - self.positives - self.negatives

    @property
    def has_controls(self) -> bool:
        """Whether controls are planted; without them a person collects images, and sees every candidate once."""
        return self.positives + self.negatives > 0


@dataclass(frozen=True)
class TaskPlan:
    """All tasks of a build; ``problems`` name the classes for which none could be made."""

    tasks: tuple[GridTask, ...]
    problems: tuple[str, ...]

    def composition(self) -> Counter[tuple[int, int, int]]:
        """The number of tasks per composition: candidates, positive and negative controls."""
        roles = (TileRole.CANDIDATE, TileRole.POSITIVE, TileRole.NEGATIVE)
        return Counter(tuple(task.count(role) for role in roles) for task in self.tasks)  # type: ignore[misc]


def make_tasks(
    candidates: Mapping[str, Sequence[str]],
    references: Mapping[str, Sequence[str]],
    negative_classes: Mapping[str, str],
    options: TaskOptions,
    keywords: Mapping[str, str] | None = None,
) -> TaskPlan:
    """Divide the candidates of each class into tasks, and plant controls.

    ``candidates`` and ``references`` map a class to its images; ``negative_classes`` maps a class to the one whose
    reference images are its negative controls. The last task of a class is refilled with candidates of its earlier
    tasks; if there is only one, with more controls, half of each kind. Tasks without controls are not refilled.
    ``keywords`` maps candidates to keywords: then a task has candidates of one keyword, and everything that is said
    of a class holds for a keyword of a class.
    """
    tasks: list[GridTask] = []
    problems = []
    for class_id, keyword, images in _groups(candidates, keywords):
        maker = _ClassTasks(class_id, references.get(class_id, ()), options, keyword)
        negatives = references.get(negative_classes.get(class_id, ""), ())
        if problem := maker.problem(images, negatives):
            problems.append(f"{class_id}{f', keyword {keyword!r}' if keyword else ''}: {problem}")
        else:
            tasks += maker.tasks(images, negatives)
    return TaskPlan(tuple(tasks), tuple(problems))


def _groups(
    candidates: Mapping[str, Sequence[str]], keywords: Mapping[str, str] | None
) -> Iterator[tuple[str, str, Sequence[str]]]:
    """The candidates by class and keyword; the keyword is empty if there are none."""
    for class_id in sorted(candidates):
        if keywords is None:
            yield class_id, "", candidates[class_id]
            continue
        images: dict[str, list[str]] = {}
        for image in candidates[class_id]:
            images.setdefault(keywords[image], []).append(image)
        yield from ((class_id, keyword, own) for keyword, own in sorted(images.items()))


def control_counts(candidates: int, options: TaskOptions) -> tuple[int, int]:
    """The numbers of positive and negative controls of a task with this many candidates.

    Places without candidates get as many of each kind; a kind of which a full task has none is never used.

    >>> control_counts(42, TaskOptions()), control_counts(35, TaskOptions())
    ((3, 3), (7, 6))
    >>> control_counts(35, TaskOptions(negatives=0))
    (13, 0)
    """
    free = options.candidates - candidates
    if not options.positives or not options.negatives:
        return options.positives and options.positives + free, options.negatives and options.negatives + free
    return options.positives + -(-free // 2), options.negatives + free // 2


@dataclass(frozen=True)
class _ClassTasks:
    """Makes the tasks of one class, or of one keyword of a class."""

    class_id: str
    positives: Sequence[str]
    options: TaskOptions
    keyword: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The class, and the keyword if there is one."""
        return (self.class_id, self.keyword) if self.keyword else (self.class_id,)

    def problem(self, candidates: Sequence[str], negatives: Sequence[str]) -> str | None:
        """Why there can be no tasks, or None."""
        doubled = [image for image, count in Counter(candidates).items() if count > 1]
        if doubled:
            return f"candidate {doubled[0]!r} is listed twice"
        controls = {*self.positives, *negatives} if self.options.has_controls else set()
        if planted := sorted(set(candidates) & controls):
            return f"candidate {planted[0]!r} is also a control"
        fewest = min(len(candidates), self.options.candidates)
        needed = control_counts(fewest, self.options)
        for kind, images, count in zip(("positive", "negative"), (self.positives, negatives), needed, strict=True):
            if candidates and len(images) < count:
                return f"{amount(len(images), 'reference image')} for {amount(count, f'{kind} control')}"
        return None

    def tasks(self, candidates: Sequence[str], negatives: Sequence[str]) -> list[GridTask]:
        generator = _generator(str(self.options.seed), *self.names)
        shuffled = [candidates[i] for i in generator.permutation(len(candidates))]
        size = self.options.candidates
        chunks = [shuffled[start : start + size] for start in range(0, len(shuffled), size)]
        if len(chunks) > 1 and self.options.has_controls:
            earlier = [image for chunk in chunks[:-1] for image in chunk]
            refill = generator.choice(len(earlier), size - len(chunks[-1]), replace=False)
            chunks[-1] = chunks[-1] + [earlier[i] for i in refill]
        positive_deck, negative_deck = _Deck(self.positives, generator), _Deck(negatives, generator)
        grids = []
        for chunk in chunks:
            positive_count, negative_count = control_counts(len(chunk), self.options)
            grids.append((chunk, positive_deck.draw(positive_count), negative_deck.draw(negative_count)))
        if self.options.has_controls:
            grids += self._top_up(shuffled, grids, positive_deck, negative_deck)
        return [self._task(number, grid, generator) for number, grid in enumerate(grids)]

    def _top_up(
        self, candidates: Sequence[str], grids: Sequence[_Grid], positives: _Deck, negatives: _Deck
    ) -> list[_Grid]:
        """Further tasks until enough different reference images of the class are annotated."""
        annotated = {image for _, planted, _ in grids for image in planted}
        new = iter([image for image in positives.order if image not in annotated])
        lacking = min(self.options.annotated_references, len(positives.order)) - len(annotated)
        third = max(self.options.tiles // 3, 1)
        added: list[_Grid] = []
        while candidates and lacking > 0:
            planted = list(islice(new, third))
            shown = candidates[len(added) * third :][:third] or candidates[:third]
            count = min(self.options.tiles - len(planted) - len(shown), len(negatives.order))
            added.append((list(shown), planted, negatives.draw(count)))
            lacking -= len(planted)
        return added

    def _task(self, number: int, grid: _Grid, generator: np.random.Generator) -> GridTask:
        tiles = [Tile(image, role) for role, images in zip(TileRole, grid, strict=True) for image in images]
        path = "/".join((str(self.options.seed), *self.names, str(number)))
        task_id = hashlib.sha256(path.encode()).hexdigest()[:_ID_DIGITS]
        return GridTask(task_id, self.class_id, tuple(tiles[i] for i in generator.permutation(len(tiles))))


_Grid = tuple[list[str], list[str], list[str]]  # candidates, positive and negative controls, as the roles are ordered


class _Deck:
    """Control images in random order, dealt without repetition until all were used, and never twice in a task."""

    def __init__(self, images: Sequence[str], generator: np.random.Generator) -> None:
        self.order = [images[i] for i in generator.permutation(len(images))]
        self._next = 0

    def draw(self, count: int) -> list[str]:
        positions = range(self._next, self._next + count)
        self._next += count
        return [self.order[i % len(self.order)] for i in positions]


def nearest_classes(space: ClassSpace) -> dict[str, str]:
    """The most similar other class of each class: the fewest steps through WordNet, the first one among equals."""
    distances = hierarchy_distances(space, steps=Steps.SUM).astype(np.int64)
    return _first_by(distances, space)


def most_confused_classes(space: ClassSpace, confusions: IntArray) -> dict[str, str]:
    """The class that each class is most often taken for, from counts (c, c) of label and prediction.

    For class spaces without a hierarchy. Classes that are never mistaken for another have no entry.
    """
    counts = np.where(np.eye(len(space), dtype=bool), 0, confusions)
    nearest = _first_by(-counts, space)
    return {class_id: nearest[class_id] for class_id, row in zip(space.ids, counts, strict=True) if row.any()}


def _first_by(order: IntArray, space: ClassSpace) -> dict[str, str]:
    if len(space) < 2:
        raise InputError(f"class space {space.name!r} has no other class for negative controls")
    other_classes = np.where(np.eye(len(space), dtype=bool), np.iinfo(np.int64).max, order)
    return {class_id: space.ids[int(row.argmin())] for class_id, row in zip(space.ids, other_classes, strict=True)}


def classes_of(tasks: Iterable[GridTask]) -> tuple[str, ...]:
    """The classes that have tasks, sorted."""
    return tuple(sorted({task.class_id for task in tasks}))


def _generator(*parts: str) -> np.random.Generator:
    """A generator that depends on the parts alone."""
    return np.random.default_rng(list(hashlib.sha256("\n".join(parts).encode()).digest()))
