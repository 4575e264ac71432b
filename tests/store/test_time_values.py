"""Parsing times, and rejecting invalid ones."""

from datetime import UTC, datetime

import pytest

from regrade.core import FormatError
from regrade.store.time_values import is_seconds, parse_time


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(0, 0.0), ("12.5", 12.5), (1.6e9, 1.6e9), ("1970-01-01T00:01:00", 60.0), (datetime(1970, 1, 2), 86400.0),
     (datetime(1969, 12, 31, tzinfo=UTC), -86400.0)],
)  # fmt: skip
def test_parse_time_returns_seconds(value, seconds):
    assert parse_time(value, "here") == seconds


@pytest.mark.parametrize(
    "value",
    [
        1e308, -1e308, -1, "-1", 10**400, "9" * 400, float("nan"), "nan", float("inf"), 1.7e12, True, None, [], {},
        "99999-01-01T00:00:00", "2020-13-45", "", "yesterday",
    ],
)  # fmt: skip
def test_parse_time_rejects_invalid_times_in_one_line(value):
    with pytest.raises(FormatError, match=r"here: .* is not a time") as refused:
        parse_time(value, "here")
    assert len(str(refused.value)) < 160


def test_is_seconds_distinguishes_numbers_from_iso_times():
    assert is_seconds(3) and is_seconds("3.5") and is_seconds(10**400)
    assert not is_seconds("2019-12-19") and not is_seconds(None) and not is_seconds([])
