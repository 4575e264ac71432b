"""Tests of the confusion study: parts by hand and against references, hard sets, transfer, invalid input."""

import json
from dataclasses import replace
from math import log2

import numpy as np
import pytest
from confusion_world import CLASSES, SPACE, world
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from scipy.special import ndtr

from regrade.core import (
    UNLABELED,
    InputError,
    MismatchError,
    Predictions,
    ScoreKind,
    TestSet,
    UndefinedError,
    checkpoints_of,
)
from regrade.metrics import confusion_score, final_predictions
from regrade.stats import clopper_pearson, independent_difference, kendall
from regrade.studies import ConfusionPart, HardRule, Scoring
from regrade.studies.confusion.analysis import confusion
from regrade.studies.confusion.distribution import Distribution, ScoreBins, distribution, error_curve
from regrade.studies.confusion.findings import confusion_findings
from regrade.studies.confusion.hard_set import hard_set, ranking_holds, transfer

TOP = log2(CLASSES)


@pytest.fixture(scope="module")
def studied():
    rng = np.random.default_rng(0)
    images = world(1200, rng)
    models = [images.model(f"m{i}", skill, rng) for i, skill in enumerate((1.5, 2.0, 2.5, 3.0, 4.0))]
    ensembles = [images.ensemble(rng, epochs=12), images.ensemble(rng, name="F", seeds=1)]
    scored = [(model, images.scoring) for model in models]
    result = confusion(images.test_set, ensembles, scored, rng=rng, own=images.scoring)
    return images, ensembles, models, result


class TestConfusion:
    def test_the_scores_are_those_of_the_first_ensemble(self, studied):
        _, ensembles, _, result = studied
        assert result.scores == pytest.approx(confusion_score(ensembles[0]), abs=1e-5)
        assert (result.ensemble.name, result.ensemble.unit, result.ensemble.top) == ("E", "bits", pytest.approx(TOP))

    def test_another_base_is_another_unit(self, studied):
        images, ensembles, _, result = studied
        nats = confusion(images.test_set, ensembles[:1], rng=np.random.default_rng(0), base=np.e)
        assert nats.scores == pytest.approx(result.scores * np.log(2), abs=1e-5)
        assert (nats.ensemble.unit, nats.ensemble.top) == ("nats", pytest.approx(np.log(CLASSES)))
        assert nats.fewer[0].peak < result.ensemble.top * np.log(2)

    def test_models_come_best_first_and_the_ensemble_among_them(self, studied):
        images, ensembles, models, result = studied
        errors = [row.error.value for row in result.models]
        assert errors == sorted(errors)
        by_name = {row.model: row for row in result.models}
        own = by_name["E (after epoch 11)"]
        assert own.inside and [row.model for row in result.models if row.inside] == [own.model]
        assert own.error.value == (final_predictions(ensembles[0]).classes != images.test_set.labels).mean()
        for model in models:
            wrong = model.top1 != images.test_set.labels
            assert by_name[model.model].error.value == wrong.mean()
            assert by_name[model.model].curve.single.value == pytest.approx(np.corrcoef(result.scores, wrong)[0, 1])

    def test_confusing_images_are_hard_for_all(self, studied):
        *_, result = studied
        assert (result.hard.images, result.hard.rule) == (120, "the hardest tenth of the images")
        assert all(row.transfer.difference.low > 0 for row in result.models)
        assert result.ranking.value == pytest.approx(1.0)
        assert len(result.outsiders) == 5

    def test_finding_says_that_another_ensemble_is_confused_by_the_same_images(self, studied):
        _, _, _, result = studied
        (shared,) = (f for f in confusion_findings(result) if f.kind.name.startswith("confusion: another ensemble"))
        assert shared.headline == "The images that confuse E also confuse F"
        assert f"{result.agreements[0].tau.value:.2f}" in shared.text and "for F; 1 means the same order" in shared.text

    def test_ensembles_are_compared_by_rank(self, studied):
        _, ensembles, _, result = studied
        (pair,) = result.agreements
        expected = kendall(confusion_score(ensembles[0]), confusion_score(ensembles[1]))
        assert (pair.first, pair.second) == ("E", "F")
        assert pair.tau.value == pytest.approx(expected.value, abs=1e-3)

    def test_members_are_compared_where_there_is_one_ensemble(self, studied):
        images, ensembles, _, _ = studied
        result = confusion(images.test_set, ensembles[:1], rng=np.random.default_rng(0))
        assert [(pair.first, pair.second) for pair in result.agreements] == [("member 0", "member 1")]

    def test_every_table_and_the_data_are_there(self, studied):
        *_, result = studied
        absent = {ConfusionPart.EXPECTED, ConfusionPart.BANDS}
        assert set(result.parts) == set(ConfusionPart) - absent
        for part in result.parts:
            table = result.part(part)
            assert table.rows and table.texts()
        assert len(result.part(ConfusionPart.IMAGES).rows) == 1200
        assert result.table() == result.part(ConfusionPart.MODELS)
        content = json.loads(json.dumps(result.as_dict(), allow_nan=False))
        assert content["ensemble"]["unit"] == "bits" and content["images"] == 1200
        assert len(content["hard"]["places"]) == 120
        with pytest.raises(UndefinedError, match="needs a set without labels"):
            result.part(ConfusionPart.EXPECTED)

    def test_confusion_is_reproducible_from_the_seed(self, studied):
        images, ensembles, models, _ = studied
        scored = [(model, images.scoring) for model in models]
        first, second = (
            confusion(images.test_set, ensembles, scored, rng=np.random.default_rng(7)).as_dict() for _ in range(2)
        )
        assert first == second


