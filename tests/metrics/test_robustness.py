import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.metrics import effective_robustness, relative_robustness
from regrade.stats import Scale, fit_line

ACCURACIES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8)


def test_effective_robustness_by_hand():
    got = effective_robustness([0.7, 0.8], [0.65, 0.6], expected=lambda x: np.asarray(x) - 0.1)
    assert got == pytest.approx([0.05, -0.1])


def test_relative_robustness_by_hand():
    assert relative_robustness([0.5, 0.4], [0.3, 0.45]) == pytest.approx([0.2, -0.05])


def test_effective_robustness_is_the_distance_from_the_logit_line():
    def logit(p):
        return math.log(p / (1 - p))

    def sigmoid(z):
        return 1 / (1 + math.exp(-z))

    standard = [0.55, 0.65, 0.75, 0.85]
    shifted = [sigmoid(0.9 * logit(x) - 0.6) for x in standard]
    line = fit_line(standard, shifted, scale=Scale.LOGIT)
    assert effective_robustness(standard, shifted, expected=line.predict) == pytest.approx([0] * 4, abs=1e-12)
    expected = 0.74 - sigmoid(0.9 * logit(0.76) - 0.6)
    assert effective_robustness([0.76], [0.74], expected=line.predict) == pytest.approx([expected])


@given(ACCURACIES)
@settings(deadline=None, max_examples=50)
def test_both_are_differences_model_by_model(pairs):
    first, second = zip(*pairs, strict=True)
    plain = [b - a for a, b in pairs]
    assert relative_robustness(second, first).tolist() == plain
    assert effective_robustness(first, second, expected=np.asarray).tolist() == plain
    assert (-relative_robustness(first, second)).tolist() == plain


def test_models_of_two_lists_must_be_the_same_number():
    with pytest.raises(ValueError, match="broadcast"):
        relative_robustness([0.1, 0.2, 0.3], [0.1, 0.2])
