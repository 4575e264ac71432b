"""Tests of plans from assumed and measured rates, against regrade.stats and by simulation."""

import itertools
import json
import math

import numpy as np
import pytest

from regrade.core import (
    ClassSpace,
    Estimate,
    InputError,
    LabelSet,
    LabelState,
    Predictions,
    TestSet,
    TooManyImages,
    Unlisted,
)
from regrade.metrics import MultilabelRule
from regrade.stats import (
    disparity_power,
    images_for_difference,
    images_per_group,
    independent_disagreement,
    mcnemar,
    mcnemar_power,
    proportion,
    smallest_difference,
)
from regrade.studies import (
    Basis,
    Contrast,
    GroupContrast,
    MultilabelScoring,
    PlanOptions,
    ReviewedLabels,
    ReviewedPair,
    Scoring,
    assumed_ranking,
    compare_correctness,
    contrasts_of,
    extreme_groups,
    plan_accuracy,
    plan_difference,
    plan_disparity,
    plan_rank,
    plan_ranks_of,
    plan_review,
    reviewed_pair,
)


def comparison(models: int = 4, images: int = 3000, step: float = 0.03):
    rng = np.random.default_rng(0)
    hard = rng.random(images)
    skill = np.linspace(0.6, 0.6 + step * (models - 1), models)[:, None]
    correct = hard + 0.1 * rng.standard_normal((models, images)) < skill
    return compare_correctness(tuple(f"m{i}" for i in range(models)), correct, basis=Basis("set", images))


class TestOptions:
    @pytest.mark.parametrize("value", [0, 1, -0.1, 80, math.nan])
    def test_options_are_shares(self, value):
        with pytest.raises(InputError, match="power"):
            PlanOptions(power=value)
        with pytest.raises(InputError, match="confidence"):
            PlanOptions(confidence=value)


class TestAccuracy:
    def test_worst_case_needs_the_most(self):
        plan = plan_accuracy([("a", 0.5), ("b", 0.9)], 0.01)
        first, second = (row.needed for row in plan.rows)
        assert first == 9701 > second
        assert all(row.power >= 0.8 for row in plan.rows)

    def test_measured_accuracies_bring_their_images(self):
        plan = plan_accuracy([("a", proportion(700, 1000))], 0.01)
        assert plan.rows[0].available == 1000
        assert any("as measured" in note for note in plan.notes)
        assert json.loads(json.dumps(plan.as_dict(), allow_nan=False))["rows"][0]["accuracy"]["n"] == 1000


class TestDifference:
    def test_rows_are_those_of_the_statistics(self):
        (row,) = plan_difference([Contrast("pair", 0.005, 0.1, 0.05, 50_000)]).rows
        assert row.needed == images_for_difference(0.005, 0.1)
        assert row.power == pytest.approx(mcnemar_power(row.needed, 0.005, 0.1))
        assert row.smallest == pytest.approx(smallest_difference(50_000, 0.1))

    def test_measured_pairs_agree_with_compare(self):
        result = comparison()
        plan = plan_difference(contrasts_of(result))
        for row, pair in zip(plan.rows, result.pairs, strict=True):
            assert row.name == f"{pair.first} and {pair.second}"
            assert (row.needed, row.smallest) == (pair.images_needed, pytest.approx(pair.smallest_difference))
            assert row.target == pair.difference

    def test_compare_declares_a_planned_difference_as_often_as_planned(self):
        (row,) = plan_difference([Contrast("pair", 0.05, 0.2, 0.05)]).rows
        rng, draws, different = np.random.default_rng(1), 200, 0
        for _ in range(draws):
            kind = rng.choice(3, size=row.needed, p=[0.125, 0.075, 0.8])
            correct = np.stack([kind != 1, kind != 0])
            basis = Basis("set", row.needed)
            different += compare_correctness(("a", "b"), correct, basis=basis).pairs[0].result == "different"
        assert different / draws == pytest.approx(row.power, abs=4 * math.sqrt(0.16 / draws))

    def test_difference_takes_the_place_of_the_measured_one(self):
        rows = plan_difference(contrasts_of(comparison(), difference=0.01)).rows
        assert {row.target for row in rows} == {0.01}

    def test_measured_difference_that_needs_too_many_images_leaves_the_others(self):
        contrasts = [Contrast("near", Estimate(1e-7, -0.01, 0.01, 100, "x"), 0.1, 0.05),
                     Contrast("far", Estimate(0.01, -0.01, 0.03, 100, "x"), 0.1, 0.05)]  # fmt: skip
        plan = plan_difference(contrasts)
        assert [row.needed for row in plan.rows] == [None, images_for_difference(0.01, 0.1)]
        assert "1 row without a number: more than 10,000,000,000 images would be needed" in plan.notes
        assert "0.000010" in str(plan)
        ranking = plan_rank(contrasts, contrasts, best="a")
        assert [row.needed is None for row in ranking.rows] == [True, False, True, True]
        with pytest.raises(TooManyImages):
            plan_difference([Contrast("near", 1e-7, 0.1, 0.05)])

    def test_no_difference_needs_no_number(self):
        correct = np.ones((2, 20), dtype=bool)
        result = compare_correctness(("a", "b"), correct, basis=Basis("set", 20))
        plan = plan_difference(contrasts_of(result))
        assert (plan.rows[0].needed, plan.rows[0].power, plan.rows[0].smallest) == (None, None, None)
        assert any("1 pair without a difference" in note for note in plan.notes)
        json.dumps(plan.as_dict(), allow_nan=False)
        assert "–" in str(plan)


