import io
import json
from contextlib import redirect_stdout

import pytest

from regrade.cli.output import Form, StreamedList, show
from regrade.core import Column, MappedRows, Table
from regrade.display import to_csv


class Counted(io.StringIO):
    """A stream that counts how often it is written to."""

    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)


DATA = {"name": "käfer", "none": [], "nothing": {}, "rows": [{"value": i / 7, "is": None} for i in range(30_000)]}


def test_json_is_written_in_few_chunks():
    with redirect_stdout(Counted()) as out:
        show(Table("t", (), ()), DATA, Form.JSON)
    assert out.getvalue() == json.dumps(DATA, indent=2) + "\n"
    assert 2 < out.writes < 100  # neither one large write nor one write per number


def test_json_rejects_nan():
    with redirect_stdout(Counted()), pytest.raises(ValueError, match="JSON"):
        show(Table("t", (), ()), {"value": float("nan")}, Form.JSON)


@pytest.mark.parametrize("count", [0, 1, 30_000])
def test_show_streams_json_lists(count):
    rows = [{"value": number} for number in range(count)]
    with redirect_stdout(Counted()) as out:
        show(Table("t", (), ()), {"rows": StreamedList(dict(row) for row in rows), "end": 1}, Form.JSON)
    assert out.getvalue() == json.dumps({"rows": rows, "end": 1}, indent=2) + "\n"


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_show_streams_csv_rows(count):
    columns, rows = (Column("a", "a"), Column("b", "b")), tuple((number, f"x{number}") for number in range(count))
    with redirect_stdout(Counted()) as out:
        show(Table("t", columns, MappedRows(range(count), lambda number: (number, f"x{number}"))), {}, Form.CSV)
    assert out.getvalue() == to_csv(Table("t", columns, rows))
    assert out.writes <= 2 + count / 1000
