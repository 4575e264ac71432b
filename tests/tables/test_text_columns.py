import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import PackedTexts
from regrade.tables import packed_column, shared_column, text_array

CHUNKS = st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=5), max_size=4)


@given(CHUNKS, st.integers(0, 3))
def test_a_column_is_packed_whatever_its_chunks(chunks, skipped):
    column = pa.chunked_array([pa.array(chunk, pa.string()).slice(skipped) for chunk in chunks], pa.string())
    assert packed_column(column) == tuple(column.to_pylist())


@given(CHUNKS)
def test_a_column_of_few_values_shares_them(chunks):
    column = pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks], pa.string())
    values = shared_column(column)
    assert values == tuple(column.to_pylist())
    assert len({id(value) for value in values}) == len(set(values))


@pytest.mark.parametrize("texts", [(), ("a",), ("", "ä", "", "bc")])
@pytest.mark.parametrize("form", [tuple, list, PackedTexts.of])
def test_texts_become_a_column_of_strings_whatever_their_form(texts, form):
    array = text_array(form(texts))
    array.validate(full=True)
    assert (array.type, array.to_pylist()) == (pa.string(), list(texts))


def test_a_file_is_the_same_whatever_the_form_of_its_texts(tmp_path):
    texts = [f"{number:05d}.jpg" for number in range(5000)]
    for name, form in (
        ("plain", tuple(texts)),
        ("packed", PackedTexts.of(texts)),
        ("part", PackedTexts.of(["x", *texts])[1:]),
    ):
        pq.write_table(pa.table({"example": text_array(form)}), tmp_path / name)
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "packed").read_bytes() == (tmp_path / "part").read_bytes()
    assert packed_column(pq.read_table(tmp_path / "plain")["example"]) == tuple(texts)
