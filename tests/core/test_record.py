"""Tests of records as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any

import numpy as np
import pytest

from regrade.core import Estimate
from regrade.core.record import INLINE, NOT_IN_JSON, Record, json_key, json_value


class Color(Enum):
    RED = "red"


class Size(StrEnum):
    SMALL = "small"


class Squares(Sequence[int]):
    """A sequence that is computed on demand."""

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return range(5)[index] ** 2


@dataclass(frozen=True)
class Plain:
    color: Color
    share: Estimate | None


@dataclass(frozen=True)
class Written(Record):
    size: int
    plain: Plain = field(metadata=INLINE)
    scores: tuple[float, ...] = field(metadata=json_key("values"))
    names: tuple[str, ...] = field(metadata=json_key("count", len))
    hidden: object = field(default=None, metadata=NOT_IN_JSON)
    note: str | None = field(default=None, metadata=json_key("note", only_if_set=True))

    def json_fields(self) -> dict[str, Any]:
        return {**super().json_fields(), "double": 2 * self.size}


RECORD = Written(3, Plain(Color.RED, None), (0.5,), ("a", "b"))
SHARE = Estimate(0.5, 0.4, 0.6, 10, "m")


def test_fields_follow_their_metadata_in_order():
    expected = {"size": 3, "color": "red", "share": None, "values": [0.5], "count": 2, "double": 6}
    assert list(RECORD.as_dict().items()) == list(expected.items())


def test_optional_key_is_written_if_it_is_set():
    noted = Written(3, RECORD.plain, (), (), note="new")
    assert list(noted.as_dict()) == ["size", "color", "share", "values", "count", "note", "double"]


def test_json_value_converts_records_inside_containers():
    content = json_value({"all": (RECORD, Plain(Color.RED, SHARE))})
    assert content["all"][0]["double"] == 6
    assert content["all"][1]["share"] == {"value": 0.5, "low": 0.4, "high": 0.6, "n": 10, "method": "m"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([[1.0, np.nan], [np.nan, 2.0]]), [[1.0, None], [None, 2.0]]),
        (np.array([1, 2]), [1, 2]),
        (np.array([True]), [True]),
        (np.empty(0), []),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (Color.RED, "red"),
        (Size.SMALL, "small"),
        ({0.25: 1, 0.5: 2, 7: 3, Color.RED: 4}, {"0.25": 1, "0.5": 2, "7": 3, "red": 4}),
        (True, True),
        (None, None),
    ],
)
def test_json_value(value, expected):
    content = json_value(value)
    assert content == expected and type(content) in (type(expected), Size)
    assert json.loads(json.dumps(content, allow_nan=False)) == expected


def test_undefined_number_outside_an_array_is_left_to_fail():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json.dumps(json_value({"value": float("nan")}), allow_nan=False)


def test_collect_gets_sequences_that_are_computed_on_demand():
    collected = []

    def first_two(items):
        collected.append(len(items))
        return list(items)[:2]

    assert json_value({"squares": Squares(), "listed": [1, 2, 3]}, first_two) == {
        "squares": [0, 1],
        "listed": [1, 2, 3],
    }
    assert collected == [5]
    assert json_value(Squares()) == [0, 1, 4, 9, 16]


def test_json_value_rejects_what_json_cannot_hold():
    with pytest.raises(TypeError, match="a set cannot be written as JSON"):
        json_value({"names": {"a"}})
