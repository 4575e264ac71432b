from dataclasses import dataclass

import pytest

from regrade.core import Column, Estimate, InputError, MappedRows, Table, Tabular, UndefinedError, UnknownName

MODEL = Column("model", "model")
TOP1 = Column("top1", "top-1")
P_VALUE = Column("p", "p", percent=False, digits=3)
ESTIMATE = Estimate(0.75, 0.7, 0.8, 100, "wilson 95%")


@pytest.mark.parametrize(
    ("cell", "column", "text"),
    [
        (None, TOP1, "–"),
        (True, TOP1, "yes"),
        (False, TOP1, "no"),
        (12345, TOP1, "12,345"),
        (0.5, TOP1, "50.0"),
        (0.5, Column("x", "x", digits=0), "50"),
        (0.04, P_VALUE, "0.040"),
        (1e-9, P_VALUE, "1e-09"),
        (0.0, P_VALUE, "0.000"),
        (-1e-9, P_VALUE, "-1e-09"),
        (ESTIMATE, TOP1, "75.0 [70.0, 80.0]"),
        (ESTIMATE, P_VALUE, "0.750 [0.700, 0.800]"),
        ("resnet50", MODEL, "resnet50"),
    ],
)
def test_texts_of_cells(cell, column, text):
    assert Table("t", (column,), ((cell,),)).texts() == [[text]]


def test_records_expand_estimates():
    table = Table("accuracy", (MODEL, TOP1), (("a", ESTIMATE), ("b", None)))
    assert table.records() == [
        {"model": "a", "top1": 0.75, "top1_low": 0.7, "top1_high": 0.8, "top1_n": 100, "top1_method": "wilson 95%"},
        {"model": "b", "top1": None, "top1_low": None, "top1_high": None, "top1_n": None, "top1_method": None},
    ]


def test_arrow_and_pandas_contain_the_records():
    table = Table("accuracy", (MODEL, TOP1), (("a", ESTIMATE), ("b", None)))
    assert table.to_arrow().to_pylist() == table.records()
    assert table.to_pandas()["top1_n"].tolist()[0] == 100


def test_a_table_without_rows_keeps_its_columns():
    assert Table("empty", (MODEL, TOP1), ()).to_arrow().column_names == ["model", "top1"]


def test_a_single_row_with_many_columns_prints_as_a_list():
    columns = tuple(Column(f"c{j}", "heading" if j else "h", percent=False) for j in range(8))
    row = Table("t", columns, (tuple(range(8)),), ("note",))
    assert str(row).splitlines() == ["t", "h        0", *(f"heading  {j}" for j in range(1, 8)), "note"]
    assert str(Table("t", columns[:7], (tuple(range(7)),))).splitlines()[1].count("heading") == 6


def test_table_rejects_rows_of_another_width():
    with pytest.raises(InputError, match="every row of table 'bad' must have 2 cells"):
        Table("bad", (MODEL, TOP1), (("a", 1), ("b",)))


def test_html_is_escaped():
    page = Table("<t>", (Column("k", "a&b"),), (("<script>",),), ("1 < 2",))._repr_html_()
    assert "<caption>&lt;t&gt;</caption>" in page
    assert ">a&amp;b</th>" in page
    assert ">&lt;script&gt;</td>" in page
    assert "<p>1 &lt; 2</p>" in page


def test_tabular_prints_its_table():
    class Result(Tabular):
        def table(self):
            return Table("result", (MODEL,), (("a",),))

    assert Result().to_arrow().to_pylist() == [{"model": "a"}]
    assert Result().to_pandas()["model"].tolist() == ["a"]
    assert Result()._repr_html_() == Result().table()._repr_html_()


def test_mapped_rows_behave_like_rows():
    computed = []

    def row(number: int):
        computed.append(number)
        return (f"m{number}", ESTIMATE)

    table = Table("accuracy", (MODEL, TOP1), MappedRows(range(1000), row))
    assert len(table.rows) == 1000 and len(computed) <= 1
    assert table.rows[7] == ("m7", ESTIMATE) and table.rows[2:4] == (("m2", ESTIMATE), ("m3", ESTIMATE))
    assert next(table.iter_records())["top1_n"] == 100 and len(computed) < 10
    assert table.records() == Table("accuracy", (MODEL, TOP1), tuple(table.rows)).records()


def test_mapped_rows_must_fit_the_columns():
    with pytest.raises(InputError, match="must have 1 cells"):
        Table("t", (MODEL,), MappedRows(range(3), lambda number: (number, number)))


@dataclass(frozen=True)
class Scored:
    model: str
    part: str
    value: float


@dataclass(frozen=True, repr=False)
class Recorded(Tabular, records="rows"):
    rows: tuple[Scored, ...]

    def table(self):
        return Table("t", (Column("model", "model"),), tuple((row.model,) for row in self.rows))


class TestRecordsOfAResult:
    result = Recorded((Scored("a", "all", 0.5), Scored("a", "dogs", 0.2), Scored("b", "all", 0.4)))

    def test_records_are_counted_and_iterated(self):
        assert len(self.result) == 3
        assert [row.value for row in self.result] == [0.5, 0.2, 0.4]

    def test_records_are_found_by_position_name_and_names(self):
        assert self.result[-1].value == self.result["b"].value == 0.4
        assert self.result["a"].part == "all" and self.result["a", "dogs"].value == 0.2
        assert [row.model for row in self.result[1:]] == ["a", "b"]
        assert "b" in self.result and ("a", "dogs") in self.result
        assert "dogs" not in self.result and ("b", "dogs") not in self.result and 1 not in self.result

    def test_unknown_name_raises_with_suggestions(self):
        with pytest.raises(UnknownName, match="unknown row 'c'; there are a, b"):
            self.result["c"]
        with pytest.raises(UnknownName, match="unknown row 'a, cats'"):
            self.result["a", "cats"]

    def test_rows_of_the_table_are_the_records_by_default(self):
        class Result(Tabular):
            def table(self):
                return Table("result", (MODEL, TOP1), (("a", ESTIMATE), ("b", None)))

        assert list(Result()) == [{"model": "a", "top1": ESTIMATE}, {"model": "b", "top1": None}]
        assert len(Result()) == 2 and Result()["b"]["top1"] is None

    def test_result_without_records_is_true(self):
        assert Recorded(()) and not len(Recorded(()))

    def test_figure_is_that_of_the_class(self):
        with pytest.raises(UndefinedError, match=r"a Recorded has no figure: use table\(\)"):
            self.result.figure()

        class Drawn(Recorded):
            pass

        Drawn.draw_with(lambda result: len(result.rows))
        assert Drawn(self.result.rows).figure() == 3


def test_long_tables_are_shortened_in_notebooks():
    long = Table("long", (Column("k", "number"),), MappedRows(range(1000), lambda i: (i,)))
    assert '<td style="text-align:right">199</td>' in long._repr_html_() and ">200<" not in long._repr_html_()
    assert "the first 200 of 1,000 rows; to_pandas() has all" in long._repr_html_()
    assert "999" not in repr(long) and "999" in str(long)
