"""regrade build frequencies: how often workers selected each image, and how good the workers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from regrade.build.eligibility import MIN_ASSIGNMENTS
from regrade.build.files import AnswerCollection, BuildTasks, TaskCollection
from regrade.build.frequencies import (
    SelectionFrequencies,
    TileAnswers,
    collect_answers,
    histogram,
    mean_frequency,
    selection_frequencies,
)
from regrade.build.frequency_columns import frequency_columns
from regrade.build.grid_files import ExclusionCollection
from regrade.build.steps.tasks import build_name
from regrade.build.tasks import TileRole
from regrade.build.workers import Gate, Standing, WorkerQuality, dawid_skene, worker_qualities
from regrade.core import Column, Estimate, InputError, Table, Tabular, UndefinedError, UnknownName
from regrade.core.amounts import amount
from regrade.core.frequency_bins import EDGES, bin_names
from regrade.core.record import NOT_IN_JSON
from regrade.core.test_set import SELECTION_FREQUENCY
from regrade.store import Store, keep_slices
from regrade.studies.study import Output, Parts, Study, StudyOptions, option

_SHOWN_ROLES = {
    TileRole.CANDIDATE: "candidates",
    TileRole.POSITIVE: "reference images",
    TileRole.NEGATIVE: "negative controls",
}


class FrequencyPart(Enum):
    """The tables of frequencies."""

    GROUPS = "groups"
    WORKERS = "workers"
    CLASSES = "classes"
    IMAGES = "images"


def include_excluded_option() -> Any:
    """The option ``include_excluded``."""
    return option("Count the answers of workers who were excluded in the app; by default they are left out.", False)


@dataclass(frozen=True)
class FrequencyOptions(StudyOptions):
    """Which answers count."""

    build: str = build_name()
    min_answers: int = option("Answers that an image needs to count as annotated.", MIN_ASSIGNMENTS, minimum=1)
    exclude_workers: Sequence[str] = option(
        "Leave out the answers of this worker. May be repeated.", (), names=("--exclude-worker",), metavar="WORKER"
    )
    include_excluded: bool = include_excluded_option()
    lowest_control_accuracy: float | None = option(
        "Leave out workers whose accuracy on controls is proven to be below this percentage.",
        None,
        names=("--min-control-accuracy",),
        metavar="PERCENT",
        minimum=1,
        maximum=99,
        percent=True,
    )


@dataclass(frozen=True)
class FrequencyGroup:
    """The images with one role: their number, those with enough answers, their mean frequency, and a histogram."""

    name: str
    images: int
    annotated: int
    mean: Estimate | None
    counts: tuple[int, ...]


@dataclass(frozen=True)
class WorkerRow:
    """One worker's quality and standing."""

    quality: WorkerQuality
    standing: Standing
    left_out: bool


@dataclass(frozen=True)
class ClassRow:
    """One class: annotated candidates and reference images, and their mean observed frequencies."""

    class_id: str
    candidates: int
    references: int
    candidate_frequency: float | None
    reference_frequency: float | None


