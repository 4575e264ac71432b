"""Lists in text cells are read as Python, JSON, numpy and torch print them."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import FormatError
from regrade.tables.list_cells import parse_list_cells

NAMES = st.lists(st.text(st.characters(codec="ascii", categories=("L", "P", "Zs")), min_size=1), min_size=1, max_size=4)


def parsed(*cells: str) -> list:
    return parse_list_cells(pa.chunked_array([list(cells)]), "scores").to_pylist()


@pytest.mark.parametrize(
    "cell", ["[1, 2, 3]", "[1 2 3]", " [1. 2. 3.]\n", "tensor([1, 2, 3])", "array([1, 2,\n 3], dtype=int64)"]
)
def test_list_cells_reads_numbers(cell):
    assert parsed(cell) == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("cell", ["tensor(7)", "tensor(7, device='cuda:0')"])
def test_list_cells_unwraps_a_printed_number(cell):
    assert parsed(cell, cell) == ["7", "7"]


def test_list_cells_reads_names_as_numpy_prints_them():
    names = np.array(["tench, Tinca tinca", "yellow lady's slipper", "b"], dtype=object)
    assert parsed(str(names)) == [names.tolist()]


@given(NAMES)
def test_list_cells_reads_what_python_and_json_write(names):
    assert parsed(repr(names)) == [names]
    assert parsed(json.dumps(names)) == [names]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=30))
def test_list_cells_reads_what_numpy_prints(numbers):
    """Eight decimals, or eight digits with an exponent."""
    values = np.array(numbers, dtype=np.float32)
    assert np.allclose(parsed(str(values))[0], values, rtol=1e-6, atol=1e-8 + 1e-6 * np.abs(values).max(initial=0))


def test_list_cells_keeps_plain_text():
    assert parsed("cat", "[dog") == ["cat", "[dog"]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["[0.1 0.2 ... 0.3]"], "column 'scores', row 1: the list was shortened with ..."),
        (["[1, 2]", "3"], "row 2: expected a list in square brackets"),
        (["['a', 'b]"], "row 1: the list \"'a', 'b\" cannot be read"),
    ],
)
def test_list_cells_rejects_lists_that_are_not_whole(cells, words):
    with pytest.raises(FormatError) as error:
        parsed(*cells)
    assert words in str(error.value)
