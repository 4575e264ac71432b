"""Temperature scaling: by hand, against a search with scipy, and where it is undefined."""

import numpy as np
import pytest
from scipy import optimize, special
from sklearn.metrics import log_loss

from regrade.core import UndefinedError
from regrade.metrics import SMALLEST_PROBABILITY, fit_temperature, scale_predictions, scale_probabilities


@pytest.mark.parametrize("sharpness", [0.2, 1.0, 5.0])
def test_fit_temperature_matches_scipy(sharpness):
    rng = np.random.default_rng(0)
    logits = 2 * rng.standard_normal((500, 6))
    labels = (special.softmax(logits, axis=1).cumsum(axis=1) < rng.random((500, 1))).sum(axis=1)
    probabilities = special.softmax(sharpness * logits, axis=1)

    floored = np.log(np.maximum(probabilities, SMALLEST_PROBABILITY))

    def loss(inverse):
        return log_loss(labels, special.softmax(inverse * floored, axis=1), labels=range(6))

    expected = 1 / optimize.minimize_scalar(loss, bounds=(0.05, 20), method="bounded", options={"xatol": 1e-9}).x
    assert fit_temperature(probabilities, labels) == pytest.approx(expected, rel=1e-4)


def test_fit_temperature_of_drawn_labels_is_near_the_true_one():
    rng = np.random.default_rng(1)
    logits = 2 * rng.standard_normal((20_000, 4))
    labels = (special.softmax(logits, axis=1).cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    assert fit_temperature(special.softmax(2 * logits, axis=1), labels) == pytest.approx(2.0, rel=0.03)


def test_scale_probabilities_of_temperature_1_changes_nothing():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(4), 10)
    np.testing.assert_allclose(scale_probabilities(probabilities, 1.0), probabilities)


def test_scale_probabilities_keeps_the_order_of_classes():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(4), 10)
    np.testing.assert_array_equal(scale_probabilities(probabilities, 2.5).argsort(), probabilities.argsort())


def test_scale_predictions_are_the_largest_and_the_labels_scaled_probabilities():
    rng = np.random.default_rng(0)
    probabilities, labels = rng.dirichlet(np.ones(4), 300), rng.integers(0, 4, 300)  # more than a block
    scaled, parts = scale_probabilities(probabilities, 2.5), scale_predictions(probabilities, labels, 2.5)
    np.testing.assert_allclose(parts.confidences, scaled.max(axis=1), rtol=1e-12)
    np.testing.assert_allclose(parts.at_label, scaled[np.arange(300), labels], rtol=1e-12)


@pytest.mark.parametrize("label", [0, 1], ids=["always right", "always wrong"])
def test_fit_temperature_without_a_smallest_loss_is_undefined(label):
    with pytest.raises(UndefinedError, match="no temperature"):
        fit_temperature(np.repeat([[0.8, 0.2]], 5, axis=0), np.full(5, label))
