"""Ridge logistic regression: by hand, and equal to scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from regrade.core import InputError, UndefinedError
from regrade.stats import ridge_logistic


@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 30.0]))
@settings(max_examples=25)
def test_weights_equal_those_of_scikit_learn(seed, penalty):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(seed)
    features = rng.normal(size=(80, 4))
    positive = features[:, 0] + rng.normal(size=80) > 0.3
    fit = ridge_logistic(features, positive, penalty=penalty)
    theirs = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000).fit(features, positive)
    np.testing.assert_allclose(fit.weights, theirs.coef_[0], atol=1e-4)
    assert fit.intercept == pytest.approx(theirs.intercept_[0], abs=1e-4)
    np.testing.assert_allclose(fit.scores(features), theirs.decision_function(features), atol=1e-3)


def test_without_information_the_intercept_is_the_log_odds():
    fit = ridge_logistic(np.zeros((4, 1)), [True, False, False, False])
    assert fit.intercept == pytest.approx(np.log(1 / 3), abs=1e-5)
    assert fit.weights[0] == 0


def test_the_gradient_is_0_with_more_features_than_images():
    rng = np.random.default_rng(1)
    features, positive = rng.normal(size=(30, 100)), np.arange(30) < 12
    fit = ridge_logistic(features, positive, penalty=2.0)
    residuals = special.expit(fit.scores(features)) - positive
    np.testing.assert_allclose(features.T @ residuals + 2.0 * fit.weights, 0, atol=1e-3)
    assert residuals.sum() == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(
    ("features", "positive", "options", "error", "message"),
    [
        ([[1.0], [2.0]], [True, True], {}, UndefinedError, "both classes"),
        ([[1.0], [np.inf]], [True, False], {}, InputError, "finite"),
        ([1.0, 2.0], [True, False], {}, InputError, "must be"),
        ([[1.0], [2.0]], [True, False], {"penalty": 0.0}, InputError, "above 0"),
    ],
)
def test_input_that_does_not_fit_is_refused(features, positive, options, error, message):
    with pytest.raises(error, match=message):
        ridge_logistic(features, positive, **options)
