"""The bootstrap over models: percentile intervals of the line, as published."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import Scale, bootstrap_line, bootstrap_lines, fit_line
from regrade.stats.line_bootstrap import _ranked

quick = settings(deadline=None, max_examples=50, derandomize=True)


def rng(seed=0):
    return np.random.default_rng(seed)


def models(m=40, seed=0, noise=0.01):
    """Accuracies on an original test set and on a harder one."""
    draw = rng(seed)
    x = draw.uniform(0.55, 0.85, m)
    return x, np.clip(1.1 * x - 0.2 + noise * draw.standard_normal(m), 0, 1)


def fit(x, y, **options):
    return bootstrap_line(x, y, **{"rng": rng(), "draws": 500, **options})


@pytest.mark.parametrize("scale", Scale)
def test_bootstrap_line_equals_fit_line(scale):
    x, y = models()
    bootstrapped, line = fit(x, y, scale=scale), fit_line(x, y, scale=scale)
    assert [bootstrapped.slope.value, bootstrapped.intercept.value] == pytest.approx(
        [line.slope.value, line.intercept.value]
    )
    assert bootstrapped.r_squared == pytest.approx(line.r_squared)
    assert bootstrapped.scale is scale
    np.testing.assert_allclose(bootstrapped.band.line, line.band.line)
    assert (bootstrapped.slope.n, bootstrapped.slope.method) == (40, "bootstrap over models 95%")
    assert (bootstrapped.draws, line.draws) == (500, 0)


@given(seed=st.integers(0, 10**6), m=st.integers(3, 30))
@quick
def test_interval_mirrors_for_errors(seed, m):
    x, y = rng(seed).random((2, m))
    bootstrapped, mirror = fit(x, y, draws=50), fit(1 - x, 1 - y, draws=50)
    assert mirror.slope.low == pytest.approx(bootstrapped.slope.low)
    assert mirror.slope.high == pytest.approx(bootstrapped.slope.high)


def test_the_bootstrap_agrees_with_scipys():
    x, y = models(25, seed=1, noise=0.03)
    bootstrapped = fit(x, y, draws=40_000)

    def line(a, b):
        slope = ((a - a.mean(-1, keepdims=True)) * b).sum(-1) / ((a - a.mean(-1, keepdims=True)) ** 2).sum(-1)
        return np.stack([slope, b.mean(-1) - slope * a.mean(-1)])

    def statistic(a, b, axis=-1):  # noqa: ARG001
        return line(a, b)

    expected = stats.bootstrap(
        (x, y), statistic, paired=True, vectorized=True, n_resamples=40_000, method="percentile", rng=rng(1),
        axis=-1, batch=4000,
    )  # fmt: skip
    spread = expected.standard_error
    low, high = expected.confidence_interval
    for place, estimate in enumerate((bootstrapped.slope, bootstrapped.intercept)):
        # a percentile of 40,000 draws has a standard error of about 0.013 standard deviations
        assert estimate.low == pytest.approx(low[place], abs=0.08 * spread[place])
        assert estimate.high == pytest.approx(high[place], abs=0.08 * spread[place])


def test_the_bootstrap_agrees_with_a_loop_over_the_same_draws():
    x, y = models(7, noise=0.05)
    draws, generator = 300, rng(3)
    picks = generator.integers(7, size=(draws, 7), dtype=np.int32)
    lines = np.array([np.polyfit(x[pick], y[pick], 1) for pick in picks])
    bootstrapped = fit(x, y, rng=rng(3), draws=draws, confidence=0.9, band_points=5)
    low = np.quantile(lines, 0.05, axis=0, method="lower")
    high = np.quantile(lines, 0.95, axis=0, method="higher")
    assert [bootstrapped.slope.low, bootstrapped.intercept.low] == pytest.approx(low)
    assert [bootstrapped.slope.high, bootstrapped.intercept.high] == pytest.approx(high)
    grid = np.linspace(x.min(), x.max(), 5)
    values = lines[:, :1] * grid + lines[:, 1:]
    np.testing.assert_allclose(bootstrapped.band.x, grid)
    np.testing.assert_allclose(bootstrapped.band.low, np.quantile(values, 0.05, axis=0, method="lower"))
    np.testing.assert_allclose(bootstrapped.band.high, np.quantile(values, 0.95, axis=0, method="higher"))


def test_blocks_cover_all_draws(monkeypatch):
    x, y = models(10)
    monkeypatch.setattr("regrade.stats.line_bootstrap._BLOCK", 70)  # 7 draws at a time
    bootstrapped = fit(x, y, draws=100)
    assert (bootstrapped.draws, bootstrapped.degenerate) == (100, 0)
    assert bootstrapped.slope.low < bootstrapped.slope.value < bootstrapped.slope.high


def test_draws_without_two_different_accuracies_are_counted_and_left_out():
    # two of three at one place: a draw has no slope with chance (2/3)^3 + (1/3)^3 = 1/3
    bootstrapped = fit([0.5, 0.5, 0.7], [0.4, 0.42, 0.6], draws=30_000)
    assert bootstrapped.degenerate / bootstrapped.draws == pytest.approx(1 / 3, abs=4 * np.sqrt(2 / 9 / 30_000))
    assert (bootstrapped.slope.low, bootstrapped.slope.high) == pytest.approx((0.9, 1.0))
    assert np.isfinite([bootstrapped.intercept.low, bootstrapped.intercept.high]).all()
    assert fit(*models(), draws=300).degenerate == 0


@given(seed=st.integers(0, 10**6))
@quick
def test_degenerate_draws_are_told_from_rounding(seed):
    x = rng(seed).random(3)[[0, 0, 0, 1, 2]]
    picks = rng(seed).integers(5, size=(300, 5), dtype=np.int32)
    expected = sum(len(set(x[pick])) == 1 for pick in picks)
    bootstrapped = fit(x, rng(1).random(5), rng=rng(seed), draws=300)
    assert expected > 0
    assert bootstrapped.degenerate == expected


def test_accuracies_that_differ_by_one_image_still_have_a_slope():
    # with 50,000 images the first two differ by 2e-5: draws of these alone are no accident of rounding
    x, y = [0.6, 0.60002, 0.9], [0.5, 0.50004, 0.8]
    bootstrapped = fit(x, y, draws=3000)
    assert bootstrapped.degenerate / 3000 == pytest.approx(3 / 27, abs=0.03)
    assert (bootstrapped.slope.low, bootstrapped.slope.high) == pytest.approx((0.99993, 2), rel=1e-3)


def test_several_test_sets_share_the_draws():
    x, y = models()
    together = bootstrap_lines(x, [y, 1 - y, y], rng=rng(), draws=500)
    assert len(together) == 3
    alone = fit(x, y)
    for bootstrapped in (together[0], together[2]):
        assert [bootstrapped.slope.low, bootstrapped.slope.high] == pytest.approx([alone.slope.low, alone.slope.high])
        np.testing.assert_allclose(bootstrapped.band.high, alone.band.high)
    assert together[1].slope.value == pytest.approx(-alone.slope.value)
    assert together[1].intercept.value == pytest.approx(1 - alone.intercept.value)


@pytest.mark.parametrize("draws", [1, 2, 63, 1000, 20_000])
@pytest.mark.parametrize("order", [np.sort, np.negative, np.round, np.asarray])
def test_a_ranked_value_is_that_of_the_sorted_sample(draws, order):
    values = order(np.random.default_rng(draws).normal(size=draws))
    ranks = sorted({0, draws // 40, draws // 2, draws - 1})
    assert [_ranked(values, rank) for rank in ranks] == np.sort(values)[ranks].tolist()


@pytest.mark.parametrize(("m", "covers"), [(20, 0.91), (60, 0.93), (200, 0.945)])
def test_coverage_is_as_documented(m, covers):
    trials, hits = 1000, np.zeros(2)
    for seed in range(trials):
        x, y = models(m, seed=seed)
        bootstrapped = fit(x, y, rng=rng(seed), draws=400, band_points=0)
        hits += [
            bootstrapped.slope.low <= 1.1 <= bootstrapped.slope.high,
            bootstrapped.intercept.low <= -0.2 <= bootstrapped.intercept.high,
        ]
    assert hits / trials == pytest.approx([covers] * 2, abs=3 * np.sqrt(covers * (1 - covers) / trials) + 0.005)


@pytest.mark.parametrize("scale", Scale)
def test_the_band_holds_the_line(scale):
    x, y = models()
    band = fit(x, y, scale=scale, draws=2000, band_points=50).band
    assert (band.low < band.line).all()
    assert (band.line < band.high).all()
    assert (band.high - band.low)[25] < (band.high - band.low)[[0, -1]].min()
    assert fit(x, y, band_points=0).band is None


def test_bootstrap_line_raises_if_undefined():
    with pytest.raises(UndefinedError, match="same accuracy"):
        fit([0.5, 0.5, 0.5], [0.1, 0.2, 0.3])
    alike = next(seed for seed in range(100) if np.ptp(rng(seed).integers(3, size=3, dtype=np.int32)) == 0)
    with pytest.raises(UndefinedError, match="no draw"):  # one draw, of one model three times
        fit([0.5, 0.6, 0.7], [0.1, 0.2, 0.3], rng=rng(alike), draws=1)
    with pytest.raises(InputError, match="fractions"):
        fit([50, 60, 70], [0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="confidence"):
        fit([0.5, 0.6, 0.7], [0.1, 0.2, 0.3], confidence=95)
