"""Reading tables from files without guessing types."""

import pyarrow as pa
import pyarrow.parquet as pq
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


GOOD = {"image": ["p0", "p1"], "m": ["cat", "dog"]}


@pytest.fixture
def read(tmp_path):
    def of(content: bytes | str, name: str = "a.csv"):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(tmp_path / name).to_pydict()

    return of


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffimage,m\np0,cat\np1,dog\n",
        "image,m\r\np0,cat\np1,dog\r",
        "image,m\rp0,cat\rp1,dog\r",
        " image , m\np0,cat\np1,dog\n",
        "image,m,\np0,cat,\np1,dog,\n",
        "image,m,,\np0,cat,,\np1,dog,,\n",
        'image,"m"\n"p0",cat\np1,"dog"',
        '\ufeff"image","m"\r\n"p0","cat"\r\n"p1","dog"\r\n',
        "\n\nimage,m\n\np0,cat\n\np1,dog\n\n",
    ],
)
def test_read_table_ignores_empty_columns_and_lines(read, content):
    assert read(content) == GOOD


def test_read_table_keeps_quotes_within_cells(read):
    assert read('image,m\np0,5" disk\np1,"a ""b"", c\nd"\n')["m"] == ['5" disk', 'a "b", c\nd']


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('image,m\np0,"cat\np1,dog\np2,cat\n', 2),
        ('image,m\np0,cat\np1,"dog', 3),
        ('image,m\np0,"cat\np1,"dog"\n', 2),
        ('"image,m\np0,cat\n', 1),
        ('image,m\np0,"cat"x\np1,dog\n', 2),
        ('image,m\np0,"cat""\np1,dog\n', 2),
    ],
)
def test_read_table_refuses_a_quote_that_is_never_closed(read, content, line):
    """Otherwise the rest of the file becomes one cell, and its rows are lost."""
    with pytest.raises(FormatError, match=f"line {line} has a quote that is not closed"):
        read(content)


def test_read_table_finds_an_open_quote_behind_very_many(read):
    with pytest.raises(FormatError, match="line 200002 has a quote that is not closed"):
        read("image,m\n" + 'p,"a""b"\n' * 200_000 + 'p,"' + '""' * 400_000)


@pytest.mark.parametrize(("name", "content"), [("a.csv", "image;m\np0;cat\n"), ("a.tsv", "image,m\np0,cat\n")])
def test_read_table_names_a_wrong_separator(read, name, content):
    with pytest.raises(FormatError, match=r"there is only one column, 'image.m': separate columns with"):
        read(content, name)


@pytest.mark.parametrize("content", ["image,m,image \np0,cat,p0\n", "image,m,\np0,cat,1\n,,\n,,,\n"])
def test_read_table_refuses_a_column_twice_and_ragged_rows(read, content):
    with pytest.raises(FormatError):
        read(content)


def test_columns_of_parquet_are_those_in_the_file(tmp_path):
    """Not those that the name of the folder would give it as a part of a data set."""
    folder = tmp_path / "split=train"
    folder.mkdir()
    pq.write_table(pa.table({"image": ["a", "b"]}), folder / "images.parquet")
    assert read_table(folder / "images.parquet").to_pydict() == {"image": ["a", "b"]}
