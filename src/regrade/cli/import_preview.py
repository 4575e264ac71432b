"""The output of `regrade import predictions --dry-run`: what was understood of a file, without storing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regrade.cli.output import report_import
from regrade.core.amounts import amount

if TYPE_CHECKING:
    from regrade.workspace.import_checks import AccuracyCheck
    from regrade.workspace.prediction_imports import PredictionImport

_SHOWN = 3  # columns of one role that are listed


def show_preview(content: PredictionImport, *, as_json: bool) -> None:
    """Print the role of each column, how ids matched, and per model what would be stored and its accuracy."""
    report_import([*_lines(content)], content.notes, _data(content), as_json=as_json)


def _lines(content: PredictionImport) -> Iterator[str]:
    new = " (new)" if content.new_test_set else ""
    yield f"dry run, nothing is written: {Path(content.origin).name} on {content.test_set.name}{new}"
    yield from _role_lines(content.roles)
    without = f", compared without {content.ignoring}" if content.ignoring else ""
    yield f"examples: {content.coverage}, each with one row{without}"
    for name, kept in content.kept.items():
        yield f"model {name}: {kept}; {_accuracy(content.checks[name])}"


def _role_lines(roles: Mapping[str, str]) -> Iterator[str]:
    for role, group in groupby(roles.items(), key=lambda entry: entry[1]):
        names = [name for name, _ in group]
        more = f", ... ({len(names):,} columns)" if len(names) > _SHOWN else ""
        yield f"{', '.join(names[:_SHOWN])}{more}: {role}"


def _accuracy(check: AccuracyCheck | None) -> str:
    if check is None:
        return "accuracy unknown: there are no labels, or other classes"
    chance = f"{100 * check.chance:.1f} % by chance"
    return f"top-1 accuracy {100 * check.accuracy:.1f} % of {amount(check.images, 'labeled image')} ({chance})"


def _data(content: PredictionImport) -> dict[str, Any]:
    return {
        "dry_run": True,
        "test_set": content.test_set.name,
        "new_test_set": content.new_test_set,
        "examples": len(content.test_set),
        **covered_examples(content),
        "columns": dict(content.roles),
        "ids_compared_without": content.ignoring,
        "models": {name: _model(content, name) for name in content.predictions},
    }


def covered_examples(content: PredictionImport) -> dict[str, int]:
    """The number of examples with predictions, if they are not all."""
    return {} if content.covered == len(content.test_set) else {"covered": content.covered}


def _model(content: PredictionImport, name: str) -> dict[str, Any]:
    check = content.checks[name]
    return {
        "kept": content.kept[name],
        "top1": None if check is None else check.accuracy,
        "chance": None if check is None else check.chance,
        "labeled": 0 if check is None else check.images,
        "shift": 0 if check is None else check.shift,
        "top1_shifted": check.shifted_accuracy if check is not None and check.shift else None,
    }