class TestRank:
    def test_rows_are_the_steps_of_the_ranking(self):
        result = comparison()
        plan = plan_ranks_of(result)
        ranked = [rank.model for rank in result.ranks]
        names = [row.name for row in plan.rows]
        assert names[:3] == [f"{a} and {b}" for a, b in itertools.pairwise(ranked)]
        assert names[3:] == [f"{ranked[0]} ahead of all others", "every step of the ranking"]
        assert all(
            row.target.value >= 0 and row.target.low <= row.target.value <= row.target.high for row in plan.rows[:3]
        )

    def test_all_steps_take_at_least_the_largest_step(self):
        plan = assumed_ranking([0.70, 0.72, 0.74, 0.76], 0.1)
        steps, joint = [row.needed for row in plan.rows[:3]], plan.rows[-1]
        assert len(set(steps)) == 1 and joint.needed > steps[0]
        assert joint.power == pytest.approx(0.8, abs=0.01)

    def test_all_steps_succeed_as_often_as_planned(self):
        """Two independent pairs: they succeed jointly at least as often as planned."""
        plan = assumed_ranking([0.70, 0.73, 0.76], 0.12)
        needed, level = plan.rows[-1].needed, 0.05 / 3
        drawn = np.random.default_rng(0).multinomial(needed, [0.075, 0.045, 0.88], size=(4000, 2))
        shown = (mcnemar(drawn[..., 0], drawn[..., 1]).exact <= level).all(axis=1).mean()
        assert shown > 0.8 - 3 * math.sqrt(0.16 / 4000)
        assert shown < 0.86

    def test_two_models_are_a_ranking_and_one_is_none(self):
        plan = assumed_ranking([0.7, 0.8])
        assert {row.needed for row in plan.rows} == {images_for_difference(0.1, independent_disagreement(0.8, 0.7))}
        with pytest.raises(InputError, match="two models, got 1"):
            assumed_ranking([0.7])

    def test_a_tie_has_no_number(self):
        plan = assumed_ranking([0.7, 0.7, 0.6], 0.2)
        assert [row.needed is None for row in plan.rows] == [True, False, True, True]


class TestDisparity:
    def test_rows_are_those_of_the_statistics(self):
        named = plan_disparity([GroupContrast("g", 0.8, 0.7)], named=True).rows[0]
        picked = plan_disparity([GroupContrast("g", 0.8, 0.7, (500, 900))], groups=6).rows[0]
        assert named.needed == images_per_group(0.8, 0.7)
        assert picked.needed == images_per_group(0.8, 0.7, comparisons=30) > named.needed
        assert picked.power == pytest.approx(disparity_power(picked.needed, picked.needed, 0.8, 0.7, comparisons=30))
        assert (picked.available, named.available) == (500, None)
        assert disparity_power(500, 900, 0.8, 0.8 - picked.smallest, comparisons=30) == pytest.approx(0.8, abs=0.005)

    def test_extreme_groups_are_the_best_and_the_worst(self):
        shares = {"a": proportion(7, 10), "b": proportion(9, 10), "c": proportion(12, 20)}
        contrast = extreme_groups("m", shares)
        assert (contrast.name, contrast.images) == ("m: b and c", (10, 20))
        with pytest.raises(InputError, match="two groups, got 1"):
            extreme_groups("m", {"a": proportion(1, 2)})

    def test_measured_disparity_that_needs_too_many_images_has_no_number(self):
        shares = {"a": proportion(500_000, 1_000_000), "b": proportion(499_999, 1_000_000)}
        plan = plan_disparity([extreme_groups("m", shares)])
        assert plan.rows[0].needed is None
        assert any("more than 10,000,000,000 images" in note for note in plan.notes)

    def test_equal_and_tiny_groups_have_no_number(self):
        shares = {"a": proportion(1, 1), "b": proportion(1, 1)}
        (row,) = plan_disparity([extreme_groups("m", shares)]).rows
        assert (row.needed, row.power, row.smallest) == (None, None, None)


