import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from statsmodels.regression.linear_model import OLS

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import Scale, bootstrap_line, bootstrap_lines, fit_line, fit_lines
from regrade.stats.line_fit import _ranked

quick = settings(deadline=None, max_examples=50, derandomize=True)


def rng(seed=0):
    return np.random.default_rng(seed)


def models(m=40, seed=0, noise=0.01):
    """Accuracies on an original test set and on a harder one."""
    draw = rng(seed)
    x = draw.uniform(0.55, 0.85, m)
    return x, np.clip(1.1 * x - 0.2 + noise * draw.standard_normal(m), 0, 1)


def test_a_line_by_hand():
    # x = 0.1, 0.2, 0.3; y = 0.2, 0.3, 0.7: slope 0.05 / 0.02, through (0.2, 0.4)
    line = fit_line([0.1, 0.2, 0.3], [0.2, 0.3, 0.7])
    assert line.slope.value == pytest.approx(2.5)
    assert line.intercept.value == pytest.approx(-0.1)
    # residuals 0.05, -0.1, 0.05 against deviations -0.2, -0.1, 0.3
    assert line.r_squared == pytest.approx(1 - 0.015 / 0.14)
    assert line.predict(0.4) == pytest.approx(0.9)
    assert (line.slope.n, line.slope.method) == (3, "robust t over models 95%")


def test_an_interval_by_hand():
    # as above: leverages 5/6, 1/3, 5/6, weights in the slope -5, 0, 5, and one degree of freedom
    line = fit_line([0.1, 0.2, 0.3], [0.2, 0.3, 0.7])
    reach = 12.7062047 * np.sqrt(2 * 25 * 0.05**2 / (1 / 6))
    assert [line.slope.low, line.slope.high] == pytest.approx([2.5 - reach, 2.5 + reach])


def test_model_with_full_leverage_uses_variance_of_others():
    # the line goes through the third; the first two scatter by 2 * 0.01^2 on one degree of freedom
    line = fit_line([0.5, 0.5, 0.7], [0.4, 0.42, 0.6])
    assert line.slope.value == pytest.approx(0.95)
    reach = 12.7062047 * np.sqrt(2 * 2.5**2 * 0.01**2 / 0.5 + 5**2 * 2 * 0.01**2)
    assert [line.slope.low, line.slope.high] == pytest.approx([0.95 - reach, 0.95 + reach])
    near = fit_line([0.5, 0.5 + 1e-9, 0.7], [0.4, 0.42, 0.6])
    assert near.slope.low == pytest.approx(line.slope.low, rel=1e-3)


@pytest.mark.parametrize("scale", Scale)
def test_agrees_with_polyfit_and_linregress(scale):
    x, y = models()
    transform = {Scale.LINEAR: lambda v: v, Scale.PROBIT: stats.norm.ppf, Scale.LOGIT: special.logit}[scale]
    line = fit_line(x, y, scale=scale)
    slope, intercept = np.polyfit(transform(x), transform(y), 1)
    assert [line.slope.value, line.intercept.value] == pytest.approx([slope, intercept])
    expected = stats.linregress(transform(x), transform(y))
    assert [line.slope.value, line.r_squared] == pytest.approx([expected.slope, expected.rvalue**2])
    assert line.scale is scale


def by_matrices(a, b, weights, confidence):
    """Value and half-length for a weighted sum (m,) of b, and the degrees of freedom, from whole matrices."""
    design = np.column_stack([np.ones(len(a)), a])
    rest = np.eye(len(a)) - design @ np.linalg.pinv(design)
    middle = np.diag(weights**2 / np.diag(rest))
    form = rest @ middle @ rest
    freedom = np.trace(form) ** 2 / np.trace(form @ form)
    return weights @ b, stats.t(freedom).ppf((1 + confidence) / 2) * np.sqrt(b @ form @ b), freedom


@pytest.mark.parametrize("m", [4, 12, 60])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_agree_with_matrices(m, confidence):
    x, y = models(m, noise=0.03)
    line = fit_line(x, y, confidence=confidence, band_points=5)
    solve = np.linalg.pinv(np.column_stack([np.ones(m), x]))
    for estimate, weights in ((line.intercept, solve[0]), (line.slope, solve[1])):
        value, reach, freedom = by_matrices(x, y, weights, confidence)
        assert [estimate.value, estimate.half_width] == pytest.approx([value, reach])
        assert 1 <= freedom < m - 2
    for place, low, high in zip(line.band.x, line.band.low, line.band.high, strict=True):
        value, reach, _ = by_matrices(x, y, solve[0] + place * solve[1], confidence)
        assert [low, high] == pytest.approx([value - reach, value + reach])


def test_intervals_agree_with_statsmodels_where_models_are_many():
    x, y = models(400, noise=0.03)
    line = fit_line(x, y)
    expected = OLS(y, np.column_stack([np.ones(400), x])).fit(cov_type="HC2").conf_int()
    assert [line.intercept.low, line.intercept.high] == pytest.approx(expected[0], rel=3e-3)
    assert [line.slope.low, line.slope.high] == pytest.approx(expected[1], rel=3e-3)


