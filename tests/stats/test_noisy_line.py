"""Tests of fit_noisy_line: by hand, against lines without noise, and coverage."""

import numpy as np
import pytest

from benchmarks.calibration.worlds import correct_predictions
from regrade.core import InputError, UndefinedError
from regrade.stats import MIN_SPREAD, Scale, accuracy_covariance, fit_line, fit_noisy_line

X = np.array([0.5, 0.6, 0.7, 0.8])
Y = np.array([0.42, 0.5, 0.62, 0.7])
NONE = np.zeros((4, 4))


def test_by_hand():
    """The spread of x is .05, of which independent noise of .0005 per model is .0015: the slope grows by 50 / 48.5."""
    line = fit_noisy_line(X, Y, x_noise=np.diag(np.full(4, 5e-4)), y_noise=NONE)
    assert line.reliability == pytest.approx(0.97)
    assert line.fit.slope.value == pytest.approx(0.96 * 50 / 48.5)
    assert line.fit.intercept.value == pytest.approx(0.56 - 0.65 * 0.96 * 50 / 48.5)


@pytest.mark.parametrize("scale", Scale)
def test_without_noise_it_is_the_robust_line(scale):
    line = fit_noisy_line(X, Y, x_noise=NONE, y_noise=NONE, scale=scale, band_points=5)
    plain = fit_line(X, Y, scale=scale, band_points=5)
    assert (line.reliability, line.spread) == (1, np.inf)
    for name in ("slope", "intercept"):
        ours, theirs = getattr(line.fit, name), getattr(plain, name)
        assert (ours.value, ours.low, ours.high) == pytest.approx((theirs.value, theirs.low, theirs.high))
    for name in ("x", "line", "low", "high"):
        assert getattr(line.fit.band, name) == pytest.approx(getattr(plain.band, name))


def test_shared_noise_does_not_attenuate_the_slope():
    line = fit_noisy_line(X, Y, x_noise=np.full((4, 4), 1e-3), y_noise=NONE)
    assert line.reliability == pytest.approx(1)
    assert line.fit.slope.value == pytest.approx(0.96)
    assert line.fit.intercept.half_width > fit_line(X, Y).intercept.half_width


def test_models_close_together_have_no_line():
    line = fit_noisy_line(X, Y, x_noise=np.diag(np.full(4, 0.01)), y_noise=NONE)
    assert line.fit is None
    assert line.spread < MIN_SPREAD and line.reliability < 0.5


@pytest.mark.parametrize("scale", [Scale.LINEAR, Scale.PROBIT])
@pytest.mark.parametrize(("models", "images", "scatter"), [(5, 400, 0.0), (20, 400, 0.01)])
def test_coverage(scale, models, images, scatter):
    """Coverage of the slope, the intercept and the line in the middle, on the scale where models lie on a line."""
    rng = np.random.default_rng(models)
    held, fitted = np.zeros(3), 0
    for _ in range(300):
        x = rng.uniform(0.45, 0.9, models)
        y = scale.inverse(0.9 * scale.transform(x) - 0.1 + scatter * rng.normal(size=models))
        old, new = (correct_predictions(rng, accuracies, images=images) for accuracies in (x, y))
        noise = accuracy_covariance(old), accuracy_covariance(new)
        measured = old.mean(axis=1), new.mean(axis=1)
        line = fit_noisy_line(*measured, x_noise=noise[0], y_noise=noise[1], scale=scale, band_points=3).fit
        if line is not None:
            fitted += 1
            true = scale.inverse(0.9 * scale.transform(line.band.x[1]) - 0.1)
            held += [
                line.slope.low <= 0.9 <= line.slope.high,
                line.intercept.low <= -0.1 <= line.intercept.high,
                line.band.low[1] <= true <= line.band.high[1],
            ]
    assert fitted > 200
    assert (held / fitted >= 0.92).all(), held / fitted


@pytest.mark.parametrize(
    ("x", "noise", "error"),
    [
        (X, np.zeros((3, 3)), InputError),
        (np.full(4, 0.5), NONE, UndefinedError),
        (X[:2], np.zeros((2, 2)), UndefinedError),
        (np.array([0.0, 0.5, 0.7, 0.8]), NONE, UndefinedError),
    ],
)
def test_fit_noisy_line_raises_if_undefined(x, noise, error):
    with pytest.raises(error):
        fit_noisy_line(x, Y[: len(x)], x_noise=noise, y_noise=noise, scale=Scale.PROBIT)
