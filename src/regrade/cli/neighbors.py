"""regrade neighbors: near duplicates in folders of images, or the training images nearest to those of a test set."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from regrade.cli.study import study_command
from regrade.core.errors import InputError
from regrade.studies import NEIGHBORS_COMMAND, TRAINING_NEIGHBORS

_OPTIONAL = ("first", "test_set")  # one of them is required
_NOT_CHOSEN = ("workspace",)  # may be set for all commands, by an environment variable


def _combined(folders: Callable[..., None], training: Callable[..., None]) -> Callable[..., None]:
    """One command for both studies: a test set chooses the second one, whose options the first one does not have."""
    parts = {part: inspect.signature(part).parameters for part in (folders, training)}
    merged = {**parts[folders], **parts[training]}
    merged |= {name: merged[name].replace(default=None) for name in _OPTIONAL}

    def command(**values: Any) -> None:
        chosen, unused = (training, folders) if values["test_set"] is not None else (folders, training)
        if values["test_set"] is None and values["first"] is None:
            raise InputError("name a folder of images, or the test set whose nearest training images to find: -t NAME")
        for name in parts[unused]:
            if name not in (*parts[chosen], *_NOT_CHOSEN) and values[name] != merged[name].default:
                raise InputError(_unused(name, by_training=chosen is training))
        chosen(**{name: values[name] for name in parts[chosen]})

    command.__doc__ = f"{NEIGHBORS_COMMAND.summary}\n\nWith -t: {TRAINING_NEIGHBORS.summary}"
    ordered = sorted(merged.values(), key=lambda parameter: parameter.name not in parts[folders])
    command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
    return command


def _unused(name: str, *, by_training: bool) -> str:
    option = f"--{name.replace('_', '-')}"
    if name in ("first", "second"):
        return "give either folders of images, or a test set with -t: not both"
    if by_training:
        return f"{option} is an option for folders of images: leave it out, or use regrade study leakage"
    return f"{option} needs a test set: -t NAME"


neighbors = _combined(study_command(NEIGHBORS_COMMAND), study_command(TRAINING_NEIGHBORS))