@pytest.mark.parametrize("scale", Scale)
@given(values=st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=20))
@quick
def test_scales_undo_themselves(scale, values):
    np.testing.assert_allclose(scale.inverse(scale.transform(values)), values, rtol=1e-9)


@given(seed=st.integers(0, 10**6), m=st.integers(3, 30))
@quick
def test_line_goes_through_the_center_and_mirrors_for_errors(seed, m):
    draw = rng(seed)
    x, y = draw.random((2, m))
    line, mirror = fit_line(x, y), fit_line(1 - x, 1 - y)
    assert line.predict(x.mean()) == pytest.approx(y.mean())
    assert mirror.slope.value == pytest.approx(line.slope.value)
    assert mirror.slope.low == pytest.approx(line.slope.low, rel=1e-6)
    assert mirror.intercept.value == pytest.approx(1 - line.slope.value - line.intercept.value)
    assert line.r_squared == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2, abs=1e-9)
    assert line.slope.low <= line.slope.value <= line.slope.high
    assert line.intercept.low <= line.intercept.value <= line.intercept.high


PLACES = {
    "even": lambda m: np.linspace(0.55, 0.85, m),
    "a long tail": lambda m: 0.86 - 0.3 * np.linspace(0.05, 1, m) ** 3,
    "a few weak": lambda m: np.r_[np.linspace(0.3, 0.4, m // 5), np.linspace(0.7, 0.85, m - m // 5)],
}
SCATTER = {
    "all alike": lambda m: np.full(m, 0.01),
    "four times at one end": lambda m: np.geomspace(0.02, 0.005, m),
    "four times at the other": lambda m: np.geomspace(0.005, 0.02, m),
}
TRUE_LINES = {Scale.LINEAR: (1.1, -0.2, 1), Scale.PROBIT: (0.95, -0.3, 3)}  # and how much wider the scatter


def simulated_coverage(places, scatter, m, scale, trials=4000):
    """How often slope, intercept and band (at three places) hold the true line."""
    slope, intercept, wider = TRUE_LINES[scale]
    x = PLACES[places](m)
    noise = wider * SCATTER[scatter](m) * rng(m).standard_normal((trials, m))
    fits = fit_lines(x, scale.inverse(slope * scale.transform(x) + intercept + noise), scale=scale, band_points=3)
    bounds = [(fit.slope, fit.intercept) for fit in fits]
    low, high = (
        np.column_stack(
            [[[getattr(part, side) for part in pair] for pair in bounds], [getattr(fit.band, side) for fit in fits]]
        )
        for side in ("low", "high")
    )
    truth = np.r_[slope, intercept, scale.inverse(slope * scale.transform(fits[0].band.x) + intercept)]
    return ((low <= truth) & (truth <= high)).mean(axis=0), 3 * np.sqrt(0.95 * 0.05 / trials)


@pytest.mark.parametrize("scale", TRUE_LINES)
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("m", [5, 10, 20, 60])
def test_covers_the_true_line(places, m, scale):
    covered, error = simulated_coverage(places, "all alike", m, scale)
    assert (covered > 0.95 - error - 0.003).all()
    if places == "even" and m >= 20:  # elsewhere one or two models decide, and the interval must be wide
        assert (covered < 0.95 + error + 0.007).all()


@pytest.mark.parametrize(
    ("m", "scale"), [(10, Scale.LINEAR), (20, Scale.LINEAR), (20, Scale.PROBIT), (60, Scale.LINEAR)]
)
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("scatter", ["four times at one end", "four times at the other"])
def test_coverage_is_near_nominal_for_heteroscedastic_residuals(places, scatter, m, scale):
    covered, error = simulated_coverage(places, scatter, m, scale)
    assert (covered > 0.95 - error - 0.02).all()


@pytest.mark.parametrize("scale", Scale)
def test_the_band_holds_the_line(scale):
    x, y = models()
    line = fit_line(x, y, scale=scale, band_points=50)
    band = line.band
    assert band.x.shape == band.line.shape == band.low.shape == band.high.shape == (50,)
    assert [band.x[0], band.x[-1]] == pytest.approx([x.min(), x.max()])
    np.testing.assert_allclose(band.line, line.predict(band.x))
    assert (band.low < band.line).all()
    assert (band.line < band.high).all()
    assert (band.high - band.low)[25] < (band.high - band.low)[[0, -1]].min()
    assert fit_line(x, y, band_points=0).band is None


def test_fit_lines_equals_separate_fits():
    x, y = models()
    together = fit_lines(x, [y, 1 - y, y**2])
    for line, new in zip(together, (y, 1 - y, y**2), strict=True):
        alone = fit_line(x, new)
        assert line.slope.as_dict() == pytest.approx(alone.slope.as_dict())
        np.testing.assert_allclose(line.band.high, alone.band.high)
    assert together[1].slope.value == pytest.approx(-together[0].slope.value)
    assert together[1].intercept.value == pytest.approx(1 - together[0].intercept.value)


def test_accuracies_that_differ_by_one_image_still_have_a_slope():
    # with 50,000 images the first two differ by 2e-5, and the line goes through the third, nearly
    line = fit_line([0.6, 0.60002, 0.9], [0.5, 0.50004, 0.8])
    assert line.slope.value == pytest.approx(1, abs=1e-3)
    assert 0 < line.slope.half_width < 0.01


@pytest.mark.parametrize("scale", [Scale.PROBIT, Scale.LOGIT])
def test_accuracies_of_zero_and_one_are_moved_in_by_half_an_image(scale):
    x, y = [0.0, 0.4, 0.7, 1.0], [0.1, 0.3, 0.6, 1.0]
    with pytest.raises(UndefinedError, match=f"no {scale.value}"):
        fit_line(x, y, scale=scale)
    line = fit_line(x, y, scale=scale, images=100)
    inside = fit_line([0.005, 0.4, 0.7, 0.995], [0.1, 0.3, 0.6, 0.995], scale=scale)
    assert line.slope == inside.slope
    assert fit_line(x, y, images=100).slope == fit_line(x, y).slope  # nothing to move on the plain scale


def test_constant_y_has_r_squared_1():
    for level in (0.1, 0.3, 0.7, 1 / 3, 0.123):
        line = fit_line([0.1, 0.2, 0.35, 0.7, 0.8, 0.85, 0.9], [level] * 7)
        assert line.slope.value == pytest.approx(0, abs=1e-12)
        assert line.r_squared == 1


def test_a_perfect_line_is_its_own_interval():
    line = fit_line([0.2, 0.4, 0.6, 0.9], [0.3, 0.4, 0.5, 0.65])
    assert [line.slope.low, line.slope.high] == pytest.approx([0.5, 0.5])


def test_probit_line_recovers_the_difficulty_model():
    # Recht et al. 2019, appendix B: right with chance Phi(skill - difficulty), difficulty normal
    mean, spread, new_mean, new_spread = 0.0, 1.0, 0.4, 0.7
    draw = rng(8)
    skills = np.linspace(-0.5, 2.5, 25)[:, None]
    original = (draw.random((25, 40_000)) < special.ndtr(skills - draw.normal(mean, spread, 40_000))).mean(axis=1)
    new = (draw.random((25, 40_000)) < special.ndtr(skills - draw.normal(new_mean, new_spread, 40_000))).mean(axis=1)
    line = fit_line(original, new, scale=Scale.PROBIT)
    assert line.slope.value == pytest.approx(np.sqrt((1 + spread**2) / (1 + new_spread**2)), abs=0.02)
    assert line.intercept.value == pytest.approx((mean - new_mean) / np.sqrt(1 + new_spread**2), abs=0.02)
    assert line.r_squared > max(0.998, fit_line(original, new).r_squared)


def test_fit_line_raises_if_undefined():
    with pytest.raises(UndefinedError, match="same accuracy"):
        fit_line([0.5, 0.5, 0.5], [0.1, 0.2, 0.3])
    with pytest.raises(UndefinedError, match="three models"):
        fit_line([0.5, 0.6], [0.1, 0.2])
    with pytest.raises(UndefinedError, match="no line"):  # all alike once they are moved in
        fit_line([0, 1e-6, 2e-6], [0.1, 0.2, 0.3], scale=Scale.LOGIT, images=100)
    with pytest.raises(InputError, match="shape"):
        fit_line([0.5, 0.6, 0.7], [0.1, 0.2])
    for wrong in ([50, 60, 70], [-0.1, 0.5, 0.6], [float("nan"), 0.5, 0.6]):
        with pytest.raises(InputError, match="fractions"):
            fit_line(wrong, [0.1, 0.2, 0.3])
        with pytest.raises(InputError, match="fractions"):
            fit_line([0.1, 0.2, 0.3], wrong)
    with pytest.raises(InputError, match="confidence"):
        fit_line([0.5, 0.6, 0.7], [0.1, 0.2, 0.3], confidence=95)


@pytest.mark.parametrize("scale", Scale)
def test_the_band_at_given_accuracies(scale):
    x, y = np.linspace(0.4, 0.9, 12), np.linspace(0.3, 0.85, 12) ** 1.1
    full = fit_lines(x, y[None], scale=scale, band_points=3)[0].band
    at = fit_lines(x, y[None], scale=scale, at=full.x[::-1])[0].band
    for part in ("x", "line", "low", "high"):
        assert getattr(at, part)[::-1] == pytest.approx(getattr(full, part))


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
    monkeypatch.setattr("regrade.stats.line_fit._BLOCK", 70)  # 7 draws at a time
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


def test_bootstrap_of_accuracies_that_differ_by_one_image_has_a_slope():
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
def test_the_bootstrap_band_holds_the_line(scale):
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