class TestDistribution:
    def test_by_hand(self):
        scores = np.array([0.0, 0.05, 0.07, 0.31, 0.32, 0.33, 0.34, 2.99, 3.0])
        bins = ScoreBins(0.1, 3.0)
        summary = distribution(scores, bins, confidence=0.95)
        assert isinstance(summary, Distribution)
        assert [(place, count) for place, count in enumerate(summary.counts) if count] == [(0, 3), (3, 4), (29, 2)]
        assert summary.peak == pytest.approx(0.325)
        assert summary.quantiles[0.5].value == 0.32
        assert summary.quantiles[0.1] is None  # nine images are too few for it

    @given(hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, TOP)), st.floats(0.01, 1.0))
    @settings(deadline=None)
    def test_every_image_is_in_one_bin(self, scores, width):
        bins = ScoreBins(width, TOP)
        summary = distribution(scores, bins, confidence=0.95)
        assert sum(summary.counts) == len(scores) and len(summary.counts) == bins.count
        for score, place in zip(scores, bins.of(scores), strict=True):
            low, high = bins.edges(place)
            assert low - 1e-6 <= score <= high + 1e-6
        assert scores.min() - 1e-12 <= summary.peak <= scores.max() + 1e-12

    @pytest.mark.parametrize("width", [0, -1, 10, np.nan])
    def test_score_bins_reject_invalid_width(self, width):
        with pytest.raises(InputError, match="the width of a bin"):
            ScoreBins(width, 3.0)


class TestErrorCurve:
    SCORES = np.array([0.01, 0.02, 0.15, 0.16, 0.19, 0.41])
    WRONG = np.array([False, False, True, False, False, True])

    def test_by_hand(self):
        curve = error_curve(self.SCORES, self.WRONG, ScoreBins(0.1, 3.0), rng=np.random.default_rng(0), confidence=0.95)
        rows = [(score_bin.low, score_bin.high, score_bin.error.value, score_bin.error.n) for score_bin in curve.bins]
        assert rows == [
            (0.0, 0.1, 0.0, 2), (0.1, 0.2, pytest.approx(1 / 3), 3), (0.4, 0.5, 1.0, 1),
        ]  # fmt: skip
        exact = clopper_pearson(1, 3)
        assert (curve.bins[1].error.low, curve.bins[1].error.high) == (exact.low, exact.high)
        assert curve.binned is None  # three bins
        assert curve.single.value == pytest.approx(stats.pointbiserialr(self.WRONG, self.SCORES).statistic)

    def test_error_curve_without_mistakes_has_no_correlation(self):
        curve = error_curve(
            self.SCORES, np.zeros(6, dtype=bool), ScoreBins(0.1, 3.0), rng=np.random.default_rng(0), confidence=0.95
        )
        assert (curve.single, curve.binned) == (None, None)
        assert [score_bin.error.value for score_bin in curve.bins] == [0, 0, 0]


