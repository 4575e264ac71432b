"""Columns of class ids and class indices."""

import pyarrow as pa
import pytest

from regrade.classes import class_space
from regrade.core import ClassSpace, FormatError, InputError
from regrade.tables import Reading, class_indices

CIFAR = class_space("cifar-10")
SHIFTED = ClassSpace("shifted", ("1", "2", "3"))


def indices(values, space=CIFAR, reading=Reading.AUTO):
    return class_indices(pa.chunked_array([pa.array(values)]), space, name="pred", reading=reading).tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["cat", "dog"], [[3], [5]]),
        ([3, 5], [[3], [5]]),
        (["3", "5"], [[3], [5]]),
        ([3.0, 5.0], [[3], [5]]),
        (["3 5", "5 3"], [[3, 5], [5, 3]]),
        (["cat;dog", "dog;cat"], [[3, 5], [5, 3]]),
        ([[3, 5], [5, 3]], [[3, 5], [5, 3]]),
        ([["cat", "dog"]], [[3, 5]]),
    ],
)
def test_class_indices_reads_ids_indices_and_lists(values, expected):
    assert indices(values) == expected


def test_class_indices_rejects_ambiguous_numbers():
    with pytest.raises(InputError, match="--class-numbers"):
        indices([1, 2], SHIFTED)
    assert indices([1, 2], SHIFTED, Reading.IDS) == [[0], [1]]
    assert indices([1, 2], SHIFTED, Reading.INDICES) == [[1], [2]]
    assert indices(["1", "2"], SHIFTED) == [[0], [1]]


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (["cat", "dgo"], InputError, "row 1.*dgo.*did you mean dog"),
        ([3, 10], InputError, "row 1: class index 10 is outside cifar-10 .0 to 9."),
        ([-1], InputError, "class index -1"),
        ([1.5], FormatError, "row 0: 1.5 is not a class id or class index"),
        ([1.0, float("nan")], FormatError, "row 1: nan is not a class id"),
        ([0.0, 1e20], InputError, "row 1: class 100000000000000000000 is outside"),
        (["cat", None], FormatError, "row 1: the cell is empty"),
        ([[1, 2], [3]], FormatError, "same number of classes"),
        ([True, False], FormatError, "bool"),
    ],
)
def test_class_indices_names_invalid_classes(values, kind, words):
    with pytest.raises(kind, match=words):
        indices(values)
