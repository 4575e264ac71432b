"""Tables on the terminal: no truncated cells, no text interpreted as markup."""

import io

from rich.console import Console

from regrade.core import Column, Estimate, Table
from regrade.display import print_table

ESTIMATE = Estimate(0.5, 0.25, 0.75, 40, "exact 95%")


def printed(table: Table, **options) -> str:
    file = io.StringIO()
    print_table(table, Console(file=file, **options))
    return file.getvalue()


def test_print_table_shows_title_cells_and_notes():
    text = printed(Table("a title", (Column("m", "model"), Column("x", "top-1")), (("one", ESTIMATE),), ("a note",)))
    assert text.lstrip().startswith("a title")
    assert "50.0 [25.0, 75.0]" in text
    assert text.rstrip().endswith("a note")
    assert "\x1b" not in text


def test_names_that_look_like_markup_are_kept():
    table = Table("[bold]t[/bold]", (Column("m", "model"),), (("[red]name[/red]",), ("[/]",)))
    text = printed(table)
    assert "[bold]t[/bold]" in text and "[red]name[/red]" in text and "[/]" in text


def test_file_output_is_as_wide_as_needed():
    name, note = "m" * 300, "a note " * 200
    table = Table("t", (Column("m", "model"), Column("n", "name"), Column("x", "x")), ((name, name, 1),) * 2, (note,))
    text = printed(table, width=40)
    assert text.count(name) == 4 and note.strip() in text
    assert len(text.splitlines()) == 2 + 2 + 2 + 1 + 1


def test_file_output_is_aligned_without_trailing_spaces():
    table = Table(
        "t", (Column("m", "model"), Column("x", "count"), Column("w", "")), (("狗", 7, ""), ("bird", 12, "w"))
    )
    assert printed(table).splitlines() == [
        "t",
        "",
        "model   count",
        "─────────────────",
        "狗          7",
        "bird       12   w",
        "",
    ]


def test_empty_table_in_a_file_has_headings():
    assert printed(Table("t", (Column("m", "model"),), ())).splitlines() == ["t", "", "model", "─────", ""]


def test_narrow_terminal_wraps_without_losing_text():
    name = "".join(chr(97 + i % 26) for i in range(100))
    table = Table("t", (Column("m", "model"), Column("x", "x")), ((name, 1), ("b", 2)))
    text = printed(table, width=40, force_terminal=True, color_system=None)
    assert "…" not in text
    assert max(len(line) for line in text.splitlines()) <= 40
    parts = [line.split()[0] for line in text.splitlines()[3:] if line.split()]
    assert name in "".join(parts)


def test_one_row_with_many_columns_is_a_list():
    columns = tuple(Column(f"c{i}", f"column {i}") for i in range(9))
    text = printed(Table("t", columns, (tuple(range(9)),)))
    lines = [line.split() for line in text.splitlines() if "column" in line]
    assert lines == [["column", str(i), str(i)] for i in range(9)]


def test_many_rows_with_many_columns_are_a_table():
    columns = tuple(Column(f"c{i}", f"column {i}") for i in range(9))
    text = printed(Table("t", columns, (tuple(range(9)), tuple(range(9)))))
    assert sum("column 0" in line and "column 8" in line for line in text.splitlines()) == 1


def test_values_are_bold_and_intervals_dim():
    table = Table("t", (Column("x", "x"),), ((ESTIMATE,),))
    text = printed(table, force_terminal=True, color_system="standard", width=60)
    assert "\x1b[1m50.0\x1b[0m\x1b[2m [25.0, 75.0]\x1b[0m" in text
