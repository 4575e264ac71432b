"""The grade, checked against slow reference implementations, and undefined values."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import (
    NO_ANSWER,
    ClassSpace,
    Estimate,
    InputError,
    LabelSet,
    LabelState,
    Predictions,
    ScoreKind,
    SliceSet,
    TestSet,
    Unlisted,
    subset_map,
)
from regrade.metrics import MultilabelRule
from regrade.stats import calibration_error, clopper_pearson
from regrade.studies import EVERYTHING, Grade, GradeRow, MultilabelScoring, ReviewedLabels, Scoring, slice_masks
from regrade.studies.grade.analysis import grade
from regrade.studies.grade.metrics import BUILT_IN

CLASSES = 6
SPACE = ClassSpace("six", tuple("abcdef"), groups={"vowels": (0, 4), "none": ()}, collapsed={0: (1,), 2: (3,)})


def a_test_set(labels: list[int], groups: dict | None = None) -> TestSet:
    ids = tuple(f"i{n}" for n in range(len(labels)))
    return TestSet("set", SPACE, ids, np.array(labels, dtype=np.int32), groups or {})


def answers(classes: list, model: str = "m") -> Predictions:
    return Predictions(model, "set", "six", np.atleast_2d(np.array(classes, dtype=np.int32)))


def graded(test_set: TestSet, *predictions: Predictions, **options) -> Grade:
    return grade(test_set, [(p, Scoring(test_set)) for p in predictions], **options)


def row_of(result: Grade, model: str = "m", slice_: str = EVERYTHING) -> GradeRow:
    return next(row for row in result.rows if (row.model, row.slice) == (model, slice_))


@st.composite
def worlds(draw):
    """Labels (some missing), top-5 predictions (some missing) and judged labels of a few images."""
    n = draw(st.integers(1, 12))
    labels = draw(st.lists(st.integers(-1, CLASSES - 1), min_size=n, max_size=n))
    top5 = [
        [NO_ANSWER] * 5 if draw(st.booleans()) and draw(st.booleans()) else draw(st.permutations(range(CLASSES)))[:5]
        for _ in range(n)
    ]
    states = {(i, c): draw(st.sampled_from([1, 2, 3])) for i in range(n) for c in range(CLASSES) if draw(st.booleans())}
    covered = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    problems = draw(st.lists(st.sampled_from(["", "", "drawing"]), min_size=n, max_size=n))
    complete = draw(st.booleans())
    return labels, top5, states, covered, problems, complete


def label_set(states: dict, covered: list[bool], problems: list[str], complete: bool = False) -> LabelSet:
    pairs = np.array(list(states), dtype=np.int64).reshape(-1, 2)
    return LabelSet(
        "judged", 1, "set", CLASSES, pairs[:, 0], pairs[:, 1], np.array(list(states.values()), dtype=np.int8),
        np.array(covered), tuple(problems), Unlisted.WRONG if complete else Unlisted.NOVEL,
    )  # fmt: skip


def share(outcomes: list[bool]) -> float | None:
    return sum(outcomes) / len(outcomes) if outcomes else None


def value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else pytest.approx(estimate.value, abs=1e-12)


@given(worlds(), st.sampled_from(MultilabelRule), st.booleans())
def test_grade_matches_a_slow_reference(world, rule, collapsed):
    labels, top5, states, covered, problems, complete = world
    scored = [c and not p for c, p in zip(covered, problems, strict=True)]
    if rule is MultilabelRule.CLASSES:  # needs a label for each
        labels = [max(label, 0) for label in labels]
    test_set = a_test_set(labels)
    judged = label_set(states, covered, problems, complete)
    scoring = MultilabelScoring(judged, rule, SPACE.collapsed if collapsed else None)
    row = row_of(graded(test_set, answers(top5), labels=ReviewedLabels(scoring)))

    labeled = [i for i, label in enumerate(labels) if label >= 0]
    assert value(row.top1) == share([top5[i][0] == labels[i] for i in labeled])
    assert value(row.top5) == share([labels[i] in top5[i] for i in labeled])
    assert row.unanswered == sum(top[0] == NO_ANSWER for top in top5)

    accepted = (1,) if rule is MultilabelRule.IMAGES else (1, 2)
    right, novel = {}, {}
    for i in (i for i, inside in enumerate(scored) if inside):
        answer = top5[i][0]
        right[i] = states.get((i, answer)) in accepted
        if collapsed and answer in SPACE.collapsed.get(labels[i], ()):
            right[i] = True
        novel[i] = answer != NO_ANSWER and (i, answer) not in states and not complete and not right[i]
    assert row.novel == sum(novel.values())
    for estimate, outcome in (
        (row.multilabel, right),
        (row.multilabel_upper, {i: right[i] or novel[i] for i in right}),
    ):
        if rule is MultilabelRule.IMAGES:
            expected = share(list(outcome.values()))
        else:
            classes = {labels[i] for i in outcome}
            expected = share([share([outcome[i] for i in outcome if labels[i] == c]) for c in classes])
        assert value(estimate) == (None if expected is None else pytest.approx(expected, abs=1e-12))


@given(worlds(), st.sampled_from(MultilabelRule))
def test_top1_on_the_images_that_the_labels_score(world, rule):
    labels, top5, states, covered, problems, complete = world
    labels = [max(label, 0) for label in labels] if rule is MultilabelRule.CLASSES else labels
    judged = label_set(states, covered, problems, complete)
    test_set = a_test_set(labels)
    row = row_of(graded(test_set, answers(top5), labels=ReviewedLabels(MultilabelScoring(judged, rule))))
    inside = [i for i, label in enumerate(labels) if label >= 0 and covered[i] and not problems[i]]
    if not inside:
        assert row.top1_same_images is None and row.labels_change is None
        return
    accepted = (1,) if rule is MultilabelRule.IMAGES else (1, 2)
    top1 = {i: top5[i][0] == labels[i] for i in inside}
    change = {i: (states.get((i, top5[i][0])) in accepted) - top1[i] for i in inside}
    for estimate, outcome in ((row.top1_same_images, top1), (row.labels_change, change)):
        groups = (
            [inside] if rule is MultilabelRule.IMAGES else [[i for i in inside if labels[i] == c] for c in range(6)]
        )
        expected = share([share([outcome[i] for i in group]) for group in groups if group])
        assert estimate.value == pytest.approx(expected, abs=1e-12)
        assert estimate.n == len(inside)
        assert estimate.low < estimate.high


def test_labels_change_is_over_the_same_images():
    """Labels of hard images only, which accept only the original labels, change nothing."""
    labels = ReviewedLabels(
        MultilabelScoring(label_set({(i, 0): 1 for i in range(4)}, [True] * 4 + [False] * 6, [""] * 10, True))
    )
    row = row_of(graded(a_test_set([0] * 10), answers([[0], [1], [1], [1]] + [[0]] * 6), labels=labels))
    assert (row.top1.value, row.top1_same_images.value, row.multilabel.value) == (0.7, 0.25, 0.25)
    assert row.labels_change.value == 0
    assert row.labels_change.low < 0 < row.labels_change.high


@given(st.integers(1, 40), st.integers(0, 40))
def test_intervals_are_clopper_pearson_at_the_given_confidence(n, k):
    k = min(k, n)
    top1 = row_of(graded(a_test_set([0] * n), answers([[0]] * k + [[1]] * (n - k)), confidence=0.8)).top1
    bounds = clopper_pearson(k, n, confidence=0.8)
    assert (top1.low, top1.high) == (pytest.approx(float(bounds.low)), pytest.approx(float(bounds.high)))
    assert (top1.n, top1.method) == (n, "clopper-pearson 80%")


class TestCalibration:
    def test_stored_probabilities_have_a_calibration_error(self):
        sure = np.full((40, 1), 0.9, dtype=np.float32)
        predicted = Predictions(
            "m", "set", "six", np.repeat([[0], [1]], 20, axis=0), scores=sure, score_kind=ScoreKind.PROBABILITIES
        )
        result = graded(a_test_set([0] * 40), predicted)
        error = row_of(result).calibration_error
        oracle = calibration_error(np.full(40, 0.9, dtype=np.float32), np.repeat([True, False], 20))
        assert (error.value, error.low, error.high) == pytest.approx((oracle.value, oracle.low, oracle.high), abs=1e-6)
        assert "calibration_error" in [column.key for column in result.table().columns]

    @pytest.mark.parametrize("kind", [ScoreKind.LOGITS, None])
    def test_other_scores_have_no_calibration_error(self, kind):
        predicted = Predictions(
            "m",
            "set",
            "six",
            np.zeros((4, 1), dtype=np.int32),
            scores=np.ones((4, 1)) if kind else None,
            score_kind=kind,
        )
        assert row_of(graded(a_test_set([0] * 4), predicted)).calibration_error is None


class TestUndefined:
    def test_top5_of_predictions_with_one_class(self):
        row = row_of(graded(a_test_set([0, 1]), answers([[0], [0]])))
        assert row.top1.value == 0.5
        assert row.top5 is None

    def test_no_example_has_a_label(self):
        row = row_of(graded(a_test_set([-1, -1]), answers([[0], [0]])))
        assert row.top1 is None and row.top5 is None

    def test_unlabeled_examples_do_not_count(self):
        assert row_of(graded(a_test_set([0, -1, -1]), answers([[0], [0], [1]]))).top1.n == 1

    def test_missing_prediction_is_wrong_and_counted(self):
        row = row_of(graded(a_test_set([0, 1]), answers([[0], [NO_ANSWER]])))
        assert (row.top1.value, row.top1.n, row.unanswered) == (0.5, 2, 1)

    def test_missing_prediction_is_not_novel(self):
        labels = ReviewedLabels(MultilabelScoring(label_set({}, [True, True], ["", ""])))
        row = row_of(graded(a_test_set([0, 1]), answers([[0], [NO_ANSWER]]), labels=labels))
        assert row.novel == 1
        assert (row.multilabel.value, row.multilabel_upper.value) == (0.0, 0.5)

    def test_labels_that_cover_no_image(self):
        labels = ReviewedLabels(MultilabelScoring(label_set({}, [False, False], ["", ""])))
        row = row_of(graded(a_test_set([0, 1]), answers([[0], [0]]), labels=labels))
        assert row.multilabel is None and row.multilabel_upper is None and row.reviewed is None

    def test_one_image_per_class_has_the_interval_of_a_proportion(self):
        """With one image per class, the mean over classes is the mean over images."""
        states = {(i, i): LabelState.CORRECT for i in range(4)}
        labels = label_set(states, [True] * 6, [""] * 6)
        scoring = MultilabelScoring(labels, MultilabelRule.CLASSES)
        row = row_of(
            graded(a_test_set(list(range(6))), answers([[i] for i in range(6)]), labels=ReviewedLabels(scoring))
        )
        assert (row.multilabel.value, row.multilabel.n) == (4 / 6, 6)
        assert row.multilabel.method == "clopper-pearson 95%"

    def test_mean_over_classes_needs_original_labels(self):
        labels = ReviewedLabels(MultilabelScoring(label_set({}, [True, True], ["", ""]), MultilabelRule.CLASSES))
        with pytest.raises(InputError, match="has no original label"):
            graded(a_test_set([0, -1]), answers([[0], [0]]), labels=labels)
        outside = ReviewedLabels(MultilabelScoring(label_set({}, [True, False], ["", ""]), MultilabelRule.CLASSES))
        assert row_of(graded(a_test_set([0, -1]), answers([[0], [0]]), labels=outside)).multilabel.n == 1

    def test_no_model_raises(self):
        with pytest.raises(InputError, match="no model has predictions"):
            graded(a_test_set([0]))


class TestSlices:
    def test_classes_groups_and_columns(self):
        test_set = a_test_set([0, 1, 4, -1], {"region": ("n", "s", "n", "s")})
        masks = slice_masks(test_set, ["vowels", "b", "region"])
        assert {name: mask.tolist() for name, mask in masks.items()} == {
            "all": [True, True, True, True],
            "vowels": [True, False, True, False],
            "b": [False, True, False, False],
            "region=n": [True, False, True, False],
            "region=s": [False, True, False, True],
        }

    def test_an_unlabeled_example_is_in_no_class_but_in_its_region(self):
        test_set = a_test_set([0, -1], {"region": ("n", "n")})
        result = graded(test_set, answers([[0], [0]]), slices=["region=n", "a"])
        assert row_of(result, slice_="region=n").top1.n == 1
        assert row_of(result, slice_="a").top1.n == 1

    def test_an_empty_slice_raises(self):
        with pytest.raises(InputError, match="'c' of set contains no images"):
            slice_masks(a_test_set([0, 1]), ["c"])
        with pytest.raises(InputError, match="'none' of set contains no images"):
            slice_masks(a_test_set([0, 1]), ["none"])

    def test_slice_without_judged_images(self):
        labels = ReviewedLabels(MultilabelScoring(label_set({(0, 0): 1}, [True, False], ["", ""])))
        result = graded(a_test_set([0, 1]), answers([[0], [1]]), labels=labels, slices=["b"])
        assert row_of(result, slice_="b").multilabel is None
        assert row_of(result, slice_="b").top1.value == 1

    @given(st.lists(st.tuples(st.integers(-1, 5), st.integers(0, 5), st.sampled_from("nse")), min_size=1, max_size=15))
    def test_slices_of_a_column_add_up(self, rows):
        labels, best, regions = zip(*rows, strict=True)
        test_set = a_test_set(list(labels), {"region": regions})
        result = graded(test_set, answers([[b] for b in best]), slices=["region"])
        parts = [row.top1 for row in result.rows if row.slice != EVERYTHING and row.top1]
        whole = row_of(result).top1
        assert sum(p.n for p in parts) == (whole.n if whole else 0)
        assert sum(p.n * p.value for p in parts) == pytest.approx(whole.n * whole.value if whole else 0)


class TestSimultaneousIntervals:
    def test_intervals_of_slices_are_simultaneous(self):
        """Each of three slices at 1 - 0.05 / 3, and the whole at 0.95."""
        test_set = a_test_set([0] * 30, {"region": tuple("nse" * 10)})
        result = graded(test_set, answers([[0]] * 27 + [[1]] * 3), slices=["region"])
        part, whole = row_of(result, slice_="region=n").top1, row_of(result).top1
        strict = clopper_pearson(9, 10, confidence=1 - 0.05 / 3)
        assert (part.low, part.high) == (float(strict.low), float(strict.high))
        assert (part.method, whole.method) == ("clopper-pearson, 3 together 95%", "clopper-pearson 95%")
        assert "intervals of slices hold for all 3 slices of a model together" in result.notes

    def test_multilabel_intervals_of_slices_are_simultaneous(self):
        states = {(n, 0): 1 for n in range(4)}
        labels = ReviewedLabels(MultilabelScoring(label_set(states, [True] * 4, [""] * 4)))
        test_set = a_test_set([0] * 4, {"region": tuple("nnss")})
        result = graded(test_set, answers([[0]] * 4), labels=labels, slices=["region"])
        strict = clopper_pearson(2, 2, confidence=0.975)
        assert row_of(result, slice_="region=s").multilabel.low == float(strict.low)
        assert row_of(result).multilabel.method == "clopper-pearson 95%"

    def test_a_slice_of_one_image_has_an_interval(self):
        test_set = a_test_set([0, 0, 0], {"region": ("n", "s", "s")})
        top1 = row_of(graded(test_set, answers([[1], [0], [0]]), slices=["region"]), slice_="region=n").top1
        assert (top1.value, top1.low, top1.n) == (0, 0, 1) and top1.high == pytest.approx(1 - 0.0125)

    def test_slices_selected_as_hard_are_named(self):
        hard = SliceSet("hard", "set", 2, {"hard": np.array([True, False])}, chosen_hard=True)
        test_set = replace(a_test_set([0, 0]), slice_sets=(hard,))
        result = graded(test_set, answers([[1], [0]]), slices=["hard", "a"])
        assert result.hard_slices == ("hard",) and result.as_dict()["hard_slices"] == ["hard"]
        assert "chosen because models find them hard: hard" in result.notes


class TestOrder:
    def test_best_first_and_ties_by_name(self):
        test_set = a_test_set([0, 0])
        result = graded(test_set, answers([[1], [1]], "z"), answers([[0], [1]], "y"), answers([[1], [0]], "x"))
        assert [row.model for row in result.rows] == ["x", "y", "z"]

    def test_the_slices_of_a_model_stay_together(self):
        test_set = a_test_set([0, 1])
        result = graded(test_set, answers([[0], [0]], "p"), answers([[0], [1]], "q"), slices=["b", "a"])
        assert [(row.model, row.slice) for row in result.rows] == [
            (model, part) for model in "qp" for part in ("all", "b", "a")
        ]


class TestTables:
    def test_empty_columns_are_left_out(self):
        table = graded(a_test_set([0]), answers([[0]])).table()
        assert [c.key for c in table.columns] == ["model", "top1"]
        assert table.texts() == [["m", "100.0 [2.5, 100.0]"]]

    def test_novel_predictions_are_shown_with_both_bounds(self):
        labels = ReviewedLabels(MultilabelScoring(label_set({(0, 0): 1}, [True, True], ["", ""])))
        result = graded(a_test_set([0, 1]), answers([[0], [5]]), labels=labels)
        assert [c.key for c in result.table().columns][2:] == [
            "multilabel",
            "multilabel_upper",
            "novel",
            "labels_change",
        ]
        assert result.table().title == "set against judged@1, in %"
        assert any("list them with regrade labels novel" in note for note in result.notes)

    def test_notes_say_what_counts_as_correct(self):
        labels = ReviewedLabels(MultilabelScoring(label_set({}, [True], [""]), MultilabelRule.CLASSES, {0: (1,)}))
        notes = " ".join(graded(a_test_set([0]), answers([[0]]), labels=labels).notes)
        assert "right if correct or unclear, collapsed classes accepted; mean over classes; 1 image" in notes

    def test_json_fields(self):
        content = graded(a_test_set([0]), answers([[0]])).as_dict()
        assert (content["test_set"], content["labels"]) == ("set", None)
        (row,) = content["rows"]
        assert row["top1"].keys() == {"value", "low", "high", "n", "method"}
        assert (row["top5"], row["multilabel"], row["novel"]) == (None, None, 0)


def test_balanced_accuracy_counts_the_same_images_as_top1():
    test_set = a_test_set([0, 0, 0, 1, -1])
    predictions = answers([[0], [0], [NO_ANSWER], [1], [2]])
    metrics = [BUILT_IN["balanced-accuracy"], BUILT_IN["ece"]]
    row = row_of(graded(test_set, predictions, metrics=metrics))
    assert row.top1.value == 3 / 4
    assert row.values["balanced-accuracy"].value == pytest.approx((2 / 3 + 1) / 2)
    assert row.values["balanced-accuracy"].n == row.top1.n == 4


def test_balanced_accuracy_is_defined_through_a_class_map():
    test_set = a_test_set([0, 0, 0, 1, 4])
    class_map = subset_map(SPACE, ClassSpace("three", ("a", "b", "c")))
    metrics = [BUILT_IN["balanced-accuracy"], BUILT_IN["ece"]]
    result = grade(test_set, [(answers([[0], [1], [5], [1], [4]]), Scoring(test_set, class_map))], metrics=metrics)
    row = row_of(result)
    assert {name: estimate.value for name, estimate in row.values.items()} == {
        "balanced-accuracy": pytest.approx((1 / 3 + 1) / 2)
    }
    assert row.values["balanced-accuracy"].n == row.top1.n == 4
    assert "ECE: undefined for m; it may require stored scores of all classes" in result.notes
