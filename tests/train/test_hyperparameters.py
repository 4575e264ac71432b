"""The settings of a training: the learning rate by epoch, and what is refused."""

from math import cos, pi

import hypothesis.strategies as st
import pytest
from hypothesis import given

from regrade.core import InputError
from regrade.models import Precision
from regrade.train.hyperparameters import Hyperparameters


def test_learning_rate_rises_linearly_and_falls_along_a_cosine():
    settings = Hyperparameters(epochs=12, learning_rate=0.4, warm_up=2)
    assert [settings.learning_rate_at(epoch) for epoch in (0, 0.5, 1, 2)] == pytest.approx([0, 0.1, 0.2, 0.4])
    assert settings.learning_rate_at(7) == pytest.approx(0.2)  # half of the 10 epochs after the warm-up
    assert settings.learning_rate_at(4.5) == pytest.approx(0.4 * (1 + cos(pi / 4)) / 2)
    assert settings.learning_rate_at(12) == 0


@given(st.integers(1, 50), st.floats(0, 60), st.floats(0, 1))
def test_learning_rate_stays_between_zero_and_the_largest(epochs, warm_up, share):
    settings = Hyperparameters(epochs=epochs, learning_rate=0.3, warm_up=warm_up)
    assert 0 <= settings.learning_rate_at(share * epochs) <= 0.3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "at least one epoch"),
        ({"batch": 1}, "at least two images"),
        ({"learning_rate": 0.0}, "learning rate must be above 0"),
        ({"learning_rate": float("nan")}, "learning rate must be above 0"),
        ({"label_smoothing": 1.0}, "label smoothing"),
        ({"momentum": -0.1}, "momentum"),
        ({"crop": -1}, "must not be negative"),
        ({"precision": Precision.FP16}, "choose bf16"),
    ],
)
def test_bad_settings_are_rejected(values, message):
    with pytest.raises(InputError, match=message):
        Hyperparameters(**values)
