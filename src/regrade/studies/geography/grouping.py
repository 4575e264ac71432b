"""The groups that images are in: by a column of the test set, numbers cut into parts of equally many images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import InputError, TestSet, UnknownName
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray, IntArray

NO_GROUP = -1
"""The group of an image that has none."""

_PARTS = 4
_DISTINCT = 12  # numbers up to which each is a group of its own
_MISSING = frozenset({"", "nan", "none", "n/a"})


@dataclass(frozen=True, eq=False)
class Grouping:
    """``members`` (n,) are places among ``names``, or `NO_GROUP`; ``edges`` say where numbers were cut."""

    column: str
    names: tuple[str, ...]
    members: IntArray
    edges: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()


def grouping(test_set: TestSet, column: str, *, parts: int | None = None) -> Grouping:
    """The groups of a column, by name; an unknown column raises and names its neighbors.

    A column of more than twelve different numbers, such as incomes, is cut into four ``parts`` of equally many images;
    other columns only if ``parts`` are asked for. Images without a value are left out.
    """
    values = column_values(test_set, column)
    missing = {value for value in set(values) if value.strip().casefold() in _MISSING}
    known = np.array([value not in missing for value in values], dtype=bool)
    if not known.any():
        raise InputError(f"column {column} of {test_set.name} has no values")
    left_out = int((~known).sum())
    notes = (f"{amount(left_out, 'image')} without {column}: left out",) if left_out else ()
    numbers = _numbers([value for value, has in zip(values, known, strict=True) if has])
    if parts is not None and numbers is None:
        raise InputError(f"column {column} of {test_set.name} holds no numbers: it cannot be cut into parts")
    if numbers is not None and (parts is not None or len(np.unique(numbers)) > _DISTINCT):
        return _cut(column, numbers, known, parts or _PARTS, notes)
    names = sorted({value for value, has in zip(values, known, strict=True) if has})
    place = {name: i for i, name in enumerate(names)}
    members = np.array([place[value] if has else NO_GROUP for value, has in zip(values, known, strict=True)])
    return Grouping(column, tuple(names), members, (), notes)


def column_values(test_set: TestSet, column: str) -> tuple[str, ...]:
    """The values of a group column, one an example."""
    if column not in test_set.group_columns:
        raise UnknownName(f"group column of {test_set.name}", column, test_set.group_columns)
    return test_set.group_columns[column]


def _numbers(values: list[str]) -> FloatArray | None:
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _cut(column: str, numbers: FloatArray, known: np.ndarray, parts: int, notes: tuple[str, ...]) -> Grouping:
    if parts < 2:
        raise InputError(f"a column is cut into at least two parts, got {parts}")
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, parts + 1)))
    if len(edges) < 2:
        raise InputError(f"column {column} holds one number only: it cannot be cut into parts")
    found = np.searchsorted(edges[1:-1], numbers, side="left")
    used = np.unique(found)
    shown = _shown(edges)
    names = tuple(f"{'' if i == 0 else 'over '}{shown[i]} to {shown[i + 1]}" for i in used)
    members = np.full(len(known), NO_GROUP)
    members[known] = np.searchsorted(used, found)
    told = f"{column} cut at quantiles of the images: {'; '.join(f'{edge:,.10g}' for edge in edges)}"
    return Grouping(column, names, members, tuple(float(edge) for edge in edges), (*notes, told))


def _shown(edges: FloatArray) -> list[str]:
    """Edges as names have them: to four digits, to more only where two would look alike."""
    short = [f"{float(f'{edge:.4g}'):,.10g}" for edge in edges]
    return short if len(set(short)) == len(short) else [f"{edge:,.10g}" for edge in edges]