SPACE = ClassSpace("four", ("a", "b", "c", "d"))


class TestReview:
    def models(self, images=400):
        """Predictions that differ on a tenth of the images; there the first is right twice as often as the second."""
        test_set = TestSet("set", SPACE, tuple(map(str, range(images))), np.zeros(images, dtype=np.int64))
        first, second = np.zeros(images, dtype=np.int32), np.zeros(images, dtype=np.int32)
        differ = np.arange(images) % 10 == 0
        third = np.arange(images) // 10 % 4
        first[differ] = np.where(third < 2, 0, np.where(third == 2, 1, 2))[differ]
        second[differ] = np.where(third < 2, 1, np.where(third == 2, 0, 3))[differ]
        both = [
            (Predictions(name, "set", "four", answers[:, None]), Scoring(test_set))
            for name, answers in (("a", first), ("b", second))
        ]
        return test_set, both

    def test_only_images_where_predictions_differ_matter(self):
        plan = plan_review(ReviewedPair("a and b", 0.005, 0.127, 1.0, 10_000))
        differing, random = plan.rows
        assert differing.needed == images_for_difference(0.005 / 0.127, 1.0)
        assert random.needed == images_for_difference(0.005, 0.127)
        assert differing.needed == pytest.approx(0.127 * random.needed, rel=0.01)
        assert differing.available == 1270
        assert any("not enough" in note for note in plan.notes)
        # judging all images on which they differ shows what judging all images shows
        assert differing.smallest == pytest.approx(random.smallest, rel=0.01)

    def test_rates_are_those_of_the_labels(self):
        test_set, both = self.models()
        pair = reviewed_pair(test_set, *both)
        assert (pair.differing, pair.decisive, pair.images, pair.decided) == (0.1, 0.75, 400, None)
        assert pair.difference.value == pytest.approx(0.1 * 0.25)
        assert pair.difference.low < pair.difference.value < pair.difference.high
        assert plan_review(pair).rows[0].needed == images_for_difference(0.25, 0.75)

    def test_difference_takes_the_place_of_the_measured_one(self):
        test_set, both = self.models()
        assert plan_review(reviewed_pair(test_set, *both, difference=0.01)).rows[0].needed == images_for_difference(
            0.1, 0.75
        )
        assert reviewed_pair(test_set, *both, difference=0.09).decisive == pytest.approx(0.9)

    def test_labels_count_as_far_as_both_predictions_are_judged(self):
        test_set, both = self.models()
        judged = np.arange(0, 200)  # both predictions of the first half of the images
        rows = np.repeat(judged, 2)
        classes = np.stack([answers.top1[judged] for answers, _ in both], axis=1).ravel()
        rows, classes = np.unique(np.stack([rows, classes]), axis=1)
        states = np.where(classes == 0, LabelState.CORRECT, LabelState.WRONG)
        labels = LabelSet(
            "own", 1, "set", 4, rows, classes, states, np.ones(400, dtype=bool), ("",) * 400, Unlisted.NOVEL
        )
        pair = reviewed_pair(test_set, *both, labels=ReviewedLabels(MultilabelScoring(labels, MultilabelRule.IMAGES)))
        assert (pair.decided, pair.differing, pair.decisive) == (20, 0.1, 0.75)
        assert plan_review(pair).rows[0].decided == 20

    def test_what_cannot_be_reviewed_raises(self):
        test_set, both = self.models()
        with pytest.raises(InputError, match="nothing to review"):
            reviewed_pair(test_set, both[0], both[0])
        for differing, decisive in ((0, 1), (1.2, 1), (0.1, 0), (math.nan, 1)):
            with pytest.raises(InputError, match="at most 100 %"):
                ReviewedPair("a and b", 0.01, differing, decisive)
        with pytest.raises(InputError, match="is not possible"):
            ReviewedPair("a and b", 0.2, 0.1)

    def test_no_difference_needs_no_number(self):
        plan = plan_review(ReviewedPair("a and b", Estimate(0.0, -0.01, 0.01, 100, "x"), 0.1, 0.5, 100))
        assert [row.needed for row in plan.rows] == [None, None]
        assert any("no number of decisions" in note for note in plan.notes)
