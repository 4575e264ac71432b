"""CSV files: harmless irregularities are accepted, and those that would lose rows are rejected."""

import pytest

from regrade.core import FormatError
from regrade.tables import read_table

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
