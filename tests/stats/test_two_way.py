"""Tests of means over models and images: by hand, against numpy, and coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from benchmarks.calibration.worlds import correct_predictions
from regrade.core import InputError, UndefinedError
from regrade.stats import accuracy_covariance, accuracy_variance, largest_covariance, two_way_mean


class TestCovariance:
    def test_by_hand(self):
        """Each is right on 2 of 4 images, both on one: the products of residuals sum to 0."""
        covariance = accuracy_covariance([[1, 1, 0, 0], [1, 0, 1, 0]])
        assert covariance == pytest.approx(np.array([[1, 0], [0, 1]]) / 12)

    def test_against_numpy(self):
        right = correct_predictions(np.random.default_rng(0), [0.4, 0.6, 0.8], images=1000)
        assert accuracy_covariance(right) == pytest.approx(np.cov(right) / 1000, rel=0.02)

    def test_images_that_do_not_count_change_nothing(self):
        rng = np.random.default_rng(1)
        right = rng.random((3, 50)) < 0.5
        counted = np.ones((3, 80), dtype=bool)
        counted[:, 50:] = False
        longer = np.hstack([right, rng.random((3, 30)) < 0.5])
        assert accuracy_covariance(longer, counted) == pytest.approx(accuracy_covariance(right))

    def test_blocks_of_images_add_up(self, monkeypatch):
        right = np.random.default_rng(2).random((4, 100)) < 0.6
        whole = accuracy_covariance(right)
        monkeypatch.setattr("regrade.stats.two_way._BLOCK", 7)
        assert accuracy_covariance(right) == pytest.approx(whole)

    def test_all_right_is_not_certain(self):
        covariance = accuracy_covariance(np.ones((2, 100), dtype=bool))
        assert covariance == pytest.approx(np.full((2, 2), (102 / 104) * (2 / 104) / 104))

    @given(st.integers(0, 9999))
    def test_clusters_of_one_image_change_nothing(self, seed):
        rng = np.random.default_rng(seed)
        right, counted = rng.random((3, 40)) < 0.8, rng.random((3, 40)) < 0.7
        counted[:, :2] = True
        single = accuracy_covariance(right, counted, rng.permutation(40))
        assert single == pytest.approx(accuracy_covariance(right, counted))

    def test_clusters_against_loops(self):
        """The sums of the residuals of each cluster, and the number of clusters that count for each model."""
        rng, homes = np.random.default_rng(3), np.repeat(np.arange(30), 1 + np.arange(30) % 4)
        right = rng.random((2, 30))[:, homes] < 0.6
        counted = np.stack([homes < 30, homes < 20])
        sums = np.zeros((2, 30))
        for model in range(2):
            mean = right[model, counted[model]].mean()
            for home in range(30):
                inside = (homes == home) & counted[model]
                sums[model, home] = (right[model, inside] - mean).sum() / counted[model].sum()
        factors = np.sqrt([30 / 29, 20 / 19])
        assert accuracy_covariance(right, counted, homes) == pytest.approx(sums @ sums.T * np.outer(factors, factors))

    def test_all_right_is_as_certain_as_the_number_of_clusters(self):
        covariance = accuracy_covariance(np.ones((1, 400)), clusters=np.arange(400) // 8)
        assert covariance == pytest.approx(accuracy_variance(np.array([1.0]), np.array([50]))[None])

    def test_single_cluster_says_nothing_of_others(self):
        with pytest.raises(UndefinedError, match="clusters"):
            accuracy_covariance([[1, 0, 1], [1, 1, 0]], [[1, 1, 1], [1, 1, 0]], [0, 0, 1])

    @given(st.integers(0, 40), st.integers(0, 40), st.integers(2, 40))
    def test_largest_covariance_bounds_the_covariance(self, first, second, images):
        """No two models with these counts have a larger covariance than the bound."""
        first, second = min(first, images), min(second, images)
        right = np.zeros((2, images), dtype=bool)
        right[0, :first] = right[1, :second] = True
        most = largest_covariance([first, second], [images, images])
        assert (most * images / (images - 1) >= accuracy_covariance(right) - 1e-12).all()

    @pytest.mark.parametrize(
        ("right", "counted", "error"),
        [
            ([[1], [0]], None, UndefinedError),
            ([[1, 0]], [[1, 0, 1]], InputError),
            ([[1, 0, 1]], [[1, 0, 0]], UndefinedError),
        ],
    )
    def test_two_way_raises_if_undefined(self, right, counted, error):
        with pytest.raises(error):
            accuracy_covariance(right, counted)


class TestMean:
    def test_by_hand(self):
        """Over models 1/3 of the sample variance .0001, with t of 2 degrees; all share .0004 over images, with 1.96."""
        mean = two_way_mean([0.01, 0.02, 0.03], np.full((3, 3), 4e-4))
        assert mean.value == pytest.approx(0.02)
        assert mean.half_width == pytest.approx(np.sqrt(4.3027**2 * 1e-4 / 3 + 1.95996**2 * 4e-4), rel=1e-4)
        assert (mean.n, mean.method) == (3, "t over models and images 95%")

    def test_without_noise_it_is_the_t_interval(self):
        values = np.array([0.1, 0.3, 0.2, 0.6])
        mean = two_way_mean(values, np.zeros((4, 4)))
        low, high = t.interval(0.95, 3, values.mean(), values.std(ddof=1) / 2)
        assert (mean.low, mean.high) == pytest.approx((low, high))

    def test_noise_of_single_models_is_counted_once(self):
        """The noise is already in the variance over models."""
        values = np.array([0.1, 0.3, 0.2, 0.6])
        own = two_way_mean(values, np.diag(np.full(4, 1e-4)))
        assert own.half_width == pytest.approx(two_way_mean(values, np.zeros((4, 4))).half_width, rel=1e-6)

    @pytest.mark.parametrize(("models", "images"), [(3, 200), (20, 200)])
    def test_coverage(self, models, images):
        rng = np.random.default_rng(models)
        held = 0
        for _ in range(400):
            accuracies = np.clip(rng.normal(0.7, 0.08, models), 0.05, 0.95)
            changes = rng.normal(-0.1, 0.01, models)
            true_accuracies = accuracies, np.clip(accuracies + changes, 0.02, 0.98)
            old, new = (correct_predictions(rng, each, images=images) for each in true_accuracies)
            noise = accuracy_covariance(old) + accuracy_covariance(new)
            mean = two_way_mean(new.mean(axis=1) - old.mean(axis=1), noise)
            held += mean.low <= -0.1 <= mean.high
        assert 0.92 <= held / 400 <= 0.99

    @pytest.mark.parametrize(
        ("values", "noise", "error"), [([1.0], [[0.0]], UndefinedError), ([1.0, 2.0], [[0.0]], InputError)]
    )
    def test_two_way_raises_if_undefined(self, values, noise, error):
        with pytest.raises(error):
            two_way_mean(values, noise)
