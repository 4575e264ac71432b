"""Correlations of a score with the errors of models: by hand, against references, invariances, and their covariance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from regrade.core import InputError, UndefinedError
from regrade.stats import biserial_correlations, error_correlations

FUNCTIONS = (error_correlations, biserial_correlations)


def everything(wrong):
    return np.ones_like(wrong, dtype=bool)


def drawn(rng, images, correlation, rates):
    """A normal score, and errors of models whose tendency to err has this correlation with it."""
    score, own = rng.standard_normal(images), rng.standard_normal((len(rates), images))
    tendency = correlation * score + np.sqrt(1 - correlation**2) * own
    return score, tendency > special.ndtri(1 - np.asarray(rates))[:, None]


def test_four_images_by_hand():
    """Normal scores of 1/8, 3/8, 5/8, 7/8 are -1.150, -0.319, 0.319, 1.150; the density at a rate of 1/2 is 0.399."""
    wrong = [[0, 0, 1, 1], [0, 1, 0, 1]]
    by_hand = np.array([(0.318639 + 1.150349) / 4, (1.150349 - 0.318639) / 4]) / 0.398942
    assert biserial_correlations([1, 2, 3, 40], wrong, everything(wrong)).values == pytest.approx(by_hand, abs=1e-5)
    assert error_correlations([1, 2, 3, 4], wrong, everything(wrong)).values == pytest.approx([2 / 5**0.5, 1 / 5**0.5])


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5, 0.8])
def test_the_biserial_correlation_does_not_depend_on_the_error_rate(rate):
    score, wrong = drawn(np.random.default_rng(1), 40_000, 0.5, [rate] * 5)
    values = biserial_correlations(np.exp(score), wrong, everything(wrong)).values
    assert values.mean() == pytest.approx(0.5, abs=0.01)
    pearson = error_correlations(score, wrong, everything(wrong)).values
    attenuated = 0.5 * np.exp(-(special.ndtri(rate) ** 2) / 2) / np.sqrt(2 * np.pi * rate * (1 - rate))
    assert pearson.mean() == pytest.approx(attenuated, abs=0.01)
    assert pearson == pytest.approx([np.corrcoef(score, row)[0, 1] for row in wrong])


@pytest.mark.parametrize("correlations", FUNCTIONS)
def test_the_covariance_is_that_over_fresh_images(correlations):
    """Two models of different error rates, on 800 images that they share."""
    rng = np.random.default_rng(2)
    values, noise = [], []
    for _ in range(800):
        score, wrong = drawn(rng, 400, 0.6, [0.15, 0.4])
        measured = correlations(score, wrong, everything(wrong))
        values.append(measured.values)
        noise.append(measured.noise)
    empirical, mean = np.cov(np.array(values).T), np.mean(noise, axis=0)
    assert np.diag(mean) == pytest.approx(np.diag(empirical), rel=0.16)  # three standard errors
    assert mean[0, 1] == pytest.approx(empirical[0, 1], abs=0.1 * empirical[1, 1] + 1e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(8, 60))
def test_ranks_subsets_and_signs(seed, images):
    rng = np.random.default_rng(seed)
    score, wrong = rng.standard_normal(images), rng.random((2, images)) < 0.5
    wrong[:, :2] = [True, False]
    counted = rng.random((2, images)) < 0.7
    counted[:, :2] = True
    measured = biserial_correlations(score, wrong, counted)
    assert biserial_correlations(np.exp(score), wrong, counted).values == pytest.approx(measured.values)
    assert biserial_correlations(-score, wrong, counted).values == pytest.approx(-measured.values)
    for correlations in FUNCTIONS:
        both = correlations(score, wrong, counted)
        for model in range(2):
            inside = counted[model]
            alone = correlations(score[inside], wrong[[model]][:, inside], everything(wrong[[model]][:, inside]))
            assert alone.values[0] == pytest.approx(both.values[model])
            assert alone.noise[0, 0] == pytest.approx(both.noise[model, model], rel=1e-4)
        assert np.linalg.eigvalsh(both.noise).min() > -1e-6


@pytest.mark.parametrize("correlations", FUNCTIONS)
def test_constant_errors_scores_and_other_shapes_are_rejected(correlations):
    with pytest.raises(UndefinedError, match="wrong and right"):
        correlations([1, 2, 3], [[0, 0, 0]], [[1, 1, 1]])
    with pytest.raises(UndefinedError, match="wrong and right"):
        correlations([1, 2, 3], [[0, 0, 1]], [[1, 1, 0]])
    with pytest.raises(UndefinedError, match="constant score"):
        correlations([1, 1, 1], [[0, 0, 1]], [[1, 1, 1]])
    with pytest.raises(InputError, match=r"\(models, 2\)"):
        correlations([1, 2], [[0, 0, 1]], [[1, 1, 1]])
