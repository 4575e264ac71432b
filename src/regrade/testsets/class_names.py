"""Map folder names and labels to classes: as class ids, class indices or display names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regrade.core import ClassSpace, InputError, MismatchError
from regrade.testsets.reader import Layout

_READINGS = (Layout.ID, Layout.INDEX, Layout.NAME)


def classes_by_name(
    names: Mapping[str, str], space: ClassSpace, layout: Layout, *, what: str, where: Path
) -> dict[str, int]:
    """The class index of each name; ``names`` maps the text shown in errors to the name.

    With `Layout.PROVEN`, a reading is accepted if it fits all names and every other fitting reading gives the same
    classes. Classes are never guessed from the order of names. ``what`` (folder, label) and ``where`` (the path) appear
    in errors.
    """
    readings = {kind: _class_by_name(kind, space) for kind in _READINGS if layout in (kind, Layout.PROVEN)}
    fitting = {kind: reading for kind, reading in readings.items() if all(name in reading for name in names.values())}
    if not fitting:
        raise _misfit(names, readings, space, what, where)
    classes = {kind: {shown: reading[name] for shown, name in names.items()} for kind, reading in fitting.items()}
    first, *alternatives = classes.values()
    if any(alternative != first for alternative in alternatives):
        kinds = " or ".join(kind.value for kind in classes)
        raise InputError(f"the {what}s of {where} could be read as {kinds} of {space.name}: choose one with --layout")
    return first


def _class_by_name(kind: Layout, space: ClassSpace) -> Mapping[str, int]:
    """The class index by name under a layout."""
    if kind is Layout.ID:
        return space.index_of
    if kind is Layout.INDEX:
        return {str(index): index for index in range(len(space))}
    return {name: index for index, name in enumerate(space.names)}


def _misfit(
    names: Mapping[str, str], readings: Mapping[Layout, Mapping[str, int]], space: ClassSpace, what: str, where: Path
) -> InputError:
    """The error for a name that does not fit the best reading."""
    best = max(readings.values(), key=lambda reading: sum(name in reading for name in names.values()))
    unknown = next(shown for shown, name in names.items() if name not in best)
    kinds = " or ".join(kind.value for kind in readings)
    lead = f"{what} {unknown!r} of {where}" if unknown else f"an image in {where} itself has no {what} and so"
    return MismatchError(f"{lead} is not a class {kinds} of {space.name}; for images without labels use --layout flat")
