"""Slopes of measures on attributes of models: values by hand, statsmodels, the line fit, and clusters of models."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import InputError, UndefinedError
from regrade.stats import MeasuredModels, attribute_effect, fit_line


def world(seed=0, models=40):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 0.9, models)
    z = 3 * x + rng.normal(0, 0.5, models)
    return x, z, 0.2 + 0.8 * x + 0.03 * z + rng.normal(0, 0.02 + 0.02 * x, models)


def test_slope_by_hand():
    effect = attribute_effect(MeasuredModels(np.array([0.5, 0.6, 0.65, 0.8])), [1, 2, 3, 4])
    assert effect.value == pytest.approx((3 * 0.3 + 0.05) / 10)  # sum of (x - 2.5) y over 5
    assert effect.n == 4


@given(st.integers(0, 200))
def test_without_adjustment_it_is_the_slope_of_a_line(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.random(9), rng.random(9)
    effect, line = attribute_effect(MeasuredModels(y), x), fit_line(x, y).slope
    assert (effect.value, effect.low, effect.high) == pytest.approx((line.value, line.low, line.high))


def test_adjusted_slope_and_its_standard_error_are_those_of_statsmodels():
    x, z, y = world()
    fit = sm.OLS(y, sm.add_constant(np.stack([x, z], axis=1))).fit(cov_type="HC2")
    effect = attribute_effect(MeasuredModels(y), z, adjusted_for=MeasuredModels(x))
    assert effect.value == pytest.approx(fit.params[2])
    normal = 1.959964 * fit.bse[2]
    assert normal < effect.half_width < 1.1 * normal  # a t quantile in place of the normal one


def test_clusters_are_those_of_statsmodels_with_many_of_them():
    rng = np.random.default_rng(1)
    families = np.repeat(np.arange(150), 4)
    z = rng.normal(0, 1, 150)[families]
    y = 0.1 * z + rng.normal(0, 1, 150)[families] + rng.normal(0, 0.3, 600)
    fit = sm.OLS(y, sm.add_constant(z)).fit(cov_type="cluster", cov_kwds={"groups": families})
    effect = attribute_effect(MeasuredModels(y), z, clusters=families)
    assert effect.half_width == pytest.approx(1.96 * fit.bse[1], rel=0.05)
    independent = attribute_effect(MeasuredModels(y), z)
    assert independent.half_width < 0.6 * effect.half_width


def test_models_that_are_clusters_of_their_own_are_independent():
    _, z, y = world()
    own, plain = (attribute_effect(MeasuredModels(y), z, clusters=c) for c in (np.arange(40), None))
    assert (own.low, own.high) == pytest.approx((plain.low, plain.high))


def test_noise_of_the_adjusting_measure_is_removed():
    rng = np.random.default_rng(2)
    group = np.repeat([0.0, 1.0], 4_000)
    truth = 0.7 + 0.05 * group + rng.normal(0, 0.05, 8_000)
    noise = np.diag(np.full(8_000, 0.03**2))
    measured = MeasuredModels(truth + rng.normal(0, 0.03, 8_000), noise)
    y = truth - 0.1
    naive = attribute_effect(MeasuredModels(y), group, adjusted_for=MeasuredModels(measured.values))
    corrected = attribute_effect(MeasuredModels(y), group, adjusted_for=measured)
    assert naive.low > 0.005
    assert corrected.low < 0 < corrected.high


def test_noise_of_images_widens_the_interval():
    _, z, y = world()
    plain = attribute_effect(MeasuredModels(y), z)
    shared = 0.05**2 * np.outer(z - z.mean(), z - z.mean())  # errors that rotate the line
    noisy = attribute_effect(MeasuredModels(y, shared), z)
    assert noisy.half_width > plain.half_width
    assert "models and images" in noisy.method


def test_what_has_no_slope_raises():
    y = MeasuredModels(np.array([0.1, 0.2, 0.3, 0.5, 0.6]))
    with pytest.raises(UndefinedError, match="the same for all models"):
        attribute_effect(y, np.full(5, 2015))
    with pytest.raises(UndefinedError, match="determined by what it is adjusted for"):
        attribute_effect(y, y.values * 2 + 1, adjusted_for=y)
    with pytest.raises(UndefinedError, match="at least 5 models, got 4"):
        attribute_effect(MeasuredModels(y.values[:4]), [1, 2, 3, 5], adjusted_for=MeasuredModels(y.values[:4]))
    with pytest.raises(InputError, match="5 values of the measure, but 3"):
        attribute_effect(y, [1, 2, 3])
    with pytest.raises(UndefinedError, match="all of one family"):
        attribute_effect(y, [1, 2, 3, 4, 5], clusters=[1, 1, 1, 1, 1])
    noisy = MeasuredModels(np.array([0.5, 0.51, 0.5, 0.52, 0.5]), np.diag(np.full(5, 0.1)))
    with pytest.raises(UndefinedError, match="hardly differ by more than sampling noise"):
        attribute_effect(y, [1, 5, 2, 2, 4], adjusted_for=noisy)
