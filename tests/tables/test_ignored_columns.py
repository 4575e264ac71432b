"""Unused columns are named in a note; names that look misspelled are rejected."""

import pyarrow as pa
import pytest

from regrade.core import UnknownName
from regrade.tables import ignored_columns, skipped_files


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
