"""Columns of numbers and text are converted without one Python object per row."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.classes import class_space
from regrade.core import ClassSpace, FormatError, InputError, PackedTexts, UnknownName
from regrade.tables import (
    Reading,
    class_indices,
    ignored_columns,
    number_array,
    number_column,
    packed_column,
    shared_column,
    skipped_files,
    text_array,
)

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
        (["cat", "dgo"], InputError, "row 2.*dgo.*did you mean dog"),
        ([3, 10], InputError, r"row 2: class index 10 is outside cifar-10 \(0 to 9\); .*: subtract 1 if"),
        ([3, 11], InputError, r"row 2: class index 11 is outside cifar-10 \(0 to 9\)$"),
        ([-1], InputError, "class index -1"),
        ([1.5], FormatError, "row 1: 1.5 is not a class id or class index"),
        ([1.0, float("nan")], FormatError, "row 2: nan is not a class id"),
        ([0.0, 1e20], InputError, "row 2: class 100000000000000000000 is outside"),
        (["cat", None], FormatError, "row 2: the cell is empty"),
        ([[1, 2], [3]], FormatError, "same number of classes"),
        ([True, False], FormatError, "bool"),
    ],
)
def test_class_indices_names_invalid_classes(values, kind, words):
    with pytest.raises(kind, match=words):
        indices(values)


def table(*names: str) -> pa.Table:
    return pa.table({name: ["x"] for name in names})


def test_ignored_columns_are_named():
    assert ignored_columns(table("image", "split", "width"), {"image"}) == ("ignored the columns split, width",)
    assert ignored_columns(table("image", "split"), {"image"}) == ("ignored the column split",)
    assert ignored_columns(table("image"), {"image"}) == ()


def test_ignored_columns_are_counted_where_they_are_many():
    names = [f"c{number}" for number in range(20)]
    (note,) = ignored_columns(table(*names), ())
    assert note.endswith("c11, ... (20 in all)") and "c12" not in note


def test_ignored_columns_leaves_out_one_without_a_name():
    assert ignored_columns(table("image", ""), {"image"}) == ()


@pytest.mark.parametrize("name", ["stat", "states", "State ", "state_name", "statte"])
def test_ignored_columns_refuses_a_near_miss_of_a_missing_one(name):
    with pytest.raises(UnknownName, match="did you mean state"):
        ignored_columns(table("image", name), {"image"}, optional=("state", "reason"))


def test_ignored_columns_allows_a_near_miss_of_a_used_column():
    content = table("image", "State", "state_name")
    assert ignored_columns(content, {"image", "State"}, optional=("state",)) == ("ignored the column state_name",)


def test_skipped_files_are_counted_by_suffix():
    kinds = [".avif"] * 10 + [""] * 2
    expected = "passed over 12 files that are not images: 10 .avif, 2 without a suffix"
    assert skipped_files(kinds, expected="images") == (expected,)
    assert skipped_files([".\udcff"], expected="images") == (r"passed over 1 file that is not images: 1 .\udcff",)
    assert skipped_files([], expected="images") == ()


@pytest.mark.parametrize("kind", TYPES[:-1], ids=str)
@settings(deadline=None)
@given(numbers=st.lists(st.integers(0, 100), max_size=6), step=st.integers(1, 3))
def test_numbers_become_the_column_that_pyarrow_makes(kind, numbers, step):
    values = np.array(numbers, dtype=kind.to_pandas_dtype())[::step]
    column = number_column(values)
    assert column.equals(pa.array(values)) and column.type == kind
    column.validate(full=True)
    assert number_array(column).tolist() == values.tolist()
