"""regrade build answers: import the answers of workers from a file of a crowd platform."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regrade.build.exchange import read_answers
from regrade.build.files import AnswerBatch, AnswerCollection, TaskCollection
from regrade.build.frequencies import Assignment, collect_answers
from regrade.build.steps.tasks import build_name
from regrade.core import Column, InputError, Table, Tabular
from regrade.store import Store
from regrade.studies.study import Study, StudyOptions, option


@dataclass(frozen=True)
class AnswerImportOptions(StudyOptions):
    """The build and the file."""

    build: str = build_name()
    path: Path = option(
        "CSV, JSON, JSON lines or Parquet with the columns task, worker, selected and, if known, seconds.",
        is_argument=True,
        metavar="FILE",
    )


@dataclass(frozen=True, repr=False)
class ImportedAnswers(Tabular):
    """What was imported, and how far the build is."""

    build: str
    answers: int
    new: int
    workers: int
    complete_tasks: int
    tasks: int

    def table(self) -> Table:
        """One row."""
        columns = (
            Column("answers", "answers in the file"),
            Column("new", "new"),
            Column("workers", "workers in all"),
            Column("complete_tasks", "complete tasks"),
            Column("tasks", "tasks"),
        )
        row = (self.answers, self.new, self.workers, self.complete_tasks, self.tasks)
        return Table(f"answers of {self.build}", columns, (row,))


def run(store: Store, options: AnswerImportOptions) -> ImportedAnswers:
    """Import answers; those that are stored already are skipped, and a different answer to the same task raises."""
    stored_tasks = TaskCollection(store.root).read(options.build)
    rows = read_answers(options.path, stored_tasks.tasks, key=stored_tasks.digest)
    answers = AnswerCollection(store.root)
    with store.transaction():
        stored = {(answer.task, answer.worker): answer for answer in answers.read(options.build)}
        new = answers_not_stored(rows, stored)
        everything = [*stored.values(), *new]
        collect_answers(stored_tasks.tasks, everything)  # raises if a task is answered twice in the file
        if new:
            answers.add(AnswerBatch(options.build, tuple(new), options.path.name), None)
    times: dict[str, int] = {}
    for answer in everything:
        times[answer.task] = times.get(answer.task, 0) + 1
    return ImportedAnswers(
        options.build,
        len(rows),
        len(new),
        len({answer.worker for answer in everything}),
        sum(count >= stored_tasks.options.workers for count in times.values()),
        len(stored_tasks.tasks),
    )


def answers_not_stored(rows: Iterable[Assignment], stored: Mapping[tuple[str, str], Assignment]) -> list[Assignment]:
    """The answers that are new; a different answer of the same worker to the same task raises."""
    new: list[Any] = []
    for row in rows:
        earlier = stored.get((row.task, row.worker))
        if earlier is None:
            new.append(row)
        elif earlier.selected != row.selected:
            raise InputError(
                f"worker {row.worker!r} has answered task {row.task} before, and differently: answers are not changed"
            )
    return new


BUILD_ANSWERS = Study(
    name="answers",
    question="What did workers select?",
    summary="Import the answers of workers to the tasks of a build; answers are added, and never changed.",
    options=AnswerImportOptions,
    result=ImportedAnswers,
    run=run,
)