@dataclass(frozen=True, repr=False)
class Frequencies(Tabular):
    """The selection frequencies of a build."""

    build: str
    answers: int
    min_answers: int
    bins: tuple[str, ...]
    groups: tuple[FrequencyGroup, ...]
    workers: tuple[WorkerRow, ...]
    classes: tuple[ClassRow, ...]
    images: SelectionFrequencies = field(metadata=NOT_IN_JSON)
    tile_answers: TileAnswers = field(metadata=NOT_IN_JSON)
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[FrequencyPart, ...]:
        """All tables, the main one first."""
        return tuple(FrequencyPart)

    def table(self) -> Table:
        """The groups."""
        return self.part(FrequencyPart.GROUPS)

    def part(self, part: FrequencyPart) -> Table:
        """One of the tables."""
        match part:
            case FrequencyPart.GROUPS:
                return self._groups()
            case FrequencyPart.WORKERS:
                return self._workers()
            case FrequencyPart.CLASSES:
                return self._classes()
            case FrequencyPart.IMAGES:
                return self._images()

    def _groups(self) -> Table:
        columns = (
            Column("name", "images"),
            Column("images", "number"),
            Column("annotated", "annotated"),
            Column("mean", "mean frequency"),
            *(Column(f"bin_{number}", name) for number, name in enumerate(self.bins)),
        )
        rows = tuple((row.name, row.images, row.annotated, row.mean, *row.counts) for row in self.groups)
        least = amount(self.min_answers, "answer")
        note = f"annotated: at least {least}; intervals of means are over images and workers"
        title = f"{self.build}: selection frequencies from {self.answers:,} answers"
        return Table(title, columns, rows, (note, *self.notes))

    def _workers(self) -> Table:
        columns = (
            Column("worker", "worker"),
            Column("tasks", "tasks"),
            Column("control_accuracy", "control accuracy"),
            Column("hits", "positives selected"),
            Column("rejections", "negatives not selected"),
            Column("selected_share", "selected"),
            Column("standing", "standing"),
        )
        rows = tuple(
            (
                row.quality.worker,
                row.quality.tasks_answered,
                row.quality.control_accuracy,
                row.quality.hits,
                row.quality.rejections,
                row.quality.selected_share,
                "left out" if row.left_out else row.standing.value,
            )
            for row in self.workers
        )
        return Table(f"{self.build}: workers", columns, rows)

    def _classes(self) -> Table:
        columns = (
            Column("class", "class"),
            Column("candidates", "annotated candidates"),
            Column("candidate_frequency", "mean frequency"),
            Column("references", "annotated references"),
            Column("reference_frequency", "mean frequency of references"),
        )
        rows = tuple(
            (row.class_id, row.candidates, row.candidate_frequency, row.references, row.reference_frequency)
            for row in self.classes
        )
        return Table(f"{self.build}: classes", columns, rows)

    def _images(self) -> Table:
        columns = (
            Column("image", "image"),
            Column("class", "class"),
            Column("role", "role"),
            Column("selected", "selected"),
            Column("answers", "answers"),
            Column("frequency", "frequency"),
            Column("probability", "probability (Dawid-Skene)"),
        )
        rows = tuple(
            (image, class_id, role.value, selected, answers, float(frequency), probability)
            for (image, class_id), role, selected, answers, frequency, probability in zip(
                self.images.entries,
                self.images.roles,
                self.images.selected.tolist(),
                self.images.assignments.tolist(),
                self.images.frequency,
                dawid_skene(self.tile_answers).probability.tolist(),
                strict=True,
            )
            if answers
        )
        return Table(f"{self.build}: images", columns, rows)


@dataclass(frozen=True)
class LoadedAnswers:
    """The tasks and answers of a build, and the workers that were left out."""

    tasks: BuildTasks
    answers: TileAnswers
    workers: tuple[WorkerRow, ...]

    @property
    def left_out(self) -> frozenset[str]:
        """The names of the workers whose answers do not count."""
        return frozenset(row.quality.worker for row in self.workers if row.left_out)

    def frequencies(self) -> SelectionFrequencies:
        """The frequencies without the workers that were left out."""
        return selection_frequencies(self.answers, excluded_workers=self.left_out)


def load_answers(
    store: Store,
    build: str,
    *,
    excluded: Sequence[str] = (),
    lowest: float | None = None,
    include_excluded: bool = False,
) -> LoadedAnswers:
    """Read the tasks and answers of a build, and decide which workers count; raise if there are no answers.

    Workers who were excluded in the app are left out unless ``include_excluded`` is set.
    """
    stored_tasks = TaskCollection(store.root).read(build)
    answers = collect_answers(stored_tasks.tasks, AnswerCollection(store.root).iterate(build))
    if not answers.workers:
        raise InputError(
            f"build {build} has no answers yet: import them with regrade build answers {build} FILE, or publish those "
            f"of the app with regrade review publish '{build} tasks'"
        )
    for name in excluded:
        if name not in answers.workers:
            raise UnknownName("worker", name, answers.workers)
    in_app = frozenset() if include_excluded else ExclusionCollection(store.root).newest(build).reasons.keys()
    gate = Gate() if lowest is None else Gate(lowest=lowest)
    rows = []
    for quality in worker_qualities(answers):
        standing = _standing(quality, gate)
        left_out = quality.worker in {*excluded, *in_app} or (lowest is not None and standing is Standing.EXCLUDED)
        rows.append(WorkerRow(quality, standing, left_out))
    return LoadedAnswers(stored_tasks, answers, tuple(rows))


