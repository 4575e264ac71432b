"""The Python face of regrade: open a workspace, bring things in, get results out."""

from regrade.workspace.adding import AddedTestSet
from regrade.workspace.leaking import find_twins
from regrade.workspace.loading import Watch
from regrade.workspace.queued import Queued
from regrade.workspace.reporting import WrittenReport
from regrade.workspace.reviewing import DrawnReview
from regrade.workspace.running_review import RunningReview
from regrade.workspace.workspace import Workspace, init, open

__all__ = [
    "AddedTestSet",
    "DrawnReview",
    "Queued",
    "RunningReview",
    "Watch",
    "Workspace",
    "WrittenReport",
    "find_twins",
    "init",
    "open",
]
