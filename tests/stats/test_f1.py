"""F1 scores: by hand, against scikit-learn and scipy, and where they are undefined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from regrade.core import InputError, UndefinedError
from regrade.stats import f1_scores, macro_f1, weighted_f1


def test_f1_score_by_hand():
    """8 of 10 found, 12 predicted: F1 = 16 / 22, and 8 of the 14 images with either have both."""
    (score,) = f1_scores([8], [10], [12])
    exact = stats.binomtest(8, 14).proportion_ci(method="exact")
    assert score.value == pytest.approx(16 / 22)
    assert (score.low, score.high) == pytest.approx(tuple(2 * j / (1 + j) for j in (exact.low, exact.high)))
    assert (score.n, score.method) == (14, "clopper-pearson of F1 95%")


def test_f1_score_of_a_class_that_is_never_predicted_is_0():
    (score,) = f1_scores([0], [20], [0])
    assert (score.value, score.low) == (0.0, 0.0)
    assert 0 < score.high < 0.5


@pytest.fixture(params=["iid", "rare", "unanswered"], name="predictions")
def drawn_predictions(request):
    rng = np.random.default_rng(0)
    shares = [0.25] * 4 if request.param == "iid" else [0.7, 0.2, 0.06, 0.04]
    labels = rng.choice(4, 300, p=shares)
    predicted = np.where(rng.random(300) < 0.7, labels, rng.integers(0, 5, 300))  # class 4 has no images
    return labels, np.where(rng.random(300) < 0.1, -1, predicted) if request.param == "unanswered" else predicted


@pytest.mark.parametrize(("mean", "average"), [(macro_f1, "macro"), (weighted_f1, "weighted")])
def test_mean_f1_matches_scikit_learn(predictions, mean, average):
    labels, predicted = predictions
    expected = f1_score(labels, predicted, labels=range(4), average=average)
    score = mean(labels, predicted)
    assert score.value == pytest.approx(expected)
    assert 0 < score.low < score.value < score.high < 1


@pytest.mark.parametrize("mean", [macro_f1, weighted_f1])
def test_mean_f1_has_the_width_of_the_bootstrap(predictions, mean):
    labels, predicted = predictions
    rng, score = np.random.default_rng(1), mean(labels, predicted)
    draws = [mean(labels[rows], predicted[rows]).value for rows in rng.integers(0, 300, (400, 300))]
    ratio = (score.high - score.low) / np.subtract(*np.quantile(draws, [0.975, 0.025]))
    assert 0.85 < ratio < 1.7  # wider where few classes carry the variance


@given(st.integers(0, 10_000))
def test_mean_f1_does_not_depend_on_the_order_of_images_and_classes(seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], 20)
    predicted = rng.integers(0, 3, 60)
    order, renamed = rng.permutation(60), rng.permutation(3)
    for mean in (macro_f1, weighted_f1):
        first, second = mean(labels, predicted), mean(renamed[labels][order], renamed[predicted][order])
        assert (first.value, first.low, first.high) == pytest.approx((second.value, second.low, second.high))


def test_f1_without_images_or_with_few_is_undefined():
    with pytest.raises(UndefinedError, match="without labels and predictions"):
        f1_scores([0], [0], [0])
    with pytest.raises(UndefinedError, match="20 images per class"):
        macro_f1(np.arange(10) % 2, np.zeros(10, dtype=int))


def test_f1_rejects_impossible_counts():
    with pytest.raises(InputError, match="true positives"):
        f1_scores([5], [4], [9])
    with pytest.raises(InputError, match=r"both be \(n,\)"):
        weighted_f1(np.zeros(3, dtype=int), np.zeros(2, dtype=int))
