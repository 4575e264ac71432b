"""Tests of expected errors without labels: each method by hand, and its coverage."""

import json
from dataclasses import replace

import numpy as np
import pytest
from confusion_world import SPACE, world
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from regrade.core import (
    NO_ANSWER,
    UNLABELED,
    Estimate,
    MismatchError,
    ScoreKind,
    UndefinedError,
    checkpoints_of,
)
from regrade.studies import ConfusionPart, Scoring, UnlabeledInputs
from regrade.studies.confusion.analysis import confusion
from regrade.studies.confusion.expected_error import (
    SetScores,
    agreement_lines,
    expectation_gap,
    expected_by_confidence,
    expected_by_score,
    expected_by_threshold,
)


def without_the_first(answers, count, *, kept):
    """Stored predictions whose first images could not be read, with one kind of scores."""
    unread = np.arange(len(answers))[:, None] < count
    classes, full = np.where(unread, NO_ANSWER, answers.classes), answers.full_scores
    if full is None:
        return replace(answers, classes=classes)
    scores = np.where(unread, np.nan, full if kept == "full_scores" else full.max(axis=1, keepdims=True))
    return replace(answers, classes=classes, **{"full_scores": None, kept: scores})


def error_at(scores):
    return 1 / (1 + np.exp(3 - scores))


class TestByScore:
    def test_strata_are_weighted_by_the_unlabeled_images(self):
        """Half of the labeled images have a score of 0 and no mistake, the others 1 and a mistake each."""
        labeled, wrong = np.repeat([0.0, 1.0], 50), np.repeat([False, True], 50)
        estimate = expected_by_score(wrong, SetScores(labeled, np.array([0.0, 1.0, 1.0, 1.0])), confidence=0.95)
        assert estimate.value == pytest.approx(0.75)

    def test_unlabeled_scores_out_of_range_use_the_nearest_stratum(self):
        labeled, wrong = np.repeat([1.0, 2.0], 50), np.repeat([False, True], 50)
        estimate = expected_by_score(wrong, SetScores(labeled, np.array([0.0, 5.0])), confidence=0.95)
        assert estimate.value == pytest.approx(0.5)

    def test_equal_scores_give_the_labeled_error(self):
        wrong = np.arange(40) < 10
        estimate = expected_by_score(wrong, SetScores(np.ones(40), np.ones(7)), confidence=0.95)
        assert estimate.value == pytest.approx(0.25)

    @pytest.mark.parametrize(("images", "unlabeled_images"), [(200, 100), (2000, 2000)])
    def test_coverage_where_the_error_depends_on_the_score_alone(self, images, unlabeled_images):
        """The interval covers the sampling of the labeled and the unlabeled images."""
        rng = np.random.default_rng(images)

        def shifted(n):
            return np.minimum(rng.gamma(2.0, 1.2, n), 9)

        truth = error_at(shifted(2_000_000)).mean()
        held, middle = [], []
        for _ in range(400):
            scores = np.minimum(rng.gamma(1.2, 1.0, images), 9)
            wrong = rng.random(images) < error_at(scores)
            estimate = expected_by_score(wrong, SetScores(scores, shifted(unlabeled_images)), confidence=0.95)
            held.append(estimate.low <= truth <= estimate.high)
            middle.append(estimate.value)
        assert 0.92 < np.mean(held) <= 0.995
        assert np.mean(middle) == pytest.approx(truth, abs=0.02)

    def test_calibration_is_a_part_of_the_interval(self):
        """Fewer labeled images widen the interval, and so do fewer unlabeled images."""
        rng = np.random.default_rng(0)
        scores = rng.gamma(1.2, 1.0, 4000)
        wrong = rng.random(4000) < error_at(scores)
        unlabeled_scores = rng.gamma(2.0, 1.2, 4000)

        def width(labeled, unlabeled):
            estimate = expected_by_score(
                wrong[:labeled], SetScores(scores[:labeled], unlabeled_scores[:unlabeled]), confidence=0.95
            )
            return estimate.high - estimate.low

        assert width(400, 4000) > 1.5 * width(4000, 4000)
        assert width(4000, 100) > 1.5 * width(4000, 4000)


