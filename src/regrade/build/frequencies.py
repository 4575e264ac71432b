"""Selection frequencies: how often workers selected each image for a class, pooled over tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.build.eligibility import Candidate
from regrade.build.tasks import GridTask, TileRole
from regrade.core import Estimate, InputError, UndefinedError, UnknownName
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats.intervals import exact_bounds, method_name
from regrade.stats.two_way import two_way_clustered_mean

_NUMBER = np.int32  # of entries and workers: there are many answers, and arrays of them take most of the memory


@dataclass(frozen=True)
class Assignment:
    """One worker's answer to one task: the selected images, and the seconds it took if known."""

    task: str
    worker: str
    selected: frozenset[str]
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class TileAnswers:
    """All answers as arrays: position i of every array is what one worker said about one image of a task.

    ``entry`` points to pairs of image and class, ``worker`` to worker names; ``tasks_answered`` (w,) counts tasks per
    worker.
    """

    entries: tuple[tuple[str, str], ...]
    roles: tuple[TileRole, ...]
    workers: tuple[str, ...]
    entry: IntArray
    worker: IntArray
    selected: BoolArray
    tasks_answered: IntArray

    @cached_property
    def correct_control(self) -> BoolArray:
        """Shape (n,): whether the answer is that of a careful worker, for answers about controls."""
        positive = np.array([role is TileRole.POSITIVE for role in self.roles], dtype=bool)[self.entry]
        return self.selected == positive

    def of_role(self, role: TileRole) -> BoolArray:
        """Shape (n,): the answers about images with a role."""
        chosen = np.array([own is role for own in self.roles], dtype=bool)
        return chosen[self.entry]

    def counted(self, excluded_workers: Iterable[str]) -> BoolArray:
        """Shape (n,): the answers of workers who are not excluded."""
        excluded = set(excluded_workers)
        included = np.array([name not in excluded for name in self.workers], dtype=bool)
        return included[self.worker]


def collect_answers(tasks: Iterable[GridTask], assignments: Iterable[Assignment]) -> TileAnswers:
    """Put answers and tasks together; the assignments are read once, and not kept.

    Raises if a task is unknown or answered twice by a worker, if a selected image is not in the task, if a task shows
    an image twice, or if an image has different roles for the same class.
    """
    entries: dict[tuple[str, str], int] = {}
    roles: list[TileRole] = []
    grids = {task.id: _entered(task, entries, roles) for task in tasks}
    workers: dict[str, int] = {}
    answered: set[tuple[str, int]] = set()
    entry, selected = [], []
    worker_of_answer = []
    for assignment in assignments:
        grid = grids.get(assignment.task)
        if grid is None:
            raise UnknownName("task", assignment.task, None)
        worker = workers.setdefault(assignment.worker, len(workers))
        if (assignment.task, worker) in answered:
            raise InputError(f"worker {assignment.worker!r} answered task {assignment.task} twice")
        answered.add((assignment.task, worker))
        worker_of_answer.append(worker)
        entry.append(grid.entry)
        selected.append(grid.selected(assignment))
    numbers = np.array(worker_of_answer, dtype=_NUMBER)
    return TileAnswers(
        tuple(entries),
        tuple(roles),
        tuple(workers),
        np.concatenate(entry or [np.zeros(0, dtype=_NUMBER)]),
        np.repeat(numbers, [len(part) for part in entry]),
        np.concatenate(selected or [np.zeros(0, dtype=bool)]),
        np.bincount(numbers, minlength=len(workers)),
    )


@dataclass(frozen=True, eq=False)
class _Grid:
    """The tiles of a task: the numbers of their entries (tiles,), and the place of each image."""

    entry: IntArray
    places: Mapping[str, int]

    def selected(self, assignment: Assignment) -> BoolArray:
        """Shape (tiles,): the tiles that were selected."""
        selected = np.zeros(len(self.entry), dtype=bool)
        try:
            selected[[self.places[image] for image in assignment.selected]] = True
        except KeyError:
            unknown = min(assignment.selected.difference(self.places))
            raise InputError(
                f"worker {assignment.worker!r} selected {unknown!r}, which is not in task {assignment.task}"
            ) from None
        return selected


def _entered(task: GridTask, entries: dict[tuple[str, str], int], roles: list[TileRole]) -> _Grid:
    """The tiles of a task; new images and classes are added to the entries."""
    places = {tile.image: place for place, tile in enumerate(task.tiles)}
    if len(places) < len(task.tiles):
        raise InputError(f"task {task.id} shows an image twice")
    return _Grid(entry_numbers(task, entries, roles), places)


def entry_numbers(task: GridTask, entries: dict[tuple[str, str], int], roles: list[TileRole]) -> IntArray:
    """The numbers of the entries of a task's tiles, in the order of the tiles; new ones are added."""
    numbers = []
    for tile in task.tiles:
        number = entries.setdefault((tile.image, task.class_id), len(entries))
        if number == len(roles):
            roles.append(tile.role)
        if roles[number] is not tile.role:
            raise InputError(f"image {tile.image!r} is both {roles[number]} and {tile.role} for {task.class_id}")
        numbers.append(number)
    return np.array(numbers, dtype=_NUMBER)


