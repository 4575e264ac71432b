"""A second, honest grading of image classifiers.

    >>> import regrade
    >>> from regrade.stats import mcnemar

`grade`, `compare`, `gate` and `report` work on arrays, and `Grader` on batches; `open` and `init` give a `Workspace`;
`capture` stores the scores of a network during its training; `regrade.stats` and `regrade.metrics` are libraries of
pure functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regrade.core import Estimate, RegradeError, Table
    from regrade.studies import Comparison, GateResult, Grade
    from regrade.train import capture
    from regrade.workspace import Grader, Workspace, compare, gate, grade, init, open, report

    __version__: str

_HOME = {
    "Comparison": "regrade.studies",
    "Estimate": "regrade.core",
    "GateResult": "regrade.studies",
    "Grade": "regrade.studies",
    "Grader": "regrade.workspace",
    "RegradeError": "regrade.core",
    "Table": "regrade.core",
    "Workspace": "regrade.workspace",
    "capture": "regrade.train",
    "compare": "regrade.workspace",
    "gate": "regrade.workspace",
    "grade": "regrade.workspace",
    "init": "regrade.workspace",
    "open": "regrade.workspace",
    "report": "regrade.workspace",
}

__all__ = [
    "Comparison",
    "Estimate",
    "GateResult",
    "Grade",
    "Grader",
    "RegradeError",
    "Table",
    "Workspace",
    "__version__",
    "capture",
    "compare",
    "gate",
    "grade",
    "init",
    "open",
    "report",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: the start of the command line stays quick."""
    if name == "__version__":
        from importlib.metadata import version

        return version("regrade")
    if name not in _HOME:
        raise AttributeError(f"module 'regrade' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
