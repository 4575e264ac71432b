"""The strict JSON parser."""

import pytest

from regrade.core import FormatError
from regrade.core.strict_json import parse_json


def test_parse_json_equals_json_loads():
    assert parse_json('{"a": [1, 2.5, null, true, "\\u00e9\\ud83d\\udc15"], "b": {"a": 1}}') == {
        "a": [1, 2.5, None, True, "é🐕"],
        "b": {"a": 1},
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "a": 2}', "has the key 'a' twice"),
        ('{"a": 1, "a": 1}', "has the key 'a' twice"),
        ('[{"b": {"a": 1, "c": 2, "a": 3}}]', "has the key 'a' twice"),
        ("[NaN]", "contains NaN"),
        ('{"a": -Infinity}', "contains -Infinity"),
        ("[1,]", r"is not valid JSON: .* \(column 4\)"),
        ("{\n1}", r"is not valid JSON: .* \(line 2, column 1\)"),
        ('"\\ud800"', r"invalid character, '\\ud800'"),
        ('{"\\uD83D": 1}', "invalid character"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "is not valid JSON"),
    ],
)
def test_parse_json_rejects_invalid_json_in_one_line(text, words):
    with pytest.raises(FormatError, match=words) as refused:
        parse_json(text)
    assert "\n" not in str(refused.value)
