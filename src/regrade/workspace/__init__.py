"""The Python API of regrade: open a workspace, import data, run studies."""

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
