"""Generalization: by hand, against numpy and statsmodels, on simulated models, and errors."""

import json
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import ttest_rel

from benchmarks.calibration.worlds import correct_predictions, counted
from regrade.core import InputError, UndefinedError, UnknownName
from regrade.core.record import json_value
from regrade.stats import Scale, proportion
from regrade.studies import AdaptivityVerdict, Grade, GradeRow, ModelCounts, SetCounts, SetPair, counts_of
from regrade.studies.generalization.analysis import generalization
from regrade.studies.set_counts import ImageNoise


def counts(name, rights, images, top5=None):
    models = {
        model: ModelCounts(right, images, None if top5 is None else top5[model]) for model, right in rights.items()
    }
    return SetCounts(name, models)


def study(old, new, *, images=1000, new_images=500, **options):
    pair = SetPair(counts("old", old, images), counts("new", new, new_images))
    return generalization([pair], rng=np.random.default_rng(0), **options)


OLD = {"a": 900, "b": 800, "c": 700, "d": 500}
NEW = {"a": 400, "b": 350, "c": 300, "d": 200}  # 80, 70, 60 and 40%: each ten points below


class TestByHand:
    result = study(OLD, NEW, scale=Scale.LINEAR)

    def test_accuracies_gaps_and_ranks(self):
        row = self.result.rows[0]
        assert (row.model, row.original.value, row.new.value) == ("a", 0.9, 0.8)
        assert row.gap.value == pytest.approx(0.1)
        assert (row.original.method, row.gap.method) == ("clopper-pearson 95%", "newcombe 95%")
        assert [(r.model, r.original_rank, r.new_rank, r.rank_change) for r in self.result.rows] == [
            ("a", 1, 1, 0), ("b", 2, 2, 0), ("c", 3, 3, 0), ("d", 4, 4, 0),
        ]  # fmt: skip

    def test_line(self):
        (shift,) = self.result.shifts
        line = shift.line(Scale.LINEAR)
        assert (line.slope.value, line.intercept.value, line.r_squared) == pytest.approx((1, -0.1, 1), abs=0.005)
        assert (line.published, line.reliability) == (None, pytest.approx(0.994, abs=0.001))
        assert shift.mean_change.value == pytest.approx(-0.1)
        assert shift.mean_change_top5 is None

    def test_effective_robustness_on_the_line_is_zero(self):
        assert [row.robustness.value for row in self.result.rows] == pytest.approx([0] * 4)
        assert all(row.robustness.low < 0 < row.robustness.high for row in self.result.rows)
        assert [row.expected for row in self.result.rows] == pytest.approx([0.8, 0.7, 0.6, 0.4])

    def test_loss_parts(self):
        losses = self.result.shifts[0].losses
        assert losses.observed == pytest.approx(-0.1)
        bounds = [proportion(right, 500, confidence=1 - 0.05 / 4) for right in NEW.values()]
        assert losses.sampling.high == pytest.approx(np.mean([b.value - b.low for b in bounds]))
        assert losses.sampling.low == pytest.approx(np.mean([b.value - b.high for b in bounds]))
        assert losses.rest.low == pytest.approx(-0.1 - losses.sampling.high)
        assert losses.rest.high == pytest.approx(-0.1 - losses.sampling.low)
        assert losses.as_dict()["not_identified"] == ["adaptivity", "distribution"]

    def test_table_and_json(self):
        assert "a" in str(self.result) and "points that the accuracy changes" in str(self.result)
        data = json.loads(json.dumps(self.result.as_dict(), allow_nan=False))
        assert data["sets"][0]["lines"]["linear"]["slope"]["value"] == pytest.approx(1, abs=0.005)
        assert len(data["sets"][0]["lines"]["linear"]["band"]["x"]) == 100
        assert "band" not in data["sets"][0]["lines"]["logit"]
        assert len(self.result.sets_table().rows) == 1 and len(self.result.lines_table().rows) == 3


def test_tied_models_share_a_rank_range():
    result = study({"x": 900, "b": 800, "a": 800, "y": 500}, {"x": 300, "b": 400, "a": 300, "y": 100})
    ranks = {row.model: (row.original_rank, row.new_rank, row.rank_change) for row in result.rows}
    last = {row.model: (row.original_rank_last, row.new_rank_last) for row in result.rows}
    assert ranks == {"x": (1, 2, -1), "a": (2, 2, 0), "b": (2, 1, 1), "y": (4, 4, 0)}
    assert last == {"x": (1, 3), "a": (3, 3), "b": (3, 1), "y": (4, 4)}
    assert {"original_rank_last", "new_rank_last"} <= {column.key for column in result.table().columns}
    assert {"to rank", "to new rank"} <= {column.heading for column in result.table().columns}