class TestByConfidence:
    def test_by_hand(self):
        estimate = expected_by_confidence(np.array([0.9, 0.8, 0.7, 0.6]), confidence=0.95)
        # doubts .1 to .4 and a fifth image: right, the mean is .2 and the variance .025; wrong, they are .4 and .125
        reach = stats.t.ppf(0.975, 4) / np.sqrt(5)
        assert estimate.value == pytest.approx(0.25)
        assert (estimate.low, estimate.high) == pytest.approx(
            (max(0.2 - reach * 0.025**0.5, 0), 0.4 + reach * 0.125**0.5)
        )

    def test_one_image_has_a_wide_interval(self):
        estimate = expected_by_confidence(np.array([0.9]), confidence=0.95)
        assert (estimate.low, estimate.high) == (0, 1)

    def test_certain_model_has_an_interval_of_positive_width(self):
        estimate = expected_by_confidence(np.ones(500), confidence=0.95)
        assert (estimate.value, estimate.low) == (0, 0)
        assert estimate.high == pytest.approx((1 + stats.t.ppf(0.975, 500)) / 501)

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
    def test_the_interval_contains_the_mean_and_has_a_width(self, confidences):
        estimate = expected_by_confidence(np.array(confidences), confidence=0.95)
        assert 0 <= estimate.low <= estimate.value + 1e-12 and estimate.value - 1e-12 <= estimate.high <= 1
        assert estimate.high - estimate.low > 0.01

    @pytest.mark.parametrize("images", [20, 500])
    def test_coverage_where_the_model_is_calibrated(self, images):
        """Few images have low confidence; a normal interval covers only 0.71 with 20 images."""
        rng = np.random.default_rng(images)
        estimates = [expected_by_confidence(1 - rng.beta(0.05, 2, images), confidence=0.95) for _ in range(500)]
        assert np.mean([estimate.low <= 0.05 / 2.05 <= estimate.high for estimate in estimates]) >= 0.93


class TestByThreshold:
    def expected(self, wrong, own, unlabeled):
        return expected_by_threshold(wrong, own, unlabeled, confidence=0.95)

    def test_by_hand(self):
        """3 of 10 labeled predictions are wrong, and 3 have confidences below 0.35, as have 4 of 8 unlabeled ones."""
        own = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
        wrong = np.array([1, 0, 1, 0, 1, 0, 0, 0, 0, 0], dtype=bool)
        unlabeled = np.array([0.05, 0.15, 0.25, 0.29, 0.42, 0.55, 0.75, 0.95])
        estimate = self.expected(wrong, own, unlabeled)
        assert estimate.value == pytest.approx(0.5)
        assert 0 <= estimate.low < estimate.value < estimate.high <= 1

    def test_the_interval_by_hand(self):
        """Without misclassified images the threshold is uncertain by up to z² / (n + z²): 4 of 100 images."""
        own, unlabeled = np.linspace(0.005, 0.995, 100), np.linspace(0.005, 0.995, 100)
        estimate = self.expected(own < 0.3, own, unlabeled)
        exact = stats.beta.ppf([0.025, 0.975], [30, 31], [71, 70])
        off = 1.96**2 / (100 + 1.96**2)
        assert estimate.value == pytest.approx(0.3)
        assert estimate.low == pytest.approx(0.3 - np.hypot(off, 0.3 - exact[0]), abs=0.003)
        assert estimate.high == pytest.approx(0.3 + np.hypot(off, exact[1] - 0.3), abs=0.003)

    def test_certain_unlabeled_predictions_have_an_interval_of_positive_width(self):
        estimate = self.expected(np.arange(100) < 30, np.linspace(0, 0.9, 100), np.ones(200))
        assert (estimate.value, estimate.low) == (0, 0)
        assert estimate.high > 0.01

    def test_on_the_labeled_images_themselves_it_is_their_error(self):
        rng = np.random.default_rng(1)
        own = rng.random(3000)
        wrong = rng.random(3000) < 1 - own
        estimate = self.expected(wrong, own, own)
        assert estimate.value == pytest.approx(wrong.mean(), abs=1e-3)
        assert estimate.low < wrong.mean() < estimate.high

    def test_equal_confidences_are_split_as_the_labeled_ones_are(self):
        estimate = self.expected(np.arange(100) < 30, np.full(100, 0.5), np.full(40, 0.5))
        assert estimate.value == pytest.approx(0.3)

    @given(
        labeled=st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=30),
        unlabeled_values=st.lists(st.integers(0, 5), min_size=1, max_size=30),
    )
    @settings(deadline=None, max_examples=60, derandomize=True)
    def test_the_interval_contains_the_share_and_has_a_width(self, labeled, unlabeled_values):
        """Whatever ties there are between confidences."""
        wrong, own = (np.array(column) for column in zip(*labeled, strict=True))
        if wrong.all() or not wrong.any():
            return
        estimate = self.expected(wrong, own / 5, np.array(unlabeled_values) / 5)
        assert 0 <= estimate.low <= estimate.value + 1e-12 and estimate.value - 1e-12 <= estimate.high <= 1
        assert estimate.high - estimate.low > 0.05

    @pytest.mark.parametrize("wrong", [np.zeros(20, dtype=bool), np.ones(20, dtype=bool)])
    def test_all_right_or_all_wrong(self, wrong):
        """No threshold separates right from wrong predictions."""
        rng = np.random.default_rng(2)
        with pytest.raises(UndefinedError, match="both right and wrong predictions"):
            self.expected(wrong, rng.random(20), rng.random(50))

    @pytest.mark.parametrize(
        ("images", "unlabeled_images", "share"), [(30, 30, 0.05), (100, 50, 0.3), (500, 400, 0.05)]
    )
    def test_coverage_where_the_threshold_is_the_same(self, images, unlabeled_images, share):
        """Predictions below a confidence are wrong in both sets, whose confidences are distributed differently."""
        rng = np.random.default_rng(3)
        held = []
        for _ in range(200):
            own, unlabeled = rng.random(images), rng.random(unlabeled_images) ** 2
            if (own < share).any():
                estimate = expected_by_threshold(own < share, own, unlabeled, confidence=0.95)
                held.append(estimate.low <= share**0.5 <= estimate.high)
        assert np.mean(held) > 0.91


