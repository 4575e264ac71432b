"""Severity of mistakes on the images of a study, with bounds for what nobody judged; and the paths of mistakes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mistake_world import CLASSES, REVIEW_A, REVIEW_B, TEST_SET, A, predictions, review, studied, verdicts

from regrade.core import MistakeCategory, ReusedFrom, Severity, SliceSet
from regrade.stats import proportion
from regrade.studies import MistakePart
from regrade.studies.hard_slices import hard_slice, hard_slice_caution, took_part
from regrade.studies.image_slice import image_slice
from regrade.studies.mistakes.flow_paths import StateAfter, StateBefore
from regrade.studies.mistakes.pair_annotations import categorized_pairs

CUP_ON_9 = (9, CLASSES.index("cup"))
MISTAKES = (2, 4, 9)
HARD = SliceSet(
    "grave", "dozen", 12, {"grave": np.isin(np.arange(12), MISTAKES)}, chosen_hard=True, chosen_by=("a", "b-s*")
)


def severity(result, model):
    return next(row for row in result.severities if row.model == model)


def path(result, model):
    return next(row for row in result.paths if row.model == model)


def counts(row):
    return row.right_images, row.novel, row.major, row.borderline, row.minor, row.open, row.unanswered


def test_caution_agrees_in_number_with_the_models_that_chose_a_slice():
    chosen = (replace(HARD, chosen_by=names) for names in (("a", "b"), ("a",)))
    several, single = (hard_slice_caution(slice_set, "grave", ["c"]) for slice_set in chosen)
    assert "mistakes of a and b, which are not compared: models that are similar to them may" in several
    assert "mistakes of a, which is not compared: models that are similar to it may" in single


class TestByHand:
    def test_reviewed_models(self):
        """Model a is right on images 0, 3 and 6, novel on 1, 2 and 5, minor on 4 and major on 9."""
        result = studied()
        assert counts(severity(result, "a")) == (3, 3, 1, 0, 1, 0, 0)
        assert counts(severity(result, "b")) == (5, 2, 1, 0, 0, 0, 0)

    def test_bounds(self):
        a = severity(studied(), "a")
        expected = {"right": 3, "right_at_most": 6, "major_at_least": 1, "major_at_most": 4}
        assert {name: getattr(a, name) for name in expected} == {
            name: proportion(number, 8) for name, number in expected.items()
        }

    def test_decisions_count(self):
        """The decisions: lynx on 1 is wrong, which the review calls major, wolf on 2 correct."""
        a = severity(studied(frame=verdicts()), "a")
        assert counts(a) == (4, 1, 2, 0, 1, 0, 0)

    def test_new_model_takes_the_severities_of_others(self):
        third = severity(studied(predictions("third", A)), "third")
        assert counts(third) == (3, 3, 1, 0, 1, 0, 0)

    def test_disputed_severity_is_open_but_not_for_the_reviewed_model(self):
        reviews = REVIEW_A, review("b", [(9, "cup", "NON_PROTOTYPICAL", "BORDERLINE")])
        result = studied(predictions("a", A), predictions("third", A), reviews=reviews)
        assert counts(severity(result, "a")) == (3, 3, 1, 0, 1, 0, 0)
        assert counts(severity(result, "third")) == (3, 3, 0, 0, 1, 1, 0)
        assert severity(result, "third").major_at_most == proportion(4, 8)

    def test_missing_prediction_is_no_major_mistake(self):
        result = studied(predictions("gap", (None, *A[1:])))
        assert counts(severity(result, "gap")) == (2, 3, 1, 0, 1, 0, 1)

    def test_top1_is_that_of_all_images(self):
        """Model a predicts the original label of image 0 only."""
        within = image_slice(TEST_SET, "felines")
        assert severity(studied(within=within), "a").top1 == severity(studied(), "a").top1 == proportion(1, 12)

    def test_table_and_json(self):
        result = studied()
        assert "novel" in result.part(MistakePart.SEVERITY).records()[0]
        assert "severity" not in result.as_dict()
        on_slice = studied(within=image_slice(TEST_SET, "felines")).as_dict()["severity"]
        assert [(row["model"], row["images"], row["right_images"]) for row in on_slice] == [("b", 3, 3), ("a", 3, 2)]


class TestHardSlice:
    @pytest.fixture
    def result(self):
        test_set = replace(TEST_SET, slice_sets=(HARD,))
        models = [predictions(name, A) for name in ("a", "b-s1", "third")]
        return studied(*models, test_set=test_set, within=image_slice(test_set, "grave"))

    def test_models_that_chose_the_slice_are_marked(self, result):
        assert {row.model: row.chose for row in result.severities} == {"a": True, "b-s1": True, "third": False}
        cells = {row["model"]: row["chose"] for row in result.part(MistakePart.SEVERITY).records()}
        assert cells == {"a": "yes", "b-s1": "yes", "third": None}

    def test_caution(self, result):
        (caution,) = result.slice_notes
        assert caution.startswith("caution: grave of dozen was chosen by scores or mistakes of a and b-s*")
        assert "which a and b-s1 took part in" in caution
        assert caution in result.part(MistakePart.SEVERITY).notes
        assert caution in result.as_dict()["notes"]

    def test_images_without_labels_are_counted(self):
        slices = SliceSet("odd", "dozen", 12, {"odd": np.arange(12) >= 9})
        test_set = replace(TEST_SET, slice_sets=(slices,))
        result = studied(test_set=test_set, within=image_slice(test_set, "odd"))
        assert result.slice_notes == ("judged@1 scores 1 of the 3 images of slice odd",)
        assert hard_slice(test_set, "odd") is None

    def test_took_part_by_pattern(self):
        assert took_part(HARD, "b-s12") and not took_part(HARD, "b")


class TestCoverage:
    def test_incomplete_review_with_reused_rows_is_noted(self):
        """The review of a has one of its two judged mistakes, taken over from b."""
        partial = replace(review("a", [(9, "cup", "NON_PROTOTYPICAL", "MAJOR")]), reused=(ReusedFrom("b", "q"),))
        result = studied(reviews=(partial, REVIEW_B))
        (note,) = result.review_notes
        assert note.startswith("caution: the review of a covers 1 of its 2 mistakes (reused from other models: 1)")
        assert note in result.part(MistakePart.CATEGORIES).notes

    def test_complete_or_own_reviews_are_not_noted(self):
        complete = replace(REVIEW_A, reused=(None, None, ReusedFrom("b")))
        assert studied(reviews=(complete, REVIEW_B)).review_notes == ()
        assert studied(reviews=(REVIEW_A.rows(np.array([True, False, False])),)).review_notes == ()


class TestPaths:
    def test_by_hand(self):
        """Of the mistakes of a, three are novel: lynx is judged wrong, wolf correct, boat still open."""
        a = path(studied(frame=verdicts()), "a")
        assert a.counts == {
            (StateBefore.NOVEL, StateAfter.CORRECT): 1,
            (StateBefore.NOVEL, StateAfter.NOVEL): 1,
            (StateBefore.NOVEL, StateAfter.MISTAKE): 1,
            (StateBefore.WRONG, StateAfter.MISTAKE): 2,
        }
        assert a.categories == {
            MistakeCategory.FINE_GRAINED: {Severity.MAJOR: 1},
            MistakeCategory.SPURIOUS: {Severity.MINOR: 1},
            MistakeCategory.NON_PROTOTYPICAL: {Severity.MAJOR: 1},
        }

    @given(st.lists(st.sampled_from((None, *CLASSES)), min_size=12, max_size=12), st.booleans())
    @settings(max_examples=60, deadline=None)
    def test_paths_and_severities_add_up_to_the_flow(self, classes, decided):
        result = studied(predictions("m", classes), frame=verdicts() if decided else None)
        (flow,), (paths,), (row,) = result.flows, result.paths, result.severities
        ends = [paths.into(state) for state in StateAfter]
        assert ends == [flow.to_correct, flow.to_unclear, flow.to_problematic, flow.open, flow.remaining - flow.open]
        novel = sum(number for (start, _), number in paths.counts.items() if start is StateBefore.NOVEL)
        assert novel == flow.novel
        judged = row.major + row.borderline + row.minor + row.open
        assert judged + paths.unanswered == paths.into(StateAfter.MISTAKE)
        assert row.right_images + judged + row.novel + row.unanswered == row.images
        assert row.right.low <= row.right.value <= row.right_at_most.value <= row.right_at_most.high
        assert row.major_at_least.value <= row.major_at_most.value


def test_bounds_cover_the_truth():
    """Mistakes without a severity are major at random: 95 of 100 pairs of bounds contain the rate of major mistakes."""
    rng = np.random.default_rng(5)
    rate, images, runs = 0.3, 68, 2_000
    major = rng.random((runs, images)) < rate
    open_ones = rng.random((runs, images)) < 0.2
    least, most = (major & ~open_ones).sum(axis=1), (major | open_ones).sum(axis=1)
    inside = [
        proportion(int(low), images).low <= rate <= proportion(int(high), images).high
        for low, high in zip(least, most, strict=True)
    ]
    assert np.mean(inside) > 0.95


class TestCategorizedPairs:
    def test_agreeing_reviews_settle_a_pair(self):
        settled = categorized_pairs([REVIEW_A, REVIEW_B]).settled(CUP_ON_9)
        assert (settled.severity, settled.origin) == (Severity.MAJOR, ReusedFrom("a"))

    @pytest.mark.parametrize("change", [{"severity": "BORDERLINE"}, {"category": "SPURIOUS"}])
    def test_other_answers_dispute_a_pair(self, change):
        row = {"category": "NON_PROTOTYPICAL", "severity": "MAJOR"} | change
        opposed = review("c", [(9, "cup", row["category"], row["severity"])])
        pairs = categorized_pairs([REVIEW_A, opposed])
        assert pairs.settled(CUP_ON_9) is None and pairs.is_disputed(CUP_ON_9)

    def test_minor_and_borderline_differ(self):
        reviews = [review(name, [(9, "cup", "SPURIOUS", own)]) for name, own in (("a", "MINOR"), ("b", "BORDERLINE"))]
        assert categorized_pairs(reviews).is_disputed(CUP_ON_9)

    def test_unknown_pairs_are_neither(self):
        pairs = categorized_pairs([REVIEW_A])
        assert pairs.settled((0, 0)) is None and not pairs.is_disputed((0, 0))

    def test_reused_rows_are_left_out(self):
        copied = replace(REVIEW_A, model="c", reused=(ReusedFrom("a"), None, None))
        assert list(categorized_pairs([copied]).annotations) == [(4, CLASSES.index("road")), CUP_ON_9]
