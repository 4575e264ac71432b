"""regrade build tasks: divide the candidates of a pool into selection tasks with planted controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.build.files import BuildTasks, TaskCollection
from regrade.build.tasks import (
    GridTask,
    TaskOptions,
    TileRole,
    make_tasks,
    most_confused_classes,
    nearest_classes,
)
from regrade.core import UNLABELED, Column, InputError, MismatchError, Table, Tabular, TestSet
from regrade.core.amounts import amount
from regrade.store import Store
from regrade.studies.study import Study, StudyOptions, option, seed_option

_DEFAULTS = TaskOptions()


def build_name() -> Any:
    """The option ``build``."""
    return option("Name of the build.", is_argument=True, metavar="NAME")


@dataclass(frozen=True)
class TaskMakingOptions(StudyOptions):
    """Where candidates and controls come from, and the composition of a task."""

    build: str = build_name()
    pool: str = option("Test set with the candidates; the label of an image is the class it is a candidate for.")
    reference: str = option("Test set with the reference images, from which controls are drawn.")
    tiles: int = option("Images per task.", _DEFAULTS.tiles, minimum=2)
    positives: int = option("Positive controls per task: reference images of the class.", 3, minimum=0)
    negatives: int = option("Negative controls per task: reference images of the most similar class.", 3, minimum=0)
    workers: int = option("Workers per task.", _DEFAULTS.workers, minimum=1)
    annotated: int = option(
        "Reference images of each class that workers see at least; further tasks are made where there are fewer.",
        _DEFAULTS.annotated_references,
        minimum=0,
    )
    by: str | None = option(
        "Make tasks of candidates that share the value of this group column, such as keyword (default: tasks of a "
        "class have any candidates of it).",
        None,
        metavar="COLUMN",
    )
    confused_by: str | None = option(
        "Take negative controls from the class that this model confuses most often with the target (default: the "
        "nearest class in WordNet).",
        None,
        metavar="MODEL",
    )
    seed: int = seed_option("the composition of tasks")


@dataclass(frozen=True, repr=False)
class TaskReport(Tabular):
    """The tasks of a build: their number per composition, and the classes without tasks."""

    build: str
    pool: str
    reference: str
    tasks: int
    workers: int
    classes: int
    compositions: tuple[tuple[int, int, int, int], ...]
    problems: tuple[str, ...]
    keywords: int | None = None

    def table(self) -> Table:
        """One row per composition, the most frequent first."""
        columns = (
            Column("tasks", "tasks"),
            Column("candidates", "candidates"),
            Column("positives", "positive controls"),
            Column("negatives", "negative controls"),
        )
        groups = "" if self.keywords is None else f" and {amount(self.keywords, 'keyword')} of them"
        classes = amount(self.classes, "class", "classes")
        tasks, workers = amount(self.tasks, "task"), amount(self.workers, "worker")
        title = f"{self.build}: {tasks} for {classes}{groups}, {workers} each"
        return Table(title, columns, self.compositions, tuple(f"no tasks for {problem}" for problem in self.problems))


def run(store: Store, options: TaskMakingOptions) -> TaskReport:
    """Make and store the tasks of a build; the same again is allowed, other tasks under its name raise."""
    pool, reference = store.test_set(options.pool), store.test_set(options.reference)
    check_same_classes(pool, reference)
    settings = TaskOptions(
        options.tiles,
        options.positives,
        options.negatives,
        options.workers,
        options.annotated,
        options.seed,
        options.by or "",
    )
    keywords = None if options.by is None else dict(zip(pool.ids, group_column(pool, options.by), strict=True))
    plan = make_tasks(
        images_by_class(pool),
        images_by_class(reference),
        _negative_classes(store, reference, options),
        settings,
        keywords,
    )
    if not plan.tasks:
        raise InputError(
            "no class has tasks: " + "; ".join(plan.problems[:3]) if plan.problems else "the pool is empty"
        )
    stored_tasks = BuildTasks(
        options.build, pool.name, pool.digest, reference.name, reference.digest, settings, plan.tasks
    )
    TaskCollection(store.root).add(stored_tasks, None)
    compositions = Counter(plan.composition()).most_common()
    return TaskReport(
        options.build,
        pool.name,
        reference.name,
        len(plan.tasks),
        settings.workers,
        len({task.class_id for task in plan.tasks}),
        tuple((count, *composition) for composition, count in compositions),
        plan.problems,
        None if keywords is None else _count_groups(plan.tasks, keywords),
    )


def _count_groups(tasks: Iterable[GridTask], keywords: Mapping[str, str]) -> int:
    """The number of keywords of classes that have tasks."""
    return len({(task.class_id, keywords[tile.image]) for task in tasks for tile in task.of(TileRole.CANDIDATE)})


def group_column(test_set: TestSet, name: str) -> Sequence[str]:
    """The values (n,) of a group column, such as the keywords of images; raise if there is no such column."""
    if name not in test_set.group_columns:
        raise InputError(f"{test_set.name} has no group column {name!r} with the keyword of each image")
    return test_set.group_columns[name]


def check_same_classes(pool: TestSet, reference: TestSet) -> None:
    """Raise if candidates and reference images have different classes."""
    if pool.class_space.digest != reference.class_space.digest:
        raise MismatchError(
            f"the classes of {pool.name} ({pool.class_space.name}) and {reference.name} "
            f"({reference.class_space.name}) differ"
        )


def unchanged_set(store: Store, name: str, digest: str, build: str) -> TestSet:
    """A test set of a build; raise if it is not the one for which the tasks were made."""
    test_set = store.test_set(name)
    if test_set.digest != digest:
        raise MismatchError(
            f"test set {name} changed after the tasks of {build} were made: restore it, or make a new build"
        )
    return test_set


def images_by_class(test_set: TestSet) -> dict[str, list[str]]:
    """The labeled images of each class that has any."""
    images: dict[str, list[str]] = {}
    for image, label in zip(test_set.ids, test_set.labels.tolist(), strict=True):
        if label != UNLABELED:
            images.setdefault(test_set.class_space.ids[label], []).append(image)
    return images


def _negative_classes(store: Store, reference: TestSet, options: TaskMakingOptions) -> dict[str, str]:
    """The class of the negative controls of each class."""
    space = reference.class_space
    if options.confused_by is not None:
        predicted = store.predictions.read(reference, options.confused_by).top1
        counts = np.zeros((len(space), len(space)), dtype=np.int64)
        has_both = (reference.labels != UNLABELED) & (predicted >= 0)
        np.add.at(counts, (reference.labels[has_both], predicted[has_both]), 1)
        return most_confused_classes(space, counts)
    if space.hierarchy is None and options.negatives:
        raise InputError(
            f"class space {space.name!r} has no hierarchy from which the most similar class could be taken: name a "
            "model with predictions on the reference set with --confused-by, or set --negatives 0"
        )
    return nearest_classes(space) if space.hierarchy is not None else {}


BUILD_TASKS = Study(
    name="tasks",
    question="Which images do workers see together?",
    summary="Divide the candidates of a pool into selection tasks, with planted controls from a reference set.",
    options=TaskMakingOptions,
    result=TaskReport,
    run=run,
)
