"""Selection frequencies of the images of a test set, read from a group column: numbers, or the names of bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import InputError, TestSet, UndefinedError, UnknownName
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.frequency_bins import EDGES, bin_names, frequency_bins
from regrade.core.test_set import SELECTION_FREQUENCY

NO_BIN = -1
"""The bin of an image without a frequency."""

_MISSING = frozenset({"", "nan", "none", "n/a"})
_LEAST_ANSWERS = 2  # that can be divided into halves
_WHOLE = 0.01  # how far frequency times answers may be from a whole number


@dataclass(frozen=True, eq=False)
class ImageFrequencies:
    """The frequency bin of each image (n,), `NO_BIN` without one; frequencies (n,) are None if only bins are stored.

    ``answers`` (n,) are the numbers of people who were asked, None if unknown.
    """

    names: tuple[str, ...]
    bins: IntArray
    frequencies: FloatArray | None = None
    answers: IntArray | None = None


def image_frequencies(
    test_set: TestSet, column: str | None, *, edges: Sequence[float] | None = None, answers: str | None = None
) -> ImageFrequencies:
    """Read the frequencies of a column (default: `SELECTION_FREQUENCY`, with or without a prefix ``NAME:``).

    A column of a frozen build has the names of its bins, which cannot be divided again by ``edges``. ``answers`` is the
    number of people asked about each image, or the column that has it (default: the column ``answers`` of the same
    file, if any).
    """
    name = _column_named(test_set, column or SELECTION_FREQUENCY)
    values = test_set.group_columns[name]
    present = np.array([value.strip().casefold() not in _MISSING for value in values], dtype=bool)
    if not present.any():
        raise InputError(f"column {name} of {test_set.name} has no values")
    chosen = [value.strip() for value, has in zip(values, present, strict=True) if has]
    stored = bin_names(EDGES)
    if set(chosen) <= set(stored):
        if edges is not None and tuple(edges) != EDGES:
            raise InputError(f"column {name} of {test_set.name} has bins, not frequencies: leave out --edge")
        return ImageFrequencies(tuple(stored), _placed([stored.index(value) for value in chosen], present))
    inner = checked_edges(EDGES if edges is None else edges)
    frequencies = np.full(len(values), np.nan)
    frequencies[present] = _numbers(chosen, name, test_set)
    bins = _placed(frequency_bins(frequencies[present].tolist(), inner), present)
    return ImageFrequencies(
        tuple(bin_names(inner)), bins, frequencies, _answers(test_set, answers, frequencies, name)
    )  # fmt: skip


def checked_edges(edges: Sequence[float]) -> tuple[float, ...]:
    """The inner edges in ascending order; edges outside 0 and 1, and equal ones, raise."""
    inner = tuple(sorted(edges))
    if not inner or not all(0 < edge < 1 for edge in inner):
        raise InputError("edges must lie between 0 and 100 %, such as --edge 50 --edge 90")
    if len(set(inner)) < len(inner):
        raise InputError("--edge names the same edge twice")
    return inner


def _column_named(test_set: TestSet, name: str) -> str:
    """The column of a name, or the only one that ends with it, as those of imported tables do."""
    columns = tuple(test_set.group_columns)
    if name in columns:
        return name
    prefixed = [column for column in columns if column.endswith(f":{name}")]
    if len(prefixed) == 1:
        return prefixed[0]
    hint = "; import frequencies as a column (regrade import slices), or name theirs with --column"
    raise UnknownName(f"column of {test_set.name}", name, columns, hint=hint)


def _placed(bins: Sequence[int], present: np.ndarray) -> IntArray:
    members = np.full(len(present), NO_BIN)
    members[present] = bins
    return members


def _numbers(values: Sequence[str], column: str, test_set: TestSet) -> FloatArray:
    where = f"column {column} of {test_set.name}"
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        raise InputError(f"{where} is not numeric: a selection frequency is a number from 0 to 1") from None
    outside = numbers[~((numbers >= 0) & (numbers <= 1))]
    if len(outside):
        raise InputError(
            f"{where} has {outside[0]:g}: a selection frequency is a number from 0 to 1, the share of people who "
            "select the image (divide counts by the number of people, and percentages by 100)"
        )
    return numbers


def _answers(test_set: TestSet, answers: str | None, frequencies: FloatArray, column: str) -> IntArray | None:
    """Shape (n,): how many people were asked; None if unknown, or if some answers cannot be divided into halves."""
    own = f"{column.removesuffix(column.rpartition(':')[2])}answers"
    if answers is None and own not in test_set.group_columns:
        return None
    if answers is not None and answers.isdecimal():
        counts = np.full(len(frequencies), int(answers))
    else:
        counts = _counts(test_set, _column_named(test_set, answers or own))
    present = ~np.isnan(frequencies)
    selected = frequencies[present] * counts[present]
    if (counts[present] < 1).any() or (np.abs(selected - np.round(selected)) > _WHOLE).any():
        raise UndefinedError(
            f"column {column} of {test_set.name} cannot be shares of so many answers: a frequency times its number of "
            f"answers must be a whole number; correct --answers"
        )
    return counts if (counts[present] >= _LEAST_ANSWERS).all() else None


def _counts(test_set: TestSet, column: str) -> IntArray:
    try:
        return np.array([int(value or 0) for value in test_set.group_columns[column]])
    except ValueError:
        raise InputError(f"column {column} of {test_set.name} must have whole numbers of answers") from None