def test_ranks_without_ties_have_one_column():
    result = study({"x": 900, "b": 800, "y": 500}, {"x": 300, "b": 400, "y": 100})
    assert not [column.key for column in result.table().columns if column.key.endswith("_last")]


RNG = np.random.default_rng(7)
MANY_OLD = {f"m{i}": int(k) for i, k in enumerate(RNG.integers(500, 950, 25))}
MANY_NEW = {m: int(np.clip(k / 2 - 40 + RNG.normal(0, 12), 1, 499)) for m, k in MANY_OLD.items()}


@pytest.mark.parametrize("scale", Scale)
def test_published_lines_are_least_squares(scale):
    shift = study(MANY_OLD, MANY_NEW, draws=100).shifts[0]
    x, y = (scale.transform(np.array(list(k.values())) / n) for k, n in ((MANY_OLD, 1000), (MANY_NEW, 500)))
    line = shift.line(scale)
    published = line.published
    assert (published.slope.value, published.intercept.value) == pytest.approx(tuple(np.polyfit(x, y, 1)))
    assert (published.draws, published.slope.method) == (100, "bootstrap over models 95%")
    assert line.r_squared == pytest.approx(sm.OLS(y, sm.add_constant(x)).fit().rsquared)
    assert (line.slope.n, line.slope.method) == (25, "robust t over models and images 95%")
    assert line.slope.low < published.slope.value < line.slope.high
    assert "least squares, bootstrap over models 95%: slope" in line.in_words()


def test_effective_robustness_uses_the_line_through_standard_models():
    standard = [f"m{i}" for i in range(15)]
    result = study(MANY_OLD, {**MANY_NEW, "m20": 480}, standard=standard)
    x, y = (
        Scale.LOGIT.transform(np.array([k[m] for m in standard]) / n) for k, n in ((MANY_OLD, 1000), (MANY_NEW, 500))
    )
    slope, intercept = np.polyfit(x, y, 1)
    row = next(row for row in result.rows if row.model == "m20")
    expected = Scale.LOGIT.inverse(slope * Scale.LOGIT.transform(MANY_OLD["m20"] / 1000) + intercept)
    assert row.robustness.value == pytest.approx(480 / 500 - expected)
    assert row.robustness.low > 0
    assert (row.standard, result.shifts[0].standard, result.shifts[0].models) == (False, 15, 25)
    assert "15 standard models" in str(result)


def simulated(rng, models, images, *, shift=0.5, spread=1.2, new_spread=0.8):
    """Counts of models on images with Gaussian difficulties, and the true u and v."""
    skills = rng.normal(0.9, 0.6, models)
    u = np.sqrt((1 + spread**2) / (1 + new_spread**2))
    v = -shift / np.sqrt(1 + new_spread**2)
    right = np.empty((2, models), dtype=int)
    for place, (mean, sd) in enumerate(((0, spread), (shift, new_spread))):
        difficulty = rng.normal(mean, sd, images)
        right[place] = (rng.random((models, images)) < ndtr(skills[:, None] - difficulty)).sum(axis=1)
    return right, u, v


def test_u_and_v_are_recovered():
    right, u, v = simulated(np.random.default_rng(1), 60, 40_000)
    old, new = ({f"m{i}": int(k) for i, k in enumerate(side)} for side in right)
    difficulty = study(old, new, images=40_000, new_images=40_000).shifts[0].difficulty
    assert (difficulty.u.value, difficulty.v.value) == pytest.approx((u, v), abs=0.03)
    assert "spread less" in difficulty.in_words() and "harder" in difficulty.in_words()


def binomial(name, accuracies, images, rng):
    """Counts of models with independent errors, with the sampling noise of their accuracies."""
    right = rng.binomial(images, accuracies)
    shares = right / images
    models = tuple(f"m{i}" for i in range(len(right)))
    noise = ImageNoise(models, np.diag(shares * (1 - shares) / images))
    return replace(counts(name, dict(zip(models, right.tolist(), strict=True)), images), noise=noise)


