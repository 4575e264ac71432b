"""Answers to grids in the browser as answers of a build."""

from __future__ import annotations

from regrade.build.files import AnswerCollection
from regrade.build.frequencies import Assignment
from regrade.build.grid_work import GridWork
from regrade.build.standing import wrong_controls
from regrade.build.steps.answers import answers_not_stored
from regrade.store import Store


def new_answers(store: Store, work: GridWork) -> tuple[Assignment, ...]:
    """The answers in the ledger that are not stored yet; raises if a stored one differs."""
    build = work.stored.build
    stored = {(answer.task, answer.worker): answer for answer in AnswerCollection(store.root).read(build)}
    rows = []
    for answer in work.ledger.selections.since(work.queue, 0):
        task = work.tasks[answer.task]
        wrong_controls(task, answer.answer)  # raises for another number of tiles
        chosen = (tile.image for tile, digit in zip(task.tiles, answer.answer, strict=True) if digit == "1")
        rows.append(Assignment(answer.task, answer.worker, frozenset(chosen), answer.seconds))
    return tuple(answers_not_stored(rows, stored))
