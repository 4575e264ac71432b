"""Accuracies predicted from selection frequencies: worked by hand, and covered in simulations."""

import numpy as np
import pytest

from regrade.build.accuracy_forecast import MIN_PER_BIN, forecast_accuracies
from regrade.core import InputError, UndefinedError


def test_a_forecast_weights_the_accuracy_of_bins_by_the_drawn_images():
    """Two bins: right on 10 of 40 hard and 36 of 40 easy images; of the drawn images three quarters are easy."""
    correct = np.array([True] * 10 + [False] * 30 + [True] * 36 + [False] * 4)
    frequencies = np.array([0.2] * 40 + [0.9] * 40)
    [estimate] = forecast_accuracies(correct, frequencies, np.array([0.1, 0.95, 0.99, 0.9]))
    assert estimate.value == pytest.approx(0.25 * 0.25 + 0.75 * 0.9)
    assert 0 <= estimate.low < estimate.value < estimate.high <= 1
    assert estimate.n == 4


def test_a_set_like_the_reference_images_gets_their_accuracy():
    rng = np.random.default_rng(0)
    frequencies = rng.random(500)
    correct = rng.random((3, 500)) < frequencies
    for estimate, row in zip(forecast_accuracies(correct, frequencies, frequencies), correct, strict=True):
        assert estimate.value == pytest.approx(row.mean())


@pytest.mark.parametrize("references", [60, 400])
def test_the_prediction_interval_covers_the_accuracy_on_the_drawn_set(references):
    """Models are right with a probability that rises with the frequency; the drawn set is harder than the reference."""
    rng = np.random.default_rng(references)
    runs, inside = 500, 0
    for _ in range(runs):
        reference, drawn = rng.beta(3, 1, references), rng.beta(2, 1.2, 200)
        chances = [np.clip(0.45 + 0.5 * part, 0, 1) for part in (reference, drawn)]
        [estimate] = forecast_accuracies(rng.random(references) < chances[0], reference, drawn)
        inside += estimate.low <= (rng.random(200) < chances[1]).mean() <= estimate.high
    assert inside / runs >= 0.93


def test_models_that_are_always_right_are_not_predicted_with_certainty():
    [estimate] = forecast_accuracies(np.ones(50, dtype=bool), np.full(50, 0.7), np.full(20, 0.7))
    assert estimate.value == 1
    assert estimate.low < 0.95


def test_bins_have_enough_images_even_if_most_frequencies_are_equal():
    frequencies = np.array([1.0] * 95 + [0.3] * 5)
    correct = np.arange(100) < 95
    [estimate] = forecast_accuracies(correct, frequencies, np.array([0.3] * 10))
    assert estimate.value == pytest.approx(0.95)  # 5 images are too few for a bin of their own
    assert MIN_PER_BIN > 5


def test_a_forecast_rejects_what_it_cannot_use():
    with pytest.raises(InputError, match="2 answers of models for 3 reference images"):
        forecast_accuracies(np.array([True, False]), np.zeros(3), np.zeros(1))
    with pytest.raises(UndefinedError, match="annotated reference images and drawn images"):
        forecast_accuracies(np.zeros((1, 0), dtype=bool), np.zeros(0), np.zeros(1))
