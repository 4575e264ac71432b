import io
import json
from contextlib import redirect_stdout

import pytest

from regrade.cli.output import Form, show
from regrade.core import Table


class Counted(io.StringIO):
    """A stream that counts how often it is written to."""

    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)


DATA = {"name": "käfer", "none": [], "nothing": {}, "rows": [{"value": i / 7, "is": None} for i in range(30_000)]}


def test_json_is_written_whole_in_few_pieces():
    with redirect_stdout(Counted()) as out:
        show(Table("t", (), ()), DATA, Form.JSON)
    assert out.getvalue() == json.dumps(DATA, indent=2) + "\n"
    assert 2 < out.writes < 100  # neither all in memory at once, nor a call of the system a number


def test_json_has_no_word_for_what_is_not_a_number():
    with redirect_stdout(Counted()), pytest.raises(ValueError, match="JSON"):
        show(Table("t", (), ()), {"value": float("nan")}, Form.JSON)