def _standing(quality: WorkerQuality, gate: Gate) -> Standing:
    accuracy = quality.control_accuracy
    return Standing.GOOD if accuracy is None else gate.standing(round(accuracy.value * accuracy.n), accuracy.n)


def run(store: Store, options: FrequencyOptions) -> Frequencies:
    """Compute the selection frequencies of a build from all answers so far."""
    loaded = load_answers(
        store,
        options.build,
        excluded=options.exclude_workers,
        lowest=options.lowest_control_accuracy,
        include_excluded=options.include_excluded,
    )
    counted = loaded.frequencies()
    annotated = counted.assignments >= options.min_answers
    groups = tuple(_group(loaded, counted, annotated, role) for role in TileRole)
    suspects = [row.quality.worker for row in loaded.workers if row.standing is Standing.EXCLUDED and not row.left_out]
    notes = []
    if suspects:
        notes.append(
            f"below the lowest accuracy on controls, and counted: {', '.join(suspects[:5])}; see --show workers"
        )
    if loaded.left_out:
        notes.append(f"left out: {', '.join(sorted(loaded.left_out))}")
    return Frequencies(
        options.build,
        int(loaded.answers.tasks_answered.sum()),
        options.min_answers,
        tuple(bin_names(EDGES)),
        groups,
        loaded.workers,
        _classes(counted, annotated),
        counted,
        loaded.answers,
        tuple(notes),
    )


def _group(
    loaded: LoadedAnswers, counted: SelectionFrequencies, annotated: np.ndarray, role: TileRole
) -> FrequencyGroup:
    chosen = np.array([own is role for own in counted.roles], dtype=bool)
    try:
        mean = mean_frequency(loaded.answers, role, excluded_workers=loaded.left_out)
    except UndefinedError:
        mean = None
    counts = tuple(histogram(counted, role, EDGES).tolist())
    return FrequencyGroup(_SHOWN_ROLES[role], int(chosen.sum()), int((chosen & annotated).sum()), mean, counts)


def _classes(counted: SelectionFrequencies, annotated: np.ndarray) -> tuple[ClassRow, ...]:
    values: dict[str, dict[TileRole, list[float]]] = {}
    for (_, class_id), role, frequency, counts in zip(
        counted.entries, counted.roles, counted.frequency.tolist(), annotated.tolist(), strict=True
    ):
        of_class = values.setdefault(class_id, {role: [] for role in TileRole})
        if counts:
            of_class[role].append(frequency)

    def mean(frequencies: list[float]) -> float | None:
        return sum(frequencies) / len(frequencies) if frequencies else None

    return tuple(
        ClassRow(
            class_id,
            len(own[TileRole.CANDIDATE]),
            len(own[TileRole.POSITIVE]),
            mean(own[TileRole.CANDIDATE]),
            mean(own[TileRole.POSITIVE]),
        )
        for class_id, own in sorted(values.items())
    )


def _keep_columns(store: Store, result: Frequencies, name: str) -> str:
    """Store the frequencies as group columns of a test set for the command, and say so."""
    test_set = store.test_set(name)
    columns = frequency_columns(result.build, result.images, test_set, min_answers=result.min_answers)
    keep_slices(store, columns)
    count = sum(bool(value) for value in columns.columns[f"{result.build}:{SELECTION_FREQUENCY}"])
    return (
        f"group columns {', '.join(columns.columns)} of {test_set.name}: {amount(count, 'image')}; next: regrade study "
        f"frequency -t {test_set.name}"
    )


BUILD_FREQUENCIES = Study(
    name="frequencies",
    question="How often was each image selected?",
    summary="Show selection frequencies of candidates and reference images, and the quality of workers.",
    options=FrequencyOptions,
    result=Frequencies,
    run=run,
    parts=Parts(
        FrequencyPart,
        "Table to print. workers: answers to controls. classes: annotated images per class. images: every frequency, "
        "with the probability of a model of the workers.",
    ),
    outputs=(
        Output(
            "columns-of",
            "SET",
            "Also store the frequencies and numbers of answers as group columns of this test set, such as the "
            "reference set, for regrade study frequency.",
            _keep_columns,
        ),
    ),
)
