"""Running functions on all CPU cores."""

import pytest

from regrade.core.cores import on_all_cores


def test_results_come_in_the_order_of_the_parts():
    assert list(on_all_cores(lambda part: part**2, range(100))) == [part**2 for part in range(100)]


def test_an_error_in_any_part_is_raised():
    def refuse(part):
        if part == 70:
            raise ValueError("seventy")
        return part

    with pytest.raises(ValueError, match="seventy"):
        list(on_all_cores(refuse, range(100)))