def test_coverage_of_u_v_gap_and_robustness():
    # models scatter about the line by skills of their own on the new set, which is what the intervals are over
    rng, runs, models, images = np.random.default_rng(2), 600, 60, 5_000
    u, v, hits = 1.1, -0.3, dict.fromkeys(("u", "v", "gap", "robustness"), 0)
    for _ in range(runs):
        z = rng.normal(0.6, 0.5, models)
        p, off = ndtr(z), rng.normal(0, 0.05, models)
        q = ndtr(u * z + v + off)
        pair = SetPair(*(binomial(name, side, images, rng) for name, side in (("old", p), ("new", q))))
        result = generalization([pair], rng=rng, scale=Scale.PROBIT, band_points=0)
        shift, row = result.shifts[0], next(row for row in result.rows if row.model == "m0")
        hits["u"] += shift.difficulty.u.low <= u <= shift.difficulty.u.high
        hits["v"] += shift.difficulty.v.low <= v <= shift.difficulty.v.high
        hits["gap"] += row.gap.low <= p[0] - q[0] <= row.gap.high
        hits["robustness"] += row.robustness.low <= q[0] - ndtr(u * z[0] + v) <= row.robustness.high
    shares = {name: count / runs for name, count in hits.items()}
    assert all(0.93 <= share <= 0.985 for share in shares.values()), shares


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 500)), min_size=3, max_size=8))
def test_any_counts_give_finite_results(pairs):
    if len({old for old, _ in pairs}) == 1:
        return
    old, new = ({f"m{i}": pair[side] for i, pair in enumerate(pairs)} for side in (0, 1))
    result = study(old, new, draws=200, band_points=5)
    middles = [(row.original_rank + row.original_rank_last) / 2 for row in result.rows]
    assert sum(middles) == sum(range(1, len(pairs) + 1))
    assert all(row.rank_change == row.original_rank - row.new_rank for row in result.rows)
    for row in result.rows:
        assert row.gap.low <= row.gap.value <= row.gap.high
        assert row.robustness.low <= row.robustness.value <= row.robustness.high
    json.dumps(result.as_dict(), allow_nan=False)


class TestOverfitting:
    def verdict(self, slope, offset, *, noise=4):
        rng = np.random.default_rng(3)
        old = {f"m{i}": 5_000 + 130 * i for i in range(30)}
        new = {m: int(slope * k + 10_000 * offset + rng.normal(0, noise)) for m, k in old.items()}
        return study(old, new, images=10_000, new_images=10_000, draws=100).shifts[0].adaptivity

    def test_gains_that_carry_over(self):
        result = self.verdict(1.1, -0.15)
        assert result.verdict.value == "no sign of diminishing returns"
        assert result.slope.low > 1

    def test_gains_that_a_ceiling_enlarges_are_not_shown_on_the_probit_scale(self):
        """On the probit scale the slope is about 1: the original is so easy that differences are small in points."""
        old = {f"m{i}": 8_000 + 60 * i for i in range(30)}
        new = {model: int(10_000 * ndtr(ndtri(right / 10_000) - 0.8)) for model, right in old.items()}
        shift = study(old, new, images=10_000, new_images=10_000).shifts[0]
        words = shift.adaptivity.in_words()
        assert shift.adaptivity.slope.low > 1 > shift.adaptivity.probit_slope.low
        assert words.startswith("no sign of diminishing returns in points, not shown on the probit scale (")
        low, high = (f"{100 * ndtr(bound):.1f}" for bound in (shift.difficulty.v.low, shift.difficulty.v.high))
        assert f"[{low}, {high}] of the new ones" in shift.difficulty.in_words()

    def test_gains_that_shrink(self):
        result = self.verdict(0.6, 0.1)
        assert result.verdict.value == "diminishing returns"
        assert "adaptive overfitting would give such a slope" in result.in_words()

    def test_easier_set_shrinks_gains_without_overfitting(self):
        result = self.verdict(0.6, 0.32)
        assert result.verdict.value == "diminishing returns"
        assert "easier" in result.in_words()

    def test_undetermined_slope(self):
        assert self.verdict(1.0, -0.1, noise=200).verdict.value == "cannot be told"


class TestSeveralSets:
    def test_rows_follow_the_order_of_sets(self):
        old = counts("old", OLD, 1000, dict.fromkeys(OLD, 950))
        sets = [counts(name, NEW, 500, dict.fromkeys(NEW, top5)) for name, top5 in (("z", 450), ("y", 500))]
        result = generalization([SetPair(old, new) for new in sets], rng=np.random.default_rng(0))
        assert [row.new_set for row in result.rows[:3]] == ["z", "y", "z"]
        assert [shift.mean_change_top5.value for shift in result.shifts] == pytest.approx([-0.05, 0.05])
        assert "new set" in str(result)

    def test_models_on_one_set_only_are_left_out_and_named(self):
        result = study({**OLD, "only_old": 10}, {**NEW, "only_new": 10})
        assert result.shifts[0].left_out == ("only_new", "only_old")
        assert {row.model for row in result.rows} == set(OLD)
        assert "left out, since they have predictions on one of the two sets only: only_new, only_old" in str(result)

    def test_the_same_seed_gives_the_same_study(self):
        assert study(OLD, NEW).as_dict() == study(OLD, NEW).as_dict()