class TestFewerCheckpoints:
    def test_the_first_checkpoint_is_among_those_that_are_left(self):
        """An image classified with certainty from the second epoch on has the score log(C) / epochs."""
        rng = np.random.default_rng(1)
        labels = np.arange(20) % CLASSES
        certain = np.full((20, CLASSES), -50.0)
        certain[np.arange(20), labels] = 50.0
        scores = np.stack([np.zeros((20, CLASSES)), *[certain] * 40])
        test_set = TestSet("known", SPACE, tuple(map(str, range(20))), labels)
        result = confusion(test_set, [checkpoints_of(scores, kind=ScoreKind.LOGITS)], rng=rng)
        assert result.scores == pytest.approx(np.full(20, TOP / 41), abs=1e-6)
        assert [(row.what, row.epochs) for row in result.fewer] == [
            ("every 3rd epoch", 14), ("every 5th epoch", 9), ("every 10th epoch", 5), ("every 20th epoch", 3),
        ]  # fmt: skip
        assert [row.peak for row in result.fewer] == pytest.approx([TOP / 14, TOP / 9, TOP / 5, TOP / 3], abs=1e-6)
        assert all(row.correlation is None for row in result.fewer)  # all images are alike

    def test_correlations_are_with_the_full_score(self, studied):
        _, ensembles, _, result = studied
        third = confusion_score(
            checkpoints_of(
                [[ensembles[0].scores(m, t) for t in range(0, 12, 3)] for m in range(2)], kind=ScoreKind.LOGITS
            )
        )
        by_name = {row.what: row for row in result.fewer}
        assert by_name["every 3rd epoch"].correlation.value == pytest.approx(
            np.corrcoef(third, result.scores)[0, 1], abs=1e-4
        )
        assert (by_name["member 1 alone"].epochs, by_name["member 1 alone"].members) == (12, 1)
        assert set(by_name) == {
            "every 3rd epoch", "every 5th epoch", "every 10th epoch", "member 0 alone", "member 1 alone",
        }  # fmt: skip


class TestHardSet:
    TEST_SET = TestSet(
        "six", SPACE, tuple("abcdef"), np.array([0, 0, 0, 1, 1, UNLABELED]), {"place": ("x", "y", "x", "y", "x", "y")}
    )
    SCORES = np.array([0.5, 0.9, 0.9, 0.1, 0.2, 0.8])
    ANSWERS = np.array([0, 0, 0, 1, 1, 1])

    def hard(self, **rule):
        return hard_set(self.TEST_SET, self.SCORES, self.ANSWERS, HardRule(**rule), unit="bits")

    def test_above_a_score(self):
        assert self.hard(above=0.8).inside.tolist() == [False, True, True, False, False, True]

    def test_hardest_breaks_ties_by_position(self):
        assert self.hard(hardest=1).inside.tolist() == [False, True, False, False, False, False]
        assert self.hard(hardest=3).inside.tolist() == [False, True, True, False, False, True]

    def test_per_class_uses_label_or_final_prediction(self):
        hard = self.hard(hardest=1, per_class=True)
        assert hard.inside.tolist() == [False, True, False, False, False, True]
        assert self.hard(hardest=2, per_class=True).inside.tolist() == [False, True, True, False, True, True]
        assert hard.rule == "the hardest 1 image of each class"

    def test_as_a_test_set_and_as_a_slice(self):
        hard = self.hard(above=0.8)
        own = hard.as_test_set(self.TEST_SET, "hard six")
        assert (own.name, tuple(own.ids), own.labels.tolist()) == ("hard six", ("b", "c", "f"), [0, 0, UNLABELED])
        assert own.groups == {"place": ("y", "x", "y")}
        slices = hard.as_slices("hard")
        within = replace(self.TEST_SET, slice_sets=(slices,))
        assert (within.slice("hard") == hard.inside).all()
        assert within.hard_slices == {"hard"}

    @pytest.mark.parametrize(
        ("rule", "message"),
        [
            ({"above": 5.0}, "that is no image of six .scores lie from 0.1 to 0.9 bits"),
            ({"above": 0.0}, "that is every image of six"),
            ({"hardest": 6}, "that is every image"),
            ({"hardest": 3, "per_class": True}, "that is every image"),
        ],
    )
    def test_hard_set_rejects_no_image_or_all_images(self, rule, message):
        with pytest.raises(UndefinedError, match=message):
            self.hard(**rule)

    @pytest.mark.parametrize("rule", [{"above": 1.0, "hardest": 2}, {"per_class": True}, {"hardest": 0}])
    def test_hard_rule_rejects_invalid_options(self, rule):
        with pytest.raises(InputError):
            HardRule(**rule)

    @given(hnp.arrays(np.float64, 30, elements=st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0])), st.integers(1, 4))
    @settings(deadline=None)
    def test_per_class_matches_slow_reference(self, scores, most):
        labels = np.arange(30) % 5
        test_set = TestSet("thirty", SPACE, tuple(map(str, range(30))), labels)
        hard = hard_set(test_set, scores, labels, HardRule(hardest=most, per_class=True), unit="bits")
        for label in range(5):
            own = sorted(np.flatnonzero(labels == label), key=lambda i: (-scores[i], i))
            assert set(np.flatnonzero(hard.inside & (labels == label))) == set(own[:most])


