import pytest

from regrade.core import Column, Estimate, InputError, MappedRows, Table, Tabular

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
        (1e-9, P_VALUE, "1.0e-09"),
        (0.0, P_VALUE, "0.000"),
        (-1e-9, P_VALUE, "-1.0e-09"),
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
