"""Tables on the terminal: no truncated cells, no text interpreted as markup."""

import io

from hypothesis import given
from hypothesis import strategies as st
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


LONG = ("timm:vit_base_patch16_224.augreg2_in21k_ft_in1k", "timm:vit_base_patch32_224.augreg2_in21k_ft_in1k")


def on_terminal(table: Table, width: int = 80, **options) -> str:
    file = io.StringIO()
    print_table(table, Console(file=file, width=width, force_terminal=True, color_system=None), **options)
    return file.getvalue()


def estimates(count: int, *, detail: tuple[int, ...] = ()) -> Table:
    """Two models and ``count`` columns with intervals."""
    columns = (Column(f"x{j}", f"measure {j}", detail=j in detail) for j in range(count))
    return Table(
        "t", (Column("m", "model"), *columns), tuple((name, *(ESTIMATE,) * count) for name in LONG), ("a note",)
    )


def test_terminal_shows_the_columns_that_fit_and_names_the_others():
    text = on_terminal(estimates(6, detail=(0, 1)))
    assert "4 more columns with --wide: measure 0; measure 1; measure 4; measure 5" in text
    assert "measure 2" in text.splitlines()[2] and "measure 3" in text.splitlines()[2]


def test_detail_columns_fill_the_room_that_is_left():
    table = Table(
        "t", (Column("a", "a", detail=True), Column("b", "b"), Column("c", "c" * 90, detail=True)), ((1, 2, 3),) * 2
    )
    assert on_terminal(table).splitlines()[2] == "a  b"


def test_wide_terminal_shows_all_columns_and_whole_names():
    text = on_terminal(estimates(6, detail=(0, 1)), wide=True)
    assert "--wide" not in text and all(f"measure {j}" in text for j in range(6))
    assert all(name in text for name in LONG)


def test_long_names_are_shortened_in_the_middle_and_stay_different():
    lines = on_terminal(estimates(2)).splitlines()
    names = [line.split()[0] for line in lines if "50.0" in line]
    assert len(set(names)) == 2
    for name, whole in zip(names, LONG, strict=True):
        start, end = name.split("…")
        assert whole.startswith(start) and whole.endswith(end)


@given(
    st.lists(st.lists(st.text("ab_:-", min_size=1, max_size=40), min_size=1, max_size=4).map(" ".join), min_size=1),
    st.integers(0, 9), st.integers(20, 120),
)  # fmt: skip
def test_terminal_lines_fit_and_no_number_is_broken(names, count, width):
    """A line is longer than the terminal only if a single column is."""
    columns = (Column("m", "model"), *(Column(f"x{j}", f"the accuracy on set {j}") for j in range(count)))
    table = Table("t", columns, tuple((name, *(ESTIMATE,) * count) for name in names * 2))
    lines = on_terminal(table, width).splitlines()
    assert max(len(line) for line in lines if "with --wide" not in line) <= max(width, 40 * 4 if not count else 50)
    assert all(line.count("[") == line.count("]") for line in lines)


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
