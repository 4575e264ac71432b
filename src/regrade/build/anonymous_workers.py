"""Names for workers that say nothing about who they are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import replace

from regrade.build.frequencies import Assignment

_DIGITS = 3


def anonymous_names(assignments: Iterable[Assignment], left_out: Collection[str] = ()) -> dict[str, str]:
    """A name such as ``worker-001`` for each worker.

    Workers are numbered in the order of a hash of their answers, which are public, so that the numbers are always the
    same and tell nothing about names or about who answered first.
    """
    answers: dict[str, list[str]] = {}
    for assignment in assignments:
        row = json.dumps([assignment.task, sorted(assignment.selected), assignment.seconds])
        answers.setdefault(assignment.worker, []).append(row)

    def order(worker: str) -> tuple[str, str]:
        content = json.dumps([worker in left_out, *sorted(answers[worker])])
        return hashlib.sha256(content.encode()).hexdigest(), worker

    digits = max(_DIGITS, len(str(len(answers))))
    return {worker: f"worker-{number:0{digits}}" for number, worker in enumerate(sorted(answers, key=order), start=1)}


def anonymized(assignments: Iterable[Assignment], names: dict[str, str]) -> tuple[Assignment, ...]:
    """The answers with other names, in the order of tasks and of the new names."""
    renamed = (replace(assignment, worker=names[assignment.worker]) for assignment in assignments)
    return tuple(sorted(renamed, key=lambda assignment: (assignment.task, assignment.worker)))
