"""Running functions on all CPU cores."""

import numpy as np
import pytest
from scipy import special

from regrade.core.cores import elementwise, on_all_cores


def test_results_come_in_the_order_of_the_parts():
    assert list(on_all_cores(lambda part: part**2, range(100))) == [part**2 for part in range(100)]


def test_an_error_in_any_part_is_raised():
    def refuse(part):
        if part == 70:
            raise ValueError("seventy")
        return part

    with pytest.raises(ValueError, match="seventy"):
        list(on_all_cores(refuse, range(100)))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (4096,), (4097,), (30_000,), (3, 5000)])
def test_elementwise_equals_a_single_call(shape):
    successes = np.random.default_rng(0).integers(1, 50_000, size=shape)
    result = elementwise(special.betaincinv, successes, 50_001 - successes, 0.025)
    expected = np.asarray(special.betaincinv(successes, 50_001 - successes, 0.025))
    assert result.shape == expected.shape
    assert (result == expected).all()


def test_elementwise_raises_errors_of_any_part():
    def refuse(values):
        if (values < 0).any():
            raise ValueError("negative")
        return values

    values = np.ones(20_000)
    values[-1] = -1
    with pytest.raises(ValueError, match="negative"):
        elementwise(refuse, values)
