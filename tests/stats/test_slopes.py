"""Two slopes on the same models: their difference and their ratio."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import ndtri
from scipy.stats import binom

from regrade.core import UndefinedError
from regrade.stats import accuracy_covariance, fit_line, slope_deviation, slope_difference, slope_noise, slope_ratio

X = np.linspace(0.5, 0.9, 20)


def scattered(rng, slope, offset, size=0.01, x=X):
    return offset + slope * x + size * rng.normal(size=len(x))


class TestDifference:
    def test_it_is_the_slope_of_the_difference(self):
        rng = np.random.default_rng(0)
        first_y, second_y = scattered(rng, 1.0, -0.2), scattered(rng, 0.4, 0.1)
        difference = slope_difference(X, first_y, second_y)
        halved = fit_line(X, (1 + first_y - second_y) / 2, band_points=0).slope  # fractions, as a line wants them
        assert (difference.value, difference.low, difference.high) == pytest.approx(
            (2 * halved.value, 2 * halved.low, 2 * halved.high)
        )
        assert difference.n == 20 and difference.method == "robust t over models 95%"

    def test_standard_error_is_hc2(self):
        rng = np.random.default_rng(1)
        first_y, second_y = scattered(rng, 1.0, -0.2), scattered(rng, 0.4, 0.1)
        difference = slope_difference(X, first_y, second_y)
        fit = sm.OLS(first_y - second_y, sm.add_constant(X)).fit(cov_type="HC2")
        assert difference.value == pytest.approx(fit.params[1])
        ratio = difference.half_width / fit.bse[1]
        assert 1.96 < ratio < 2.4  # a t quantile of somewhat fewer than 18 degrees of freedom

    def test_common_residuals_cancel(self):
        rng = np.random.default_rng(2)
        common = 0.03 * rng.normal(size=20)
        difference = slope_difference(X, 0.1 + 0.8 * X + common, 0.2 + 0.5 * X + common)
        assert difference.value == pytest.approx(0.3) and difference.half_width < 1e-9

    def test_two_models_have_no_slope(self):
        with pytest.raises(UndefinedError, match="at least three models"):
            slope_difference([0.5, 0.6], [0.5, 0.6], [0.5, 0.6])

    def test_constant_x_raises(self):
        with pytest.raises(UndefinedError, match="same accuracy"):
            slope_difference([0.5] * 4, [0.5, 0.6, 0.7, 0.8], [0.5] * 4)

    def test_image_deviation_widens_the_interval(self):
        rng = np.random.default_rng(3)
        first_y, second_y = scattered(rng, 1.0, -0.2), scattered(rng, 0.4, 0.1)
        plain, wider = (
            slope_difference(X, first_y, second_y),
            slope_difference(X, first_y, second_y, image_deviation=0.1),
        )
        assert wider.half_width == pytest.approx(np.hypot(plain.half_width, 1.959964 * 0.1))
        assert wider.method == "robust t over models and images 95%"

    def test_it_covers(self):
        rng = np.random.default_rng(4)
        held = 0
        for _ in range(600):
            common = 0.02 * rng.normal(size=20)
            difference = slope_difference(X, scattered(rng, 1.0, -0.2) + common, scattered(rng, 0.4, 0.1) + common)
            held += difference.low <= 0.6 <= difference.high
        assert 0.925 <= held / 600 <= 0.98


class TestRatio:
    def test_exact_lines(self):
        ratio = slope_ratio(X, 1.0 * X - 0.1, 0.4 * X + 0.1)
        assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2.5, 2.5, 2.5))

    def test_bounds_are_where_the_difference_reaches_0(self):
        """The bounds r are those for which first - r second has an interval that just touches 0."""
        rng = np.random.default_rng(5)
        first_y, second_y = scattered(rng, 0.6, 0.1), scattered(rng, 0.3, 0.2)
        ratio = slope_ratio(X, first_y, second_y)
        assert ratio.low < ratio.value < ratio.high
        for bound in (ratio.low, ratio.high):
            left = 0.5 + (first_y - bound * second_y) / 4  # fractions
            edge = fit_line(X, left, band_points=0).slope
            assert min(abs(edge.low), abs(edge.high)) == pytest.approx(0.0, abs=1e-12)

    def test_no_bounds_if_second_slope_is_not_significant(self):
        rng = np.random.default_rng(6)
        ratio = slope_ratio(X, scattered(rng, 1.0, -0.1), scattered(rng, 0.0, 0.4))
        assert ratio.value is not None and ratio.low is None and ratio.high is None

    def test_a_flat_second_has_no_ratio(self):
        ratio = slope_ratio(X, 0.5 * X, np.full(20, 0.25))
        assert (ratio.value, ratio.low, ratio.high) == (None, None, None)

    @pytest.mark.parametrize("models", [6, 20, 60])
    def test_it_covers(self, models):
        rng = np.random.default_rng(7)
        x = np.linspace(0.5, 0.9, models)
        held = 0
        for _ in range(500):
            common = 0.01 * rng.normal(size=models)
            first_y, second_y = scattered(rng, 1.0, -0.2, x=x), scattered(rng, 0.4, 0.1, x=x)
            ratio = slope_ratio(x, first_y + common, second_y + common)
            held += ratio.low is None or ratio.low <= 2.5 <= ratio.high
        assert held / 500 >= 0.92

    def test_real_progress_on_standard_sets(self, published):
        """1,300 models of timm: a point on ImageNet brings more on V2 than on ReaL, by a factor known well."""
        import csv

        tables = {}
        for name in ("imagenet", "imagenet-real", "imagenetv2-matched-frequency"):
            with (published / "timm" / f"results-{name}.csv").open() as file:
                tables[name] = {row["model"]: float(row["top1"]) / 100 for row in csv.DictReader(file)}
        models = sorted(set.intersection(*(set(table) for table in tables.values())))
        x, real, new = (np.array([table[model] for model in models]) for table in tables.values())
        assert len(models) > 1_200
        ratio, gap = slope_ratio(x, new, real), slope_difference(x, new, real)
        slopes = [np.polyfit(x, y, 1)[0] for y in (new, real)]
        assert ratio.value == pytest.approx(slopes[0] / slopes[1])
        assert gap.value == pytest.approx(slopes[0] - slopes[1])
        assert 1 < ratio.low < ratio.high and gap.low > 0


class TestOverImages:
    def test_independent_noise_is_already_in_the_residuals(self):
        rng = np.random.default_rng(8)
        correct = rng.random((20, 4000)) < 0.6
        unseen = slope_deviation(X, correct, np.arange(4000) >= 2000)
        alone = np.sqrt(2 * 0.24 / 2000 / ((X - X.mean()) ** 2).sum())
        assert unseen < 0.4 * alone

    def test_images_that_rotate_the_line_add_variance(self):
        """If only the better half of the models can be right, an image moves the slope and adds little scatter."""
        rng = np.random.default_rng(9)
        hard = rng.random(4000)
        correct = hard < X[:, None]
        second = np.arange(4000) >= 2000
        slopes = []
        for _ in range(300):
            right = rng.random(4000) < X[:, None]
            accuracies = right[:, ~second].mean(axis=1) - right[:, second].mean(axis=1)
            slopes.append(np.polyfit(X, accuracies, 1)[0])
        assert slope_deviation(X, correct, second) == pytest.approx(np.std(slopes), rel=0.15)

    def test_noise_by_hand(self):
        """Images that move models in proportion to their distance from the mean rotate the line without scatter."""
        away = X - X.mean()
        assert slope_noise(X, 0.04 * np.outer(away, away)) == pytest.approx(0.2)
        assert slope_noise(X, np.full((20, 20), 0.01)) == pytest.approx(0, abs=1e-9)  # all models alike: no turn

    @pytest.mark.parametrize("shared", [0.0, 0.8])
    def test_two_sets_of_images_cover(self, shared):
        """Progress on two sets of images whose hardness is partly shared by all models."""
        rng = np.random.default_rng(12)
        missed = {"difference": 0, "ratio": 0}
        for _ in range(200):
            rows, deviations = [], []
            for slope in (0.9, 0.45):
                truth = 0.5 + slope * (X - X.mean()) + 0.01 * rng.normal(size=20)
                hard = np.sqrt(shared) * rng.normal(size=800) + np.sqrt(1 - shared) * rng.normal(size=(20, 800))
                right = hard < ndtri(truth)[:, None]
                rows.append(right.mean(axis=1))
                deviations.append(slope_noise(X, accuracy_covariance(right)))
            gap = slope_difference(X, *rows, image_deviation=float(np.hypot(*deviations)))
            ratio = slope_ratio(X, *rows, image_deviations=tuple(deviations))
            missed["difference"] += not gap.low <= 0.45 <= gap.high
            missed["ratio"] += not (ratio.low is None or ratio.low <= 2 <= ratio.high)
        assert max(missed.values()) <= binom.isf(1e-4, 200, 0.05)

    def test_clusters_increase_the_deviation(self):
        rng = np.random.default_rng(10)
        hard, clusters = np.repeat(rng.random(400), 10), np.repeat(np.arange(400), 10)
        correct, second = hard < X[:, None], np.arange(4000) >= 2000
        plain, clustered = slope_deviation(X, correct, second), slope_deviation(X, correct, second, clusters)
        assert clustered == pytest.approx(np.sqrt(10) * plain, rel=0.01)

    @pytest.mark.parametrize("shared", [0.0, 0.8])
    def test_slope_difference_covers_over_models_and_images(self, shared):
        rng = np.random.default_rng(11)
        second = np.arange(1600) >= 800
        truth = 0.5
        held = 0
        for _ in range(300):
            first_y = 0.2 + 0.9 * (X - 0.5) + 0.01 * rng.normal(size=20)
            second_y = 0.3 + 0.4 * (X - 0.5) + 0.01 * rng.normal(size=20)
            limits = np.where(second, ndtri(second_y)[:, None], ndtri(first_y)[:, None])
            correct = (
                np.sqrt(shared) * rng.normal(size=1600) + np.sqrt(1 - shared) * rng.normal(size=(20, 1600)) < limits
            )
            sides = correct[:, ~second].mean(axis=1), correct[:, second].mean(axis=1)
            difference = slope_difference(X, *sides, image_deviation=slope_deviation(X, correct, second))
            held += difference.low <= truth <= difference.high
        assert 0.915 <= held / 300 <= 0.99