class TestAgreementLine:
    def drawn(self, rng, skills, images, *, shift=0.0, spread=1.0, classes=10):
        """Predictions of models: right where skill exceeds the image's difficulty plus noise, as in probit models.

        What is wrong is drawn from few classes, so that models agree in their errors as often as they err together.
        """
        difficulty = rng.normal(shift, spread, images)
        right = np.array(skills)[:, None] + rng.normal(0, 0.5, (len(skills), images)) > difficulty
        wrong = rng.integers(1, classes, images)  # the same wrong class for all, as for a confusing image
        return np.where(right, 0, wrong), right

    def test_too_few_models_or_no_line(self):
        rng = np.random.default_rng(0)
        classes, right = self.drawn(rng, (1.0, 2.0), 100)
        with pytest.raises(UndefinedError, match="at least 3 models, got 2"):
            agreement_lines(classes, right, classes, rng=rng)
        with pytest.raises(UndefinedError, match="agree equally often"):
            agreement_lines(
                np.repeat(classes[:1], 4, axis=0), np.repeat(right[:1], 4, axis=0), classes[[0] * 4], rng=rng
            )

    def test_on_the_same_images_it_is_the_error(self):
        rng = np.random.default_rng(1)
        classes, right = self.drawn(rng, (0.0, 0.5, 1.0, 1.5, 2.0), 4000)
        errors = agreement_lines(classes, right, classes, rng=rng)
        assert [error.value for error in errors] == pytest.approx(1 - right.mean(axis=1), abs=1e-9)

    def test_the_line_by_hand(self):
        """Slow reference: least squares of probits for three models and their three pairs."""
        rng = np.random.default_rng(2)
        (classes, right), (unlabeled_classes, _) = (self.drawn(rng, (0.0, 1.0, 2.0), 500, shift=s) for s in (0.0, 0.6))
        pairs = [(0, 1), (0, 2), (1, 2)]
        x = special.ndtri([(classes[i] == classes[j]).mean() for i, j in pairs])
        y = special.ndtri([(unlabeled_classes[i] == unlabeled_classes[j]).mean() for i, j in pairs])
        slope, offset = np.polyfit(x, y, 1)
        expected = 1 - special.ndtr(slope * special.ndtri(right.mean(axis=1)) + offset)
        assert [
            estimate.value for estimate in agreement_lines(classes, right, unlabeled_classes, rng=rng)
        ] == pytest.approx(expected)

    def test_models_that_always_agree_there_have_a_width(self):
        rng = np.random.default_rng(6)
        classes, right = self.drawn(rng, (0.0, 1.0, 2.0), 300)
        for estimate in agreement_lines(classes, right, np.zeros((3, 200), dtype=int), rng=rng):
            assert estimate.value == pytest.approx(0.5 / 200)
            assert (estimate.low, estimate.high) == (0, pytest.approx(estimate.value + 1 - 0.025 ** (1 / 200)))

    def test_agreement_lines_detect_harder_images(self):
        rng = np.random.default_rng(3)
        skills = np.linspace(1.0, 3.0, 8)
        (classes, right), (unlabeled_classes, _) = (self.drawn(rng, skills, 5_000, shift=s) for s in (0.0, 0.5))
        for estimate, error in zip(
            agreement_lines(classes, right, unlabeled_classes, rng=rng), 1 - right.mean(axis=1), strict=True
        ):
            assert estimate.low <= estimate.value <= estimate.high
            assert estimate.low > error

    def test_agreement_lines_cover(self):
        """Coverage of the value for very many images, which excludes the bias of the method."""
        rng = np.random.default_rng(5)
        skills = np.linspace(0.0, 2.5, 6)

        def expected(images):
            (classes, right), (unlabeled_classes, _) = (self.drawn(rng, skills, images, shift=s) for s in (0.0, 0.5))
            return agreement_lines(classes, right, unlabeled_classes, rng=rng)

        target = [estimate.value for estimate in expected(200_000)]
        held = [
            [estimate.low <= t <= estimate.high for estimate, t in zip(expected(400), target, strict=True)]
            for _ in range(100)
        ]
        assert 0.9 < np.mean(held) <= 1

    def test_agreement_lines_use_a_subset_of_many_models(self):
        rng = np.random.default_rng(4)
        skills = np.linspace(-0.5, 2.5, 90)
        (classes, right), (unlabeled_classes, _) = (self.drawn(rng, skills, 300, shift=s) for s in (0.0, 0.7))
        assert len(agreement_lines(classes, right, unlabeled_classes, rng=rng)) == 90


