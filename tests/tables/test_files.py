"""Reading tables from files without guessing types."""

import pytest

from regrade.core import FormatError, InputError
from regrade.tables import read_json, read_table


def test_read_table_keeps_leading_zeros(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("image,label,size\n007,3,1e5\n012,4,2\n")
    columns = read_table(path).to_pydict()
    assert columns == {"image": ["007", "012"], "label": [3, 4], "size": ["1e5", "2"]}


def test_read_table_reads_tsv_and_json_lines_alike(tmp_path):
    (tmp_path / "a.tsv").write_text("image\tlabel\nx\tcat\n")
    (tmp_path / "a.jsonl").write_text('{"image": "x", "label": "cat"}\n\n')
    assert read_table(tmp_path / "a.tsv").to_pydict() == read_table(tmp_path / "a.jsonl").to_pydict()


def test_read_table_keeps_keys_of_later_lines(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"image": "x"}\n{"image": "y", "label": "cat"}\n')
    assert read_table(tmp_path / "a.jsonl")["label"].to_pylist() == [None, "cat"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"image,label\n", "no rows"),
        ("a.csv", b"image,image\na,b\n", "'image' occurs twice"),
        ("a.csv", "image\nü\n".encode("latin-1"), "is not UTF-8 text .line 2, byte 6.: save it"),
        ("a.csv", b"image,label\na,b\nc\n", "line 3 has 1 cell, but the first line names 2 columns"),
        ("a.parquet", b"PAR1 and no more", "cannot be read as parquet"),
        ("a.jsonl", b"[1, 2]\n", "line 1: expected an object"),
        ("a.jsonl", b'{"a": 1}\n{"a"', "line 2 is not valid JSON"),
        ("a.xlsx", b"x", "a table must have the extension"),
    ],
)
def test_read_table_explains_invalid_files(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=words):
        read_table(tmp_path / name)


def test_missing_file_and_invalid_json_raise(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "a.json").write_text('{"a": [1, }')
    with pytest.raises(FormatError, match="not valid JSON"):
        read_json(tmp_path / "a.json")


def test_read_table_takes_a_row_that_is_longer_than_a_block(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("image,note\n" + "".join(f"p{row},{'x' * 1_500_000}\n" for row in range(3)))
    assert read_table(path)["image"].to_pylist() == ["p0", "p1", "p2"]