class TestBadInput:
    def test_too_few_models(self):
        with pytest.raises(InputError, match=r"three models on both old and new, got 2 \(a, b\)"):
            study({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "d": 3})

    def test_too_few_standard_models(self):
        with pytest.raises(InputError, match=r"three standard models .* got 2"):
            study(OLD, NEW, standard=["a", "b"])

    def test_an_unknown_standard_model(self):
        with pytest.raises(UnknownName, match="standard model 'aa'"):
            study(OLD, NEW, standard=["aa", "b", "c"])

    def test_equal_models_raise(self):
        with pytest.raises(UndefinedError, match="no line to fit"):
            study(dict.fromkeys("abc", 500), {"a": 1, "b": 2, "c": 3})

    def test_inconsistent_sets_raise(self):
        old, new = counts("old", OLD, 1000), counts("new", NEW, 500)
        rng = np.random.default_rng(0)
        for pairs, words in (
            ([], "got none"),
            ([SetPair(old, new), SetPair(new, old)], "one original"),
            ([SetPair(old, old)], "both as the original and as a new"),
            ([SetPair(old, new), SetPair(old, new)], "named twice"),
        ):
            with pytest.raises(InputError, match=words):
                generalization(pairs, rng=rng)

    @pytest.mark.parametrize("wrong", [(3, 2, None), (-1, 2, None), (1, 2, 3), (0, 0, None)])
    def test_invalid_counts_raise(self, wrong):
        with pytest.raises(InputError):
            ModelCounts(*wrong)


def test_counts_of_a_grade():
    def row(model, slice_, top1, top5):
        return GradeRow(model, slice_, top1, top5, None, None, None, 0, 0, 0, None)

    rows = (
        row("a", "all", proportion(41_430, 50_000), proportion(48_000, 50_000)),
        row("a", "dogs", proportion(1, 2), None),
        row("b", "all", None, None),
        row("c", "all", proportion(1, 3), None),
    )
    result = counts_of(Grade("val", None, None, None, rows, ("label space: within", "intervals: x")))
    assert result.models == {"a": ModelCounts(41_430, 50_000, 48_000), "c": ModelCounts(1, 3)}
    assert result.notes == ("val: label space: within",)


def test_every_model_right_or_wrong_everywhere():
    result = study({"a": 1000, "b": 500, "c": 0}, {"a": 500, "b": 250, "c": 0})
    (shift,) = result.shifts
    assert shift.line(Scale.LINEAR).slope.low < 1 < shift.line(Scale.LINEAR).slope.high
    assert shift.mean_change.low < 0 < shift.mean_change.high
    json.dumps(result.as_dict(), allow_nan=False)


def test_a_line_does_not_depend_on_the_other_sets():
    old, new = counts("old", OLD, 1000), counts("new", NEW, 500)
    third = counts("other", {"a": 380, "b": 340, "c": 310, "d": 210}, 500)
    alone = generalization([SetPair(old, new)], rng=np.random.default_rng(3)).shifts[0]
    last = generalization([SetPair(old, third), SetPair(old, new)], rng=np.random.default_rng(3)).shifts[1]
    assert alone.line(Scale.PROBIT).slope == last.line(Scale.PROBIT).slope


def test_verdict_on_overfitting_is_corrected_for_the_number_of_sets():
    rng, accuracies = np.random.default_rng(0), np.linspace(0.5, 0.9, 20)
    old = counted("old", correct_predictions(rng, accuracies, images=2_000))
    shrunk = 0.7 + 0.93 * (accuracies - 0.7)
    new = [counted(f"new {place}", correct_predictions(rng, shrunk, images=2_000)) for place in range(6)]
    together = generalization([SetPair(old, each) for each in new], rng=rng, band_points=0)
    verdicts = set()
    for each, shift in zip(new, together.shifts, strict=True):
        (alone,) = generalization([SetPair(old, each)], rng=rng, band_points=0).shifts
        alone_verdict, all_six = alone.adaptivity, shift.adaptivity
        assert alone_verdict.slope == alone.line(Scale.LINEAR).slope == shift.line(Scale.LINEAR).slope
        assert all_six.slope.low < alone_verdict.slope.low < alone_verdict.slope.high < all_six.slope.high
        assert all_six.slope.method == "robust t over models and images, 6 together 95%"
        verdicts.add((alone_verdict.verdict, all_six.verdict))
    assert (AdaptivityVerdict.DIMINISHING, AdaptivityVerdict.UNDETERMINED) in verdicts


