"""Studies that installed packages offer through an entry point."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from regrade.core import InputError

if TYPE_CHECKING:
    from regrade.studies.study import Study

GROUP = "regrade.studies"
"""The entry-point group in which packages offer a `Study`."""


@cache
def offered_studies(own: frozenset[str]) -> tuple[Study[..., Any, Any], ...]:
    """The studies of other packages, whose names must not be among the ``own`` ones of regrade."""
    return tuple(_loaded(entry, own) for entry in entry_points(group=GROUP))


def _loaded(entry: EntryPoint, own: frozenset[str]) -> Study[..., Any, Any]:
    from regrade.studies.study import Study  # imports numpy, which a list of commands does not need

    try:
        study = entry.load()
    except Exception as error:  # whatever the import of another package raises
        raise InputError(f"the study {entry.name!r} ({entry.value}) cannot be loaded: {error}") from error
    if not isinstance(study, Study):
        raise InputError(f"the study {entry.name!r} ({entry.value}) must be a Study")
    if study.name in own:
        raise InputError(f"the study {entry.name!r} ({entry.value}) has the name of a study of regrade: {study.name}")
    return study
