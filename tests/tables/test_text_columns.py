import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import PackedTexts
from regrade.tables import packed_column, shared_column, text_array

CHUNKS = st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=5), max_size=4)


@given(CHUNKS, st.integers(0, 3))
def test_packed_column_accepts_any_chunks(chunks, skipped):
    column = pa.chunked_array([pa.array(chunk, pa.string()).slice(skipped) for chunk in chunks], pa.string())
    assert packed_column(column) == tuple(column.to_pylist())


@given(CHUNKS)
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
