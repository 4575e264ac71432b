"""Groups of images by a column of the test set; numeric columns are split at quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import InputError, TestSet, UnknownName
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray, IntArray

NO_GROUP = -1
"""The group number of an image without a group."""

_PARTS = 4
_DISTINCT = 12  # up to this many distinct numbers, each is a group
_MISSING = frozenset({"", "nan", "none", "n/a"})


@dataclass(frozen=True, eq=False)
class Grouping:
    """``members`` (n,) are indices into ``names``, or `NO_GROUP`; ``edges`` are the quantiles used to split numbers."""

    column: str
    names: tuple[str, ...]
    members: IntArray
    edges: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()


def grouping(test_set: TestSet, column: str, *, parts: int | None = None) -> Grouping:
    """Return the groups of a column, sorted by name; an unknown column raises with suggestions.

    A column of more than twelve distinct numbers, such as incomes, is split at quantiles into ``parts`` groups
    (default: 4); other columns only if ``parts`` is given. Images without a value are excluded.
    """
    values = column_values(test_set, column)
    missing = {value for value in set(values) if value.strip().casefold() in _MISSING}
    has_value = np.array([value not in missing for value in values], dtype=bool)
    if not has_value.any():
        raise InputError(f"column {column} of {test_set.name} has no values")
    left_out = int((~has_value).sum())
    notes = (f"{amount(left_out, 'image')} without {column}: left out",) if left_out else ()
    numbers = _numbers([value for value, has in zip(values, has_value, strict=True) if has])
    if parts is not None and numbers is None:
        raise InputError(f"column {column} of {test_set.name} is not numeric: it cannot be split into parts")
    if numbers is not None and (parts is not None or len(np.unique(numbers)) > _DISTINCT):
        return _split(column, numbers, has_value, parts or _PARTS, notes)
    names = sorted({value for value, has in zip(values, has_value, strict=True) if has})
    place = {name: i for i, name in enumerate(names)}
    members = np.array([place[value] if has else NO_GROUP for value, has in zip(values, has_value, strict=True)])
    return Grouping(column, tuple(names), members, (), notes)


def column_values(test_set: TestSet, column: str) -> tuple[str, ...]:
    """Return the values of a group column, one per example."""
    if column not in test_set.group_columns:
        raise UnknownName(f"group column of {test_set.name}", column, test_set.group_columns)
    return test_set.group_columns[column]


def _numbers(values: list[str]) -> FloatArray | None:
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _split(column: str, numbers: FloatArray, has_value: np.ndarray, parts: int, notes: tuple[str, ...]) -> Grouping:
    if parts < 2:
        raise InputError(f"parts must be at least 2, got {parts}")
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, parts + 1)))
    if len(edges) < 2:
        raise InputError(f"column {column} has a single distinct number: it cannot be split into parts")
    bins = np.searchsorted(edges[1:-1], numbers, side="left")
    used = np.unique(bins)
    shown = _shown(edges)
    names = tuple(f"{'' if i == 0 else 'over '}{shown[i]} to {shown[i + 1]}" for i in used)
    members = np.full(len(has_value), NO_GROUP)
    members[has_value] = np.searchsorted(used, bins)
    note = f"{column} cut at quantiles of the images: {'; '.join(f'{edge:,.10g}' for edge in edges)}"
    return Grouping(column, names, members, tuple(float(edge) for edge in edges), (*notes, note))


def _shown(edges: FloatArray) -> list[str]:
    """Edges as text: with four digits, or more if two would look the same."""
    short = [f"{float(f'{edge:.4g}'):,.10g}" for edge in edges]
    return short if len(set(short)) == len(short) else [f"{edge:,.10g}" for edge in edges]
