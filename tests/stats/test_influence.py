"""Design effects from the influence of images: against statsmodels, single images, copies, and undefined cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from regrade.core import InputError, UndefinedError
from regrade.stats import influence_effects
from regrade.stats.influence import effective_sizes

HOMES = np.repeat(np.arange(60), 1 + np.arange(60) % 5)


def test_effect_by_hand():
    """Totals of 3, -3 and 0: 18 against 6 + 2; one more cluster of mean size (9 + 9 + 4) / 8 = 2.75 gives less."""
    influence = np.array([1, 1, 1, -1, -1, -1, 1, -1])
    assert influence_effects(influence, [0, 0, 0, 1, 1, 1, 2, 2]).tolist() == [(18 + 2.75**2) / (8 + 2.75)]


def test_effect_is_that_of_cluster_robust_least_squares():
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    values = rng.normal(size=60)[HOMES] + rng.normal(size=len(HOMES)) / 2
    fit = sm.OLS(values, np.ones(len(HOMES))).fit(
        cov_type="cluster", cov_kwds={"groups": HOMES, "use_correction": False}
    )
    variance = float(fit.cov_params()[0, 0])
    (effect,) = influence_effects(values - values.mean(), HOMES)
    assert effect == pytest.approx(variance / (values.var() / len(values)), rel=0.1)
    assert effect >= variance / (values.var() / len(values))


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=30), st.integers(0, 99))
def test_one_image_per_cluster_is_independent(influence, seed):
    order = np.random.default_rng(seed).permutation(len(influence))
    assert influence_effects(influence, order) == pytest.approx(1.0)
    assert effective_sizes(influence, order, upper=0.975).tolist() == [len(influence)]


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=30), st.integers(2, 6))
def test_copies_of_images_are_worth_one(influence, copies):
    clusters = np.repeat(np.arange(len(influence)), copies)
    assert influence_effects(np.repeat(influence, copies), clusters) == pytest.approx(copies)


def test_few_clusters_are_worth_less():
    influence, clusters = np.tile([1.0, -1.0], 10), np.arange(20) // 2 % 5
    (effect,), (size,) = influence_effects(influence, clusters), effective_sizes(influence, clusters, upper=0.975)
    assert size == pytest.approx(20 / effect * (t.ppf(0.975, 19) / t.ppf(0.975, 4)) ** 2)
    assert effective_sizes(influence, np.zeros(20), upper=0.975).tolist() == [0.0]


def test_without_influence_clusters_count():
    assert influence_effects(np.zeros(12), np.arange(12) // 3).tolist() == [3.0]


def test_bad_input():
    with pytest.raises(InputError, match="3 images but 2 cluster entries"):
        influence_effects([1, 0, 1], [0, 1])
    with pytest.raises(UndefinedError, match="at least one image"):
        influence_effects([], [])
