"""The Python API of regrade: open a workspace, import data, run studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from regrade.studies import find_near_duplicates
    from regrade.workspace.grader import Grader
    from regrade.workspace.in_memory import compare, gate, grade, report
    from regrade.workspace.queue_result import QueueResult
    from regrade.workspace.report_writing import WrittenReport
    from regrade.workspace.review_sample import DrawnReview, RunningReview
    from regrade.workspace.test_set_adding import AddedTestSet
    from regrade.workspace.workspace import Workspace, init, open

__all__ = [
    "AddedTestSet",
    "DrawnReview",
    "Grader",
    "QueueResult",
    "RunningReview",
    "Workspace",
    "WrittenReport",
    "compare",
    "find_near_duplicates",
    "gate",
    "grade",
    "init",
    "open",
    "report",
]

_HOME = {
    "regrade.studies": "find_near_duplicates",
    "regrade.workspace.grader": "Grader",
    "regrade.workspace.in_memory": "compare gate grade report",
    "regrade.workspace.queue_result": "QueueResult",
    "regrade.workspace.report_writing": "WrittenReport",
    "regrade.workspace.review_sample": "DrawnReview RunningReview",
    "regrade.workspace.test_set_adding": "AddedTestSet",
    "regrade.workspace.workspace": "Workspace init open",
}

if not TYPE_CHECKING:  # type checkers then find misspelled names
    __getattr__, __dir__ = lazy_names(globals(), _HOME)
