"""Shell completion of names in a workspace: test sets, models and label sets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from regrade.store import Store

Completer = Callable[[typer.Context, str], list[str]]


def _completer(names: Callable[[Store], Iterable[str]]) -> Completer:
    """A function that lists the names with a prefix; nothing if the workspace cannot be read."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        from regrade.core import RegradeError
        from regrade.store import Store

        folder = ctx.params.get("workspace") or os.environ.get("REGRADE_WORKSPACE") or "."
        try:
            stored = set(names(Store.open(Path(folder))))
        except (RegradeError, OSError):
            return []
        return [_typed(name) for name in sorted(stored) if name.startswith(incomplete)]

    return complete


def _typed(name: str) -> str:
    """A name as it is typed: bash inserts completions as they are, other shells escape them."""
    is_bash = os.environ.get("_REGRADE_COMPLETE") == "complete_bash"
    return re.sub(r"([^\w@%+=:,./-])", r"\\\1", name) if is_bash else name


def _models(store: Store) -> Iterable[str]:
    return (model for test_set in store.test_sets.names() for model in store.predictions.model_names(test_set))


def _labels(store: Store) -> Iterable[str]:
    return (name for test_set in store.test_sets.names() for name in store.labels.names(test_set))


complete_test_sets = _completer(lambda store: store.test_sets.names())
complete_models = _completer(_models)
complete_labels = _completer(_labels)

_COMPLETERS: dict[str, Completer] = {
    **dict.fromkeys(("--test-set", "--original", "--new", "--clean", "--unlabeled", "--on"), complete_test_sets),
    **dict.fromkeys(("--model", "--baseline", "--remedy", "--member", "models"), complete_models),
    **dict.fromkeys(("--labels", "--relabeled"), complete_labels),
}


def completer_of(*names: str) -> Completer | None:
    """The completer of an option or argument with these names; None if its values are no names of a workspace."""
    return next((_COMPLETERS[name] for name in names if name in _COMPLETERS), None)