@dataclass(frozen=True, eq=False)
class SelectionFrequencies:
    """Per pair of image and class: how many answers there are, how many select it, and from how many workers.

    ``effective`` (n,) is the number of independent answers: a worker who saw an image twice counts as one.
    """

    entries: tuple[tuple[str, str], ...]
    roles: tuple[TileRole, ...]
    selected: IntArray
    assignments: IntArray
    effective: FloatArray

    @property
    def frequency(self) -> FloatArray:
        """Shape (n,): the share of answers that select the image; 0 without answers (Recht et al. 2019)."""
        return np.divide(self.selected, self.assignments, out=np.zeros(len(self.selected)), where=self.assignments > 0)

    def estimate(self, image: str, class_id: str, *, confidence: float = 0.95) -> Estimate:
        """The frequency of one image with its interval over workers; raises without answers."""
        number = self._number[image, class_id]
        if not self.assignments[number]:
            raise UndefinedError(f"no worker has seen {image!r} for {class_id}")
        share, effective = self.frequency[number], self.effective[number : number + 1]
        bounds = exact_bounds(share * effective, effective, confidence=confidence)
        method = method_name("clopper-pearson over workers", confidence)
        return Estimate(
            float(share), float(bounds.low[0]), float(bounds.high[0]), int(self.assignments[number]), method
        )

    @cached_property
    def _number(self) -> Mapping[tuple[str, str], int]:
        return {entry: number for number, entry in enumerate(self.entries)}

    def candidates(self, keywords: Mapping[str, str] | None = None) -> list[Candidate]:
        """The candidates, as samplers need them."""
        return self._with_role(TileRole.CANDIDATE, keywords or {})

    def references(self) -> list[Candidate]:
        """The reference images of each class: its positive controls."""
        return self._with_role(TileRole.POSITIVE, {})

    def _with_role(self, role: TileRole, keywords: Mapping[str, str]) -> list[Candidate]:
        frequencies, assignments = self.frequency.tolist(), self.assignments.tolist()
        return [
            Candidate(image, class_id, frequencies[number], assignments[number], keywords.get(image, ""))
            for number, ((image, class_id), own_role) in enumerate(zip(self.entries, self.roles, strict=True))
            if own_role is role
        ]


def selection_frequencies(answers: TileAnswers, *, excluded_workers: Iterable[str] = ()) -> SelectionFrequencies:
    """Count the answers per image and class, over all tasks of the class, without those of excluded workers."""
    counted = answers.counted(excluded_workers)
    chosen = slice(None) if counted.all() else counted
    entry, size = answers.entry[chosen], len(answers.entries)
    assignments = np.bincount(entry, minlength=size)
    squares = assignments + _repeated_pairs(entry, answers.worker[chosen], size)
    return SelectionFrequencies(
        answers.entries,
        answers.roles,
        np.bincount(entry, answers.selected[chosen], size).astype(np.int64),
        assignments,
        np.divide(assignments.astype(np.float64) ** 2, squares, out=np.zeros(size), where=squares > 0),
    )


def _repeated_pairs(entry: IntArray, worker: IntArray, size: int) -> FloatArray:
    """Shape (size,): for each entry the sum of c (c - 1) over its workers, who saw it c times; mostly 0."""
    workers = int(worker.max(initial=0)) + 1
    pairs = entry.astype(np.int64) * workers + worker
    pairs.sort()  # in place, since there are many
    repeated, counts = np.unique(pairs[1:][pairs[1:] == pairs[:-1]], return_counts=True)
    return np.bincount(repeated // workers, counts * (counts + 1), size).astype(np.float64)


def mean_frequency(
    answers: TileAnswers, role: TileRole, *, excluded_workers: Iterable[str] = (), confidence: float = 0.95
) -> Estimate:
    """The mean selection frequency of the images with a role, with an interval over both images and workers.

    Answers by one worker are not independent, since some workers select more than others.
    """
    chosen = answers.of_role(role) & answers.counted(excluded_workers)
    if not chosen.any():
        raise UndefinedError(f"no worker has seen a {role} image")
    entry = answers.entry[chosen]
    weights = 1.0 / np.bincount(entry)[entry]  # every image counts the same, however many answers it has
    return two_way_clustered_mean(
        answers.selected[chosen], entry, answers.worker[chosen], weights=weights, confidence=confidence
    )


def histogram(frequencies: SelectionFrequencies, role: TileRole, edges: Sequence[float]) -> IntArray:
    """The number of annotated images with a role per frequency bin; an edge belongs to the higher bin."""
    chosen = np.array([own is role for own in frequencies.roles], dtype=bool) & (frequencies.assignments > 0)
    bins = np.searchsorted(np.asarray(edges), frequencies.frequency[chosen], side="right")
    return np.bincount(bins, minlength=len(edges) + 1)
