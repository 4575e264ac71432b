"""Columns of numbers and text are converted without one Python object per row."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import FormatError, PackedTexts
from regrade.tables import number_array, packed_column, shared_column, text_array

TYPES = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_())
NUMBERS = st.lists(st.lists(st.integers(0, 100), max_size=5), max_size=4)
TEXTS = st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=5), max_size=4)


@pytest.mark.parametrize("kind", TYPES, ids=str)
@settings(deadline=None)  # the first one waits for pandas
@given(chunks=NUMBERS, skipped=st.integers(0, 3))
def test_number_array_equals_to_numpy(kind, chunks, skipped):
    column = pa.chunked_array([pa.array(chunk, pa.int64()).slice(skipped).cast(kind) for chunk in chunks], kind)
    array = number_array(column)
    assert array.dtype == column.to_numpy().dtype
    np.testing.assert_array_equal(array, column.to_numpy())
    np.testing.assert_array_equal(number_array(column.combine_chunks()), array)


def test_number_array_rejects_empty_cells():
    with pytest.raises(FormatError, match="1 of 2 cells are empty"):
        number_array(pa.array([1, None], pa.int32()))


@pytest.mark.parametrize("kind", [pa.int32(), pa.bool_()], ids=str)
def test_number_array_outlives_its_column(kind):
    array = number_array(pa.chunked_array([pa.array([1, 0] * 1000, pa.int32()).cast(kind)]))
    for _ in range(10):
        pa.array([7] * 2000, pa.int32())
    assert array.sum() == 1000


@given(TEXTS, st.integers(0, 3))
def test_packed_column_accepts_any_chunks(chunks, skipped):
    column = pa.chunked_array([pa.array(chunk, pa.string()).slice(skipped) for chunk in chunks], pa.string())
    assert packed_column(column) == tuple(column.to_pylist())


@given(TEXTS)
def test_shared_column_shares_equal_strings(chunks):
    column = pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks], pa.string())
    values = shared_column(column)
    assert values == tuple(column.to_pylist())
    assert len({id(value) for value in values}) == len(set(values))


@pytest.mark.parametrize("texts", [(), ("a",), ("", "ä", "", "bc")])
@pytest.mark.parametrize("form", [tuple, list, PackedTexts.of])
def test_text_array_accepts_any_sequence(texts, form):
    array = text_array(form(texts))
    array.validate(full=True)
    assert (array.type, array.to_pylist()) == (pa.string(), list(texts))


def test_text_array_writes_the_same_file_for_any_sequence(tmp_path):
    texts = [f"{number:05d}.jpg" for number in range(5000)]
    for name, form in (
        ("plain", tuple(texts)),
        ("packed", PackedTexts.of(texts)),
        ("part", PackedTexts.of(["x", *texts])[1:]),
    ):
        pq.write_table(pa.table({"example": text_array(form)}), tmp_path / name)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "packed").read_bytes() == (tmp_path / "part").read_bytes()
    assert packed_column(pq.read_table(tmp_path / "plain")["example"]) == tuple(texts)
