import dataclasses
import json

import pytest

from regrade.core import Estimate

ACCURACY = Estimate(0.8286, 0.8253, 0.8319, 50_000, "clopper-pearson 95%")


def test_str_is_percent_with_interval():
    assert str(ACCURACY) == "82.9 [82.5, 83.2]"


def test_half_width():
    assert ACCURACY.half_width == pytest.approx(0.0033)


def test_as_dict_is_json():
    assert Estimate(**json.loads(json.dumps(ACCURACY.as_dict()))) == ACCURACY


def test_estimate_is_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ACCURACY.value = 1.0
