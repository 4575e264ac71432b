"""The area under the ROC curve within folds: by hand, compared with scikit-learn; folds keep clusters together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import UndefinedError
from regrade.stats import cluster_folds, cross_fitted_auc


def test_area_by_hand():
    """Of 2 x 3 pairs the positive is above in 4, and equal in one: 4.5 of 6."""
    scores, positive = [0.9, 0.4, 0.5, 0.4, 0.1], [True, True, False, False, False]
    area = cross_fitted_auc(scores, positive, np.zeros(5), clusters=np.arange(5))
    assert area.value == pytest.approx(4.5 / 6)
    assert 0 <= area.low < area.value < area.high <= 1


@given(st.integers(0, 10**6))
def test_one_fold_is_the_area_of_scikit_learn(seed):
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(seed)
    scores, positive = rng.integers(0, 8, 40), np.arange(40) < rng.integers(5, 35)
    area = cross_fitted_auc(scores, positive, np.zeros(40), clusters=np.arange(40))
    assert area.value == pytest.approx(roc_auc_score(positive, scores))


def test_scores_of_different_folds_are_not_compared():
    """Within each fold the positive is above; the second fold has a far higher intercept."""
    scores, positive = [1, 0, 1, 0, 11, 10, 11, 10], [True, False] * 4
    area = cross_fitted_auc(scores, positive, [0] * 4 + [1] * 4, clusters=np.arange(8))
    assert area.value == 1
    assert area.low < 0.6  # four of each kind prove little


def test_an_area_of_1_is_not_certain():
    """Rounding errors of uneven folds must not look like a tiny variance."""
    positive = np.arange(60) % 3 == 0
    area = cross_fitted_auc(
        positive + np.linspace(0, 0.5, 60), positive, np.arange(60) % 7, clusters=np.arange(60) // 6
    )
    assert area.value == pytest.approx(1)
    assert area.low < 0.8


def test_the_variance_is_twice_that_of_delong():
    """The interval is as wide as an exact one for the effective number of images."""
    rng = np.random.default_rng(0)
    positive = np.arange(400) < 200
    scores = rng.normal(size=400) + positive
    area = cross_fitted_auc(scores, positive, np.arange(400) % 5, clusters=np.arange(400))
    ups, downs = scores[positive], scores[~positive]
    above = (ups[:, None] > downs).astype(float)
    delong = np.sqrt(above.mean(axis=1).var(ddof=1) / 200 + above.mean(axis=0).var(ddof=1) / 200)
    assert area.half_width == pytest.approx(1.96 * np.sqrt(2) * delong, rel=0.1)


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(0)
    author = np.repeat(np.arange(40), 5)
    positive = author < 20
    scores = rng.normal(size=40)[author]
    single, together = (
        cross_fitted_auc(scores, positive, np.zeros(200), clusters=clusters) for clusters in (np.arange(200), author)
    )
    assert single.value == together.value
    assert together.half_width > 1.7 * single.half_width


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_folds_keep_clusters_together_and_balance_both_kinds(seed, count):
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, 60, 200)
    positive = rng.random(200) < 0.3
    folds = cluster_folds(positive, clusters, count, rng=rng)
    assert all(len(set(folds[clusters == number])) == 1 for number in set(clusters))
    for side in (positive, ~positive):
        sizes = np.bincount(folds[side], minlength=count)
        assert sizes.min() > 0
        assert sizes.max() < 2.5 * side.sum() / count + 5


def test_folds_and_areas_need_both_kinds():
    with pytest.raises(UndefinedError, match="for 3 folds"):
        cluster_folds([True, True, False, False], [0, 0, 1, 2], 3, rng=np.random.default_rng(0))
    with pytest.raises(UndefinedError, match="a fold lacks"):
        cross_fitted_auc([1, 2, 3, 4], [True, True, False, False], [0, 0, 1, 1], clusters=range(4))
    with pytest.raises(UndefinedError, match="two clusters"):
        cross_fitted_auc([1, 2, 3, 4], [True, True, False, False], [0] * 4, clusters=[0, 0, 1, 2])