def test_difficulty_makes_no_claim_with_few_models():
    """Three models nearly on a line: bootstrap draws hardly vary, which is not evidence."""
    (shift,) = study({"a": 900, "b": 700, "c": 500}, {"a": 480, "b": 368, "c": 240}, draws=1000).shifts
    assert shift.line(Scale.PROBIT).published.slope.low > 1 > shift.difficulty.u.low
    assert "no other spread" in shift.difficulty.in_words()


def drawn_pair(accuracies, images, new_images, rng):
    """Models of these accuracies on two samples of the same kind of image."""
    old = counted("old", correct_predictions(rng, accuracies, images=images))
    return SetPair(old, counted("new", correct_predictions(rng, accuracies, images=new_images)))


def no_shift(models, images, rng, *, around=0.7, width=0.3):
    """The study of two samples of the same kind of image, and its only shift."""
    accuracies = around + width * rng.uniform(-0.5, 0.5, models)
    pair = drawn_pair(accuracies, images, images, rng)
    return generalization([pair], rng=rng, band_points=0).shifts[0]


class TestNoShift:
    """Two samples of the same kind of image differ only by chance: any claim about them is false."""

    REPETITIONS = 200
    MOST = 19  # claims in 200 that 5 % exceed in 1 of 375

    @pytest.mark.parametrize("models", [5, 30])
    def test_no_change_is_claimed(self, models):
        rng = np.random.default_rng(models)
        shifts = [no_shift(models, 500, rng) for _ in range(self.REPETITIONS)]
        changes = [shift.mean_change for shift in shifts]
        assert sum(change.low > 0 or change.high < 0 for change in changes) <= self.MOST
        verdicts = [shift.adaptivity.verdict for shift in shifts]
        assert verdicts.count(AdaptivityVerdict.DIMINISHING) <= self.MOST
        assert verdicts.count(AdaptivityVerdict.NO_SIGN) <= self.MOST

    def test_interval_over_models_alone_claims_too_often(self):
        """The check can fail: a t interval over models alone ignores the shared images and claims far too often."""
        rng = np.random.default_rng(3)
        claimed = 0
        for _ in range(50):
            accuracies = 0.7 + 0.3 * rng.uniform(-0.5, 0.5, 30)
            old, new = (correct_predictions(rng, accuracies, images=500).mean(axis=1) for _ in range(2))
            claimed += ttest_rel(new, old).pvalue < 0.05
        assert claimed > 20

    def test_models_close_together_have_no_slope(self):
        """26 models within 4 points on 1,000 images: least squares gives a slope of 0.5 where 1 is true."""
        rng = np.random.default_rng(5)
        shifts = [no_shift(26, 1000, rng, width=0.04) for _ in range(40)]
        with_slope = [shift for shift in shifts if shift.adaptivity.slope is not None]
        assert len(with_slope) <= 3
        untold = next(shift for shift in shifts if shift.adaptivity.slope is None)
        assert untold.adaptivity.verdict is AdaptivityVerdict.NO_SPREAD
        assert untold.difficulty.in_words() == "not enough spread to tell"
        assert "not enough spread to tell" in untold.line(Scale.LINEAR).in_words()
        json.dumps(json_value(untold), allow_nan=False)


def test_interval_is_wider_from_counts_alone():
    rng = np.random.default_rng(11)
    accuracies = np.linspace(0.5, 0.9, 12)
    pair = drawn_pair(accuracies, 2000, 1000, rng)
    bare = SetPair(replace(pair.original, noise=None), replace(pair.new, noise=None))
    exact, bounded = (generalization([sets], rng=rng).shifts[0] for sets in (pair, bare))
    assert exact.mean_change.half_width < bounded.mean_change.half_width < 2 * exact.mean_change.half_width
    assert bounded.mean_change.method == "t over models and images 95%, bounded from counts"
    assert exact.line(Scale.LINEAR).slope.half_width < bounded.line(Scale.LINEAR).slope.half_width