class TestTransfer:
    def test_by_hand(self):
        wrong = np.array([1, 1, 0, 1, 0, 0, 0, 0], dtype=bool)
        inside = np.array([1, 1, 1, 0, 0, 0, 0, 0], dtype=bool)
        errors = transfer(wrong, inside, confidence=0.95)
        assert (errors.hard.value, errors.rest.value) == (pytest.approx(2 / 3), 0.2)
        bounds = independent_difference(2, 3, 1, 5)
        assert errors.difference.value == pytest.approx(2 / 3 - 0.2)
        assert (errors.difference.low, errors.difference.high) == (bounds.low, bounds.high)

    def test_transfer_without_images_is_none(self):
        errors = transfer(np.array([True, False]), np.array([False, False]), confidence=0.95)
        assert (errors.hard, errors.difference) == (None, None) and errors.rest.value == 0.5

    def test_whether_models_keep_their_order(self):
        inside = np.arange(40) < 20

        def of(hard, rest):
            wrong = np.zeros(40, dtype=bool)
            wrong[:hard] = True
            wrong[20 : 20 + rest] = True
            return wrong

        def tau(wrong, hard=inside):
            return ranking_holds(wrong, [np.ones(40, dtype=bool)] * len(wrong), hard, confidence=0.95)

        same = [of(k, k) for k in (1, 3, 5, 7, 9)]
        assert tau(same).value == pytest.approx(1)
        assert tau([of(k, 10 - k) for k in (1, 3, 5, 7, 9)]).value == pytest.approx(-1)
        assert tau(same[:3]) is None
        assert tau(same, hard=np.zeros(40, dtype=bool)) is None
        assert tau([]) is None

    def test_ranking_upper_bound_is_corrected_for_noise(self):
        """Models with the same order everywhere, but too close for few hard images to show it."""
        rng = np.random.default_rng(1)
        difficulty = rng.standard_normal(3000)
        inside = difficulty > 1.3
        too_low = 0
        for _ in range(60):
            chance = ndtr(difficulty - rng.normal(1.0, 0.15, 12)[:, None])
            wrong = rng.random(chance.shape) < chance
            tau = ranking_holds(list(wrong), [np.ones(3000, dtype=bool)] * 12, inside, confidence=0.95)
            plain = kendall(wrong[:, inside].mean(axis=1), wrong[:, ~inside].mean(axis=1))
            assert (tau.value, tau.low) == (plain.value, plain.low)
            assert tau.high >= plain.high
            too_low += tau.high < 0.6
        assert too_low <= stats.binom.isf(1e-4, 60, 0.05)


