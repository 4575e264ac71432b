"""Which class a written name means: an id, an index or a display name; which of them is stated or proven."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regrade.core import ClassSpace, InputError, MismatchError
from regrade.testsets.reader import Layout

_READINGS = (Layout.ID, Layout.INDEX, Layout.NAME)


def classes_by_name(
    names: Mapping[str, str], space: ClassSpace, layout: Layout, *, what: str, where: Path
) -> dict[str, int]:
    """The class index of each name; ``names`` maps what an error would show to the name itself.

    Proven is a reading that fits all names while every other one that does says the same; nothing is ever guessed
    from the order of names. Errors say ``what`` a name is (folder, label) and ``where`` it stands.
    """
    readings = {kind: _reading(kind, space) for kind in _READINGS if layout in (kind, Layout.PROVEN)}
    fitting = {kind: r for kind, r in readings.items() if all(name in r for name in names.values())}
    if not fitting:
        raise _misfit(names, readings, space, what, where)
    found = {kind: {shown: reading[name] for shown, name in names.items()} for kind, reading in fitting.items()}
    first, *others = found.values()
    if any(other != first for other in others):
        kinds = ", ".join(kind.value for kind in found)
        raise InputError(f"the {what}s of {where} could be any of {kinds} of {space.name}: say which with --layout")
    return first


def _reading(kind: Layout, space: ClassSpace) -> Mapping[str, int]:
    """What a name would mean under a layout."""
    if kind is Layout.ID:
        return space.index_of
    if kind is Layout.INDEX:
        return {str(index): index for index in range(len(space))}
    return {name: index for index, name in enumerate(space.names)}


def _misfit(
    names: Mapping[str, str], readings: Mapping[Layout, Mapping[str, int]], space: ClassSpace, what: str, where: Path
) -> InputError:
    """The error that shows the name which spoils the reading that fits most."""
    best = max(readings.values(), key=lambda reading: sum(name in reading for name in names.values()))
    stranger = next(shown for shown, name in names.items() if name not in best)
    kinds = " or ".join(kind.value for kind in readings)
    lead = f"{what} {stranger!r} of {where}" if stranger else f"a image in {where} itself has no {what} and so"
    return MismatchError(f"{lead} is no class {kinds} of {space.name}; images without labels: --layout flat")