def test_expectation_gap_by_hand():
    estimate = expectation_gap(
        Estimate(0.30, 0.27, 0.34, 500, ""), Estimate(0.20, 0.17, 0.24, 400, ""), confidence=0.95
    )
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((0.10, 0.05, 0.15))
    assert (estimate.n, estimate.method) == (400, "newcombe of both 95%")


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(10)
    old, new = world(1500, rng, name="old"), world(900, rng, name="new", shift=0.6)
    skills = {"good": 4.0, "middling": 3.0, "poor": 2.0, "bare": 2.5}
    labeled_models, unlabeled_models = (
        [(each.model(name, skill, rng, scores=name != "bare"), each.scoring) for name, skill in skills.items()]
        for each in (old, new)
    )
    return old, new, old.ensemble(rng), new.ensemble(rng), labeled_models, unlabeled_models


class TestStudy:
    def study(self, sets, unlabeled_models=None, test_set=None):
        old, new, ensemble, unlabeled_ensemble, labeled_models, _ = sets
        target = test_set or new.test_set
        side = UnlabeledInputs(
            target, unlabeled_ensemble, sets[5] if unlabeled_models is None else unlabeled_models, Scoring(target)
        )
        return confusion(
            old.test_set, [ensemble], labeled_models, rng=np.random.default_rng(0), own=old.scoring, unlabeled=side
        )

    def test_every_model_and_every_method(self, sets):
        result = self.study(sets)
        rows = {row.model: row for row in result.unlabeled.errors}
        assert set(rows) == {"good", "middling", "poor", "bare", "E (after epoch 5)"}
        assert rows["bare"].average_confidence is None and rows["bare"].thresholded is None
        for row in rows.values():
            assert row.agreement_line is not None
            assert row.by_score.value > row.labeled.value  # the other set is harder, and its scores say so
            assert row.by_score.low < row.actual.high and row.actual.low < row.by_score.high
        table = result.part(ConfusionPart.EXPECTED)
        assert len(table.rows) == 5 and "actual" in [column.key for column in table.columns]
        json.dumps(result.as_dict(), allow_nan=False)

    def test_labels_of_the_other_set_are_not_used(self, sets):
        bare = replace(sets[1].test_set, labels=np.full(900, UNLABELED))
        blind = [(model, Scoring(bare)) for model, _ in sets[5]]
        with_labels, without = self.study(sets), self.study(sets, blind, bare)
        for with_label, without_label in zip(with_labels.unlabeled.errors, without.unlabeled.errors, strict=True):
            assert without_label.actual is None
            assert replace(with_label, actual=None, gap=None) == without_label
        assert "actual" not in [column.key for column in without.part(ConfusionPart.EXPECTED).columns]

    def test_a_model_without_answers_there_has_the_score_alone(self, sets):
        result = self.study(sets, unlabeled_models=[])
        rows = {row.model: row for row in result.unlabeled.errors}
        assert rows["good"].by_score.value > 0
        assert (rows["good"].thresholded, rows["good"].agreement_line, rows["good"].actual) == (None, None, None)
        assert rows["E (after epoch 5)"].thresholded is not None

    @pytest.mark.parametrize("kept", ["full_scores", "scores"])
    def test_images_that_a_model_could_not_read(self, sets, kept):
        """Their scores are NaN; they count as wrong and are excluded from agreements."""
        changed = [(without_the_first(answers, 90, kept=kept), scoring) for answers, scoring in sets[5]]
        rows = {row.model: row for row in self.study(sets, unlabeled_models=changed).unlabeled.errors}
        whole = {row.model: row for row in self.study(sets).unlabeled.errors}
        partial, before = rows["good"], whole["good"]
        # a tenth is wrong for sure, and the others are as they were but for chance
        assert partial.average_confidence.value == pytest.approx(0.1 + 0.9 * before.average_confidence.value, abs=0.02)
        assert 0.08 < partial.thresholded.value - 0.9 * before.thresholded.value < 0.12
        assert partial.agreement_line.n == 810
        assert partial.agreement_line.value == pytest.approx(before.agreement_line.value, abs=0.03)

    def test_other_epochs_are_refused(self, sets):
        old, new, ensemble, *_ = sets
        short = new.ensemble(np.random.default_rng(0), epochs=3)
        with pytest.raises(MismatchError, match="other members, epochs or classes"):
            confusion(
                old.test_set, [ensemble], rng=np.random.default_rng(0), own=old.scoring,
                unlabeled=UnlabeledInputs(new.test_set, short),
            )  # fmt: skip

    def test_unlabeled_study_needs_labeled_models(self, sets):
        old, new, ensemble, unlabeled_ensemble, *_ = sets
        with pytest.raises(UndefinedError, match="nothing can be learned on"):
            confusion(
                old.test_set,
                [ensemble],
                rng=np.random.default_rng(0),
                unlabeled=UnlabeledInputs(new.test_set, unlabeled_ensemble),
            )

    def test_a_model_that_never_errs(self, sets):
        old, new, *_ = sets
        perfect = np.full((1500, len(SPACE)), -9.0)
        perfect[np.arange(1500), old.test_set.labels] = 9.0
        sure = checkpoints_of(
            [[perfect]], kind=ScoreKind.LOGITS, ensemble="sure", test_set="old", class_space=SPACE.name
        )
        unlabeled_ensemble = checkpoints_of(
            np.zeros((1, 1, 900, len(SPACE))), kind=ScoreKind.LOGITS, ensemble="sure", class_space=SPACE.name
        )
        result = confusion(
            old.test_set,
            [sure],
            rng=np.random.default_rng(0),
            own=old.scoring,
            unlabeled=UnlabeledInputs(new.test_set, unlabeled_ensemble),
        )
        (row,) = result.unlabeled.errors
        assert row.by_score.value == row.labeled.value == 0
        assert row.by_score.high > 0
        assert row.thresholded is None
        assert result.unlabeled.beyond == 900