class TestEdgeCases:
    RNG = np.random.default_rng(5)

    def test_one_image(self):
        images = world(1, self.RNG)
        result = confusion(images.test_set, [images.ensemble(self.RNG)], rng=self.RNG, own=images.scoring)
        assert len(result.scores) == 1 and result.hard is None
        assert any(note.startswith("there is no hard set: 1 image, all of one score") for note in result.notes)
        (row,) = result.models
        assert (row.curve.single, row.curve.binned, row.transfer) == (None, None, None)
        assert all(table.texts() for table in map(result.part, result.parts))
        json.dumps(result.as_dict(), allow_nan=False)

    def test_all_scores_equal(self):
        images = world(50, self.RNG)
        flat = checkpoints_of(np.zeros((2, 3, 50, CLASSES)), kind=ScoreKind.LOGITS, ensemble="flat")
        result = confusion(images.test_set, [flat], rng=self.RNG, own=images.scoring)
        assert result.scores == pytest.approx(np.full(50, TOP), abs=1e-6)
        assert result.hard is None and result.models[0].curve.single is None
        assert [pair.tau for pair in result.agreements] == [None]
        json.dumps(result.as_dict(), allow_nan=False)

    def test_one_member_and_one_epoch(self):
        images = world(100, self.RNG)
        result = confusion(images.test_set, [images.ensemble(self.RNG, seeds=1, epochs=1)], rng=self.RNG)
        assert (result.fewer, result.agreements) == ((), ())
        for part in (ConfusionPart.CHECKPOINTS, ConfusionPart.RANKS, ConfusionPart.MODELS):
            with pytest.raises(UndefinedError, match=f"the table of {part.value} needs"):
                result.part(part)

    def test_a_set_without_labels(self):
        images = world(100, self.RNG)
        bare = replace(images.test_set, labels=np.full(100, UNLABELED))
        model = images.model("m", 2.0, self.RNG)
        result = confusion(bare, [images.ensemble(self.RNG)], [(model, Scoring(bare))], rng=self.RNG, own=Scoring(bare))
        assert result.models == () and result.hard.images == 10
        assert "no label of images counts, so nothing is said of errors" in result.notes
        assert result.table().columns[0].key == "share"

    def test_only_images_whose_label_counts(self):
        images = world(200, self.RNG)
        labels = images.test_set.labels.copy()
        labels[::2] = UNLABELED
        half = replace(images.test_set, labels=labels)
        model = images.model("m", 2.0, self.RNG)
        result = confusion(half, [images.ensemble(self.RNG)], [(model, Scoring(half))], rng=self.RNG)
        assert result.models[0].error.n == 100 and len(result.scores) == 200
        assert sum(score_bin.error.n for score_bin in result.models[0].curve.bins) == 100

    def test_an_ensemble_of_other_images(self):
        images, fewer_images = world(30, self.RNG), world(20, self.RNG)
        with pytest.raises(MismatchError, match="'E' has scores of 20 images, test set images has 30"):
            confusion(images.test_set, [fewer_images.ensemble(self.RNG)], rng=self.RNG)

    def test_no_ensemble_or_one_twice(self):
        images = world(30, self.RNG)
        with pytest.raises(InputError, match="at least one ensemble"):
            confusion(images.test_set, [], rng=self.RNG)
        with pytest.raises(InputError, match="named twice"):
            confusion(images.test_set, [images.ensemble(self.RNG)] * 2, rng=self.RNG)

    def test_explicit_hard_rule_raises_if_undefined(self):
        images = world(30, self.RNG)
        with pytest.raises(UndefinedError, match="no image"):
            confusion(images.test_set, [images.ensemble(self.RNG)], rng=self.RNG, hard=HardRule(above=9.0))

    def test_confusion_rejects_invalid_probabilities(self):
        images = world(30, self.RNG)
        scores = self.RNG.normal(size=(1, 1, 30, CLASSES))
        with pytest.raises(InputError, match="are these logits"):
            confusion(images.test_set, [checkpoints_of(scores, kind=ScoreKind.PROBABILITIES)], rng=self.RNG)


def test_score_bins_reject_too_narrow_bins():
    rng = np.random.default_rng(3)
    images = world(30, rng)
    with pytest.raises(InputError, match=r"bins of 0\.0001 are more than 1,000 up to 3: make them wider"):
        confusion(images.test_set, [images.ensemble(rng)], rng=rng, bin_width=1e-4)


def test_models_with_partial_predictions_count_their_images():
    rng = np.random.default_rng(9)
    images = world(100, rng)
    counted = np.arange(100) < 40
    classes = np.where(counted, images.test_set.labels, -1)[:, None]
    model = Predictions("some", "images", SPACE.name, classes, covered=counted)
    result = confusion(images.test_set, [images.ensemble(rng)], [(model, images.scoring)], rng=rng)
    assert (result.models[0].error.n, result.models[0].error.value) == (40, 0)
