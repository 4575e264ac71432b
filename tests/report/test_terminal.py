"""Tables on the terminal: nothing cut off, nothing taken for markup."""

import io

from rich.console import Console

from regrade.core import Column, Estimate, Table
from regrade.report import print_table

ESTIMATE = Estimate(0.5, 0.25, 0.75, 40, "exact 95%")


def printed(table: Table, **options) -> str:
    file = io.StringIO()
    print_table(table, Console(file=file, **options))
    return file.getvalue()


def test_the_title_the_cells_and_the_notes():
    text = printed(Table("a title", (Column("m", "model"), Column("x", "top-1")), (("one", ESTIMATE),), ("a note",)))
    assert text.lstrip().startswith("a title")
    assert "50.0 [25.0, 75.0]" in text
    assert text.rstrip().endswith("a note")
    assert "\x1b" not in text


def test_names_that_look_like_markup_stay_as_they_are():
    table = Table("[bold]t[/bold]", (Column("m", "model"),), (("[red]name[/red]",), ("[/]",)))
    text = printed(table)
    assert "[bold]t[/bold]" in text and "[red]name[/red]" in text and "[/]" in text


def test_a_file_is_never_too_narrow():
    name, note = "m" * 300, "a note " * 200
    table = Table("t", (Column("m", "model"), Column("n", "name"), Column("x", "x")), ((name, name, 1),) * 2, (note,))
    text = printed(table, width=40)
    assert text.count(name) == 4 and note.strip() in text
    assert len(text.splitlines()) == 2 + 2 + 2 + 1 + 1


def test_a_file_has_aligned_columns_and_no_spaces_at_the_end():
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


def test_an_empty_table_in_a_file_has_its_headings():
    assert printed(Table("t", (Column("m", "model"),), ())).splitlines() == ["t", "", "model", "─────", ""]


def test_a_narrow_terminal_folds_but_keeps_every_letter():
    name = "".join(chr(97 + i % 26) for i in range(100))
    table = Table("t", (Column("m", "model"), Column("x", "x")), ((name, 1), ("b", 2)))
    text = printed(table, width=40, force_terminal=True, color_system=None)
    assert "…" not in text
    assert max(len(line) for line in text.splitlines()) <= 40
    parts = [line.split()[0] for line in text.splitlines()[3:] if line.split()]
    assert name in "".join(parts)


def test_one_row_of_many_columns_is_a_list():
    columns = tuple(Column(f"c{i}", f"column {i}") for i in range(9))
    text = printed(Table("t", columns, (tuple(range(9)),)))
    lines = [line.split() for line in text.splitlines() if "column" in line]
    assert lines == [["column", str(i), str(i)] for i in range(9)]


def test_many_rows_of_many_columns_are_a_table():
    columns = tuple(Column(f"c{i}", f"column {i}") for i in range(9))
    text = printed(Table("t", columns, (tuple(range(9)), tuple(range(9)))))
    assert sum("column 0" in line and "column 8" in line for line in text.splitlines()) == 1


def test_values_stand_out_from_their_intervals():
    table = Table("t", (Column("x", "x"),), ((ESTIMATE,),))
    text = printed(table, force_terminal=True, color_system="standard", width=60)
    assert "\x1b[1m50.0\x1b[0m\x1b[2m [25.0, 75.0]\x1b[0m" in text
