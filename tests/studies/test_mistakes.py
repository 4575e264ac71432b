"""Tests of the mistakes study: by hand, against a plain Python reference, and properties."""

import json
import random
from collections import Counter
from dataclasses import replace

import mistake_world as world
import numpy as np
import pytest
from mistake_world import A, B, predictions, studied

from regrade.classes import superclasses
from regrade.core import ClassSpace, InputError, LabelState, MistakeCategory, Predictions, TestSet, Unlisted
from regrade.stats import proportion
from regrade.studies import MistakePart, MultilabelScoring, ReviewedLabels, TriageSources
from regrade.studies.mistakes.analysis import mistakes
from regrade.studies.mistakes.triage import by_kind


def row_of(rows, model, key="model"):
    return next(row for row in rows if getattr(row, key) == model)


def counts(row):
    return {kind.name: count for kind, count in by_kind(row.counts).items()}


class TestFlow:
    def test_flow_before_review(self):
        a = row_of(studied().flows, "a")
        assert (a.images, a.mistakes, a.novel, a.judged, a.overturned, a.remaining, a.open) == (8, 5, 3, 0, 0, 5, 3)
        assert a.before == a.after
        assert a.before.over_images.value == 2 / 8  # unclear does not count
        assert a.before.over_classes.value == pytest.approx((1 / 2 + 0 + 1 / 2 + 0 + 1) / 5)  # here it does
        assert (a.before.over_images.low, a.before.over_images.high) == pytest.approx(
            (proportion(2, 8).low, proportion(2, 8).high)
        )

    def test_flow_after_decisions(self):
        a = row_of(studied(frame=world.verdicts()).flows, "a")
        assert (a.mistakes, a.novel, a.judged, a.to_correct, a.to_unclear, a.remaining, a.open) == (5, 3, 2, 1, 0, 4, 1)
        assert a.before.over_images.value == 2 / 8
        assert a.after.over_images.value == 3 / 8
        assert a.after.over_classes.value == pytest.approx((1 / 2 + 1 / 2 + 1 / 2 + 0 + 1) / 5)

    def test_problematic_image_is_overturned_and_excluded(self):
        """Image 2 is judged problematic: it no longer counts for either model."""
        frame = world.verdicts()
        states = np.where(frame.states == LabelState.CORRECT, LabelState.PROBLEMATIC, frame.states).astype(np.int8)
        result = studied(frame=replace(frame, states=states, reasons={1: "a painting"}))
        a, b = (row_of(result.flows, model) for model in "ab")
        assert (a.mistakes, a.judged, a.to_correct, a.to_problematic, a.remaining) == (5, 2, 0, 1, 4)
        assert (a.before.over_images.n, a.after.over_images.n, a.after.over_images.value) == (8, 7, 2 / 7)
        assert (b.to_problematic, b.after.over_images.n, b.images) == (0, 7, 8)
        assert row_of(result.triage, "a").images == row_of(studied().triage, "a").images - 1
        assert "left out, as the review finds them problematic: 1 image (a painting 1)" in result.notes
        assert any("8 before and 7 after, 7 of them the same" in note for note in result.notes)
        assert "now problematic" in [column.heading for column in result.table().columns]

    def test_labels_that_came_later(self):
        """In the later labels the boat is unclear, image 9 is problematic, and the road in image 3 is wrong."""
        later = {**world.JUDGED, 3: {"car": "CORRECT", "road": "WRONG"}, 5: {"cup": "CORRECT", "boat": "UNCLEAR"}}
        relabeled = world.reviewed_labels(world.label_set(later, problematic=(7, 9), version=2))
        result = studied(relabeled=relabeled)
        a = row_of(result.flows, "a")
        assert (a.mistakes, a.to_correct, a.to_unclear, a.to_problematic, a.added) == (5, 0, 1, 1, 1)
        assert a.remaining == 5 - 1 - 1 + 1
        assert (a.before.over_images.n, a.after.over_images.n) == (8, 7)
        assert (result.labels, result.relabeled) == ("judged@1", "judged@2")
        assert "now problematic" in str(result)

    def test_collapsed_classes_are_not_mistakes_if_enabled(self):
        labels = world.reviewed_labels(collapsed=world.SPACE.collapsed)
        assert row_of(studied(labels=labels).flows, "a").mistakes == 4

    def test_model_with_partial_predictions_counts_its_images(self):
        counted = np.arange(12) < 5
        person = predictions("a", [answer if inside else None for answer, inside in zip(A, counted, strict=True)])
        (flow,) = studied(replace(person, covered=counted)).flows
        assert (flow.images, flow.mistakes) == (5, 3)
        (triaged,) = studied(replace(person, covered=counted)).triage
        assert (triaged.images, triaged.errors) == (5, 4)

    def test_the_best_model_comes_first(self):
        assert [flow.model for flow in studied().flows] == ["b", "a"]

    def test_without_a_label_of_its_own_there_is_no_mean_over_classes(self):
        bare = TestSet("dozen", world.SPACE, world.TEST_SET.ids, np.full(12, -1))
        triage = TriageSources(superclasses(world.SPACE))
        result = mistakes(bare, [predictions("a", A)], labels=world.reviewed_labels(), triage=triage)
        assert result.flows[0].before.over_classes is None
        assert "over classes" not in " ".join(c.heading for c in result.table().columns)
        assert result.triage[0].errors == 0


class TestTriage:
    def test_the_first_kind_that_fits(self):
        a = row_of(studied().triage, "a")
        assert (a.images, a.errors) == (8, 7)
        assert counts(a) == {
            "COLLAPSED": 1, "MULTILABEL": 2, "FINE_GRAINED": 1, "CO_OCCURRENCE": 1, "NON_PROTOTYPICAL": 1, "FAILURE": 1
        }  # fmt: skip
        assert a.shares[1].value == 2 / 7 and a.shares[1].n == 7

    def test_without_reviews_no_image_is_unusual(self):
        a = row_of(studied(reviews=()).triage, "a")
        assert counts(a)["NON_PROTOTYPICAL"] == 0 and counts(a)["FAILURE"] == 2

    def test_triage_without_pair_labels_is_noted(self):
        result = studied(triage=TriageSources(superclasses(world.SPACE)))
        assert counts(row_of(result.triage, "a"))["CO_OCCURRENCE"] == 0
        assert any("co-occurring class: left out" in note for note in result.part(MistakePart.TRIAGE).notes)

    def test_triage_notes_list_omitted_kinds(self):
        notes = studied().part(MistakePart.TRIAGE).notes
        assert any("embeddings" in note for note in notes)
        assert any("2 groups of eight" in note for note in notes)
        assert any("1 pair of classes that real@1" in note for note in notes)

    def test_classes_of_one_superclass_do_not_co_occur(self):
        kin = {i: {"cat": "CORRECT", "lynx": "CORRECT"} for i in (8, 10)}
        labels = world.label_set(kin, covered=(8, 10), problematic=(), name="real", unlisted=Unlisted.WRONG)
        notes = studied(triage=TriageSources(superclasses(world.SPACE), labels)).triage_notes
        assert any("2 pairs of classes that real@1" in note for note in notes)  # cat and lynx each with the own label

    def test_pair_needs_two_images(self):
        once = world.label_set(
            {8: {"car": "CORRECT", "road": "CORRECT"}}, covered=(8,), problematic=(), name="real",
            unlisted=Unlisted.WRONG,
        )  # fmt: skip
        result = studied(triage=TriageSources(superclasses(world.SPACE), once))
        assert counts(row_of(result.triage, "a"))["CO_OCCURRENCE"] == 0

    def test_pairs_exclude_images_covered_by_the_labels(self):
        """Image 3 shows a car on a road, but the errors are judged by its own labels."""
        more = {3: {"car": "CORRECT", "road": "CORRECT"}, 8: {"car": "CORRECT", "road": "CORRECT"}}
        inside = world.label_set(more, covered=(3, 8), problematic=(), name="real", unlisted=Unlisted.WRONG)
        result = studied(triage=TriageSources(superclasses(world.SPACE), inside))
        assert counts(row_of(result.triage, "a"))["CO_OCCURRENCE"] == 0

    def test_pairs_from_the_grading_labels(self):
        both = {"car": "CORRECT", "road": "CORRECT"}
        judged = {3: both, 8: both, 4: {"car": "CORRECT"}, 10: {"road": "CORRECT"}, 11: {"road": "CORRECT"}}
        labels = world.label_set(judged, covered=(3, 4, 8, 10, 11), problematic=(), unlisted=Unlisted.WRONG)
        answers = ["cat"] * 12
        answers[4], answers[10] = "road", "car"  # car is the own label of 10, which the labels reject
        triage = TriageSources(superclasses(world.SPACE), labels)
        reviewed = ReviewedLabels(MultilabelScoring(labels))
        (row,) = studied(predictions("a", answers), labels=reviewed, triage=triage, reviews=()).triage
        assert counts(row)["CO_OCCURRENCE"] == 1  # 4, by 3 and 8
        assert row.rejected == 1  # 10
        fewer = world.label_set(
            {**judged, 8: {"car": "CORRECT"}}, covered=(3, 4, 8, 10, 11), problematic=(), unlisted=Unlisted.WRONG
        )
        (row,) = studied(
            predictions("a", answers), labels=ReviewedLabels(MultilabelScoring(fewer)),
            triage=TriageSources(superclasses(world.SPACE), fewer), reviews=(),
        ).triage  # fmt: skip
        assert counts(row)["CO_OCCURRENCE"] == 0  # 10's own label and its right one are no second witness

    def test_missing_prediction_is_a_failure(self):
        nothing = studied(predictions("silent", [None] * 12), reviews=())
        assert counts(nothing.triage[0]) == {
            "COLLAPSED": 0, "MULTILABEL": 0, "FINE_GRAINED": 0, "CO_OCCURRENCE": 0, "NON_PROTOTYPICAL": 0, "FAILURE": 8
        }  # fmt: skip
        assert nothing.flows[0].mistakes == 8
        assert len(nothing.pairs) == 0
        assert nothing.distances == ()


class TestAgreement:
    def test_agreement_of_the_reviewed_predictions(self):
        own = next(row for row in studied().agreement if row.source == row.review == "a")
        assert (own.images, own.same) == (3, 3)
        categories = list(MistakeCategory)
        rows_by_source = {
            (category.name, kind.name)
            for category in MistakeCategory
            for kind, count in by_kind(own.counts[categories.index(category)]).items()
            if count
        }
        assert rows_by_source == {
            ("FINE_GRAINED", "FINE_GRAINED"), ("SPURIOUS", "CO_OCCURRENCE"), ("NON_PROTOTYPICAL", "NON_PROTOTYPICAL")
        }  # fmt: skip
        assert [share.value for share in own.people] == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])

    def test_images_that_are_not_scored_are_left_out(self):
        """Image 7 is problematic, and image 8 is not judged."""
        rows = [(i, "cup", "SPURIOUS", "MINOR") for i in (4, 7, 8)]
        agreements = [row for row in studied(reviews=(world.review("x", rows),)).agreement if row.source == "x"]
        assert [row.images for row in agreements] == [1]

    def test_another_model_on_the_same_images(self):
        """Model b errs on images 4 and 9 of a's review; on 9 with the same prediction."""
        row = next(row for row in studied().agreement if (row.source, row.review) == ("b", "a"))
        assert (row.images, row.same) == (2, 1)
        assert [share.value for share in row.people] == [0, 0, 1 / 2, 1 / 2]

    def test_agreement_table_pairs_categories_and_kinds(self):
        table = studied().part(MistakePart.AGREEMENT)
        assert len(table.rows) == 7 * 4  # both reviews, and each model on the other's
        assert any("of 1 that people call fine-grained, the triage has 1 same superclass" in n for n in table.notes)


class TestCategories:
    def test_counts_and_severity(self):
        counts = studied().categories.counts
        a = {count.category: count for count in counts if count.review == "a"}
        assert (a[None].mistakes, a[None].major, a[None].minor) == (3, 2, 1)
        fine = a[MistakeCategory.FINE_GRAINED]
        assert (fine.major, fine.minor, fine.share.value, fine.major_share.value) == (1, 0, 1 / 3, 1)
        assert a[MistakeCategory.OUT_OF_VOCABULARY].major_share is None  # a share of nothing
        b = {count.category: count for count in counts if count.review == "b"}
        assert b[MistakeCategory.FINE_GRAINED].minor == 1  # borderline

    def test_chi_square_against_scipy(self):
        from scipy.stats import chi2_contingency

        tests = {test.of: test.test for test in studied().categories.tests}
        expected = chi2_contingency([[1, 0, 1, 1], [1, 1, 0, 1]], correction=False)
        assert tests["categories"].statistic == pytest.approx(expected.statistic)
        assert tests["categories"].p_value == pytest.approx(expected.pvalue)
        assert "below 5" in tests["categories"].warning
        assert (tests["severity"].freedom, tests["severity"].statistic) == (1, 0)

    def test_two_models_on_the_same_images_have_a_paired_test(self):
        test = next(test for test in studied().categories.tests if test.of == "severity")
        assert test.paired is not None
        assert test.paired.images == len({*world.REVIEW_A.examples.tolist(), *world.REVIEW_B.examples.tolist()})
        assert any("; paired over " in note for note in studied().part(MistakePart.CATEGORIES).notes)

    def test_two_test_sets_have_no_paired_test(self):
        elsewhere = world.review(
            "a", [(0, "dog", "SPURIOUS", "MINOR"), (1, "lynx", "FINE_GRAINED", "MAJOR")], test_set="other"
        )
        result = studied(reviews=(world.REVIEW_A,), other_sets=(elsewhere,)).categories
        assert [test.paired for test in result.tests] == [None, None]

    def test_empty_categories_are_dropped_and_one_is_not_tested(self):
        lone = world.review("lone", [(1, "lynx", "FINE_GRAINED", "MAJOR")])
        same_model = world.review("same", [(2, "lynx", "FINE_GRAINED", "MINOR")])
        tests = {test.of: test.test for test in studied(reviews=(lone, same_model)).categories.tests}
        assert tests["categories"] is None
        assert tests["severity"].n == 2
        assert "nothing to test" in str(studied(reviews=(lone, same_model)).part(MistakePart.CATEGORIES))

    def test_categories_that_neither_has_do_not_stop_the_test(self):
        first = world.review("first", [(1, "lynx", "FINE_GRAINED", "MAJOR"), (2, "wolf", "SPURIOUS", "MAJOR")])
        second = world.review("second", [(1, "lynx", "FINE_GRAINED", "MINOR")])
        tests = {test.of: test.test for test in studied(reviews=(first, second)).categories.tests}
        assert (tests["categories"].freedom, tests["categories"].n) == (1, 3)
        assert tests["categories"].statistic == pytest.approx(3 / 4)  # of [[1, 1], [1, 0]]

    def test_other_test_sets_are_compared_too(self):
        elsewhere = world.review("a", [(0, "dog", "SPURIOUS", "MINOR")], test_set="other")
        categories = studied(reviews=(world.REVIEW_A,), other_sets=(elsewhere,)).categories
        assert {count.review for count in categories.counts} == {"a", "a on other"}
        assert [(test.first, test.second) for test in categories.tests] == [("a", "a on other")] * 2


class TestDistances:
    def test_of_a_model(self):
        at_distance = [
            count for count in studied(frame=world.verdicts()).distances if count.source == "a" and not count.categories
        ]
        assert [(count.distance, count.mistakes) for count in at_distance] == [(1, 3), (3, 1)]
        assert at_distance[0].share.value == 3 / 4

    def test_of_a_review_with_its_categories(self):
        at_distance = [count for count in studied().distances if count.source == "a" and count.categories]
        assert [(count.distance, count.mistakes) for count in at_distance] == [(1, 2), (3, 1)]
        assert at_distance[0].categories[MistakeCategory.FINE_GRAINED].value == 1 / 2
        assert at_distance[1].categories[MistakeCategory.NON_PROTOTYPICAL].value == 1

    def test_the_nearest_right_class_counts(self):
        lynx = world.review("x", [(6, "dog", "FINE_GRAINED", "MINOR"), (3, "cup", "SPURIOUS", "MINOR")])
        at_distance = [count for count in studied(reviews=(lynx,)).distances if count.source == "x"]
        assert [count.distance for count in at_distance] == [1, 2]  # a thing from a thing; a canine from a feline

    def test_accepted_classes_have_distance_0_with_a_note(self):
        accepted = world.review("x", [(3, "road", "SPURIOUS", "MINOR")])
        result = studied(reviews=(accepted,))
        assert [count.distance for count in result.distances if count.source == "x"] == [0]
        assert "distance 0: the labels accept" in str(result.part(MistakePart.DISTANCE))
        assert "max steps" in str(result.part(MistakePart.DISTANCE))

    def test_classes_without_a_hierarchy_have_none(self):
        flat = ClassSpace("eight", world.CLASSES)
        bare = TestSet("dozen", flat, world.TEST_SET.ids, world.TEST_SET.labels)
        result = mistakes(
            bare, [predictions("a", A)], labels=world.reviewed_labels(), triage=TriageSources(superclasses(flat))
        )
        assert result.distances == ()
        with pytest.raises(InputError, match="hierarchy"):
            result.part(MistakePart.DISTANCE)
        assert any("same superclass: left out" in note for note in result.triage_notes)


class TestPairs:
    def test_each_right_class_is_paired(self):
        tail = studied(predictions("a", A), frame=world.verdicts()).pairs
        counts = {(pair.first, pair.second): pair.count for pair in tail.rows()}
        assert counts == {("cat", "lynx"): 1, ("car", "road"): 1, ("boat", "cup"): 1, ("dog", "cup"): 1}
        answers = list(A)
        answers[3] = "boat"  # car and road are both right
        more = studied(predictions("a", answers), frame=world.verdicts()).pairs
        assert (len(more), more.total, more.frequencies) == (6, 6, {1: 6})

    def test_of_several_models_the_most_frequent_first(self):
        tail = studied(frame=world.verdicts()).pairs
        assert tail.sources == ("a", "b")
        first = next(tail.rows())
        assert (first.count, first.models) == (2, 2)
        assert tail.frequencies == {1: 3, 2: 2}
        assert "once 3, twice 2" in str(studied(frame=world.verdicts()).part(MistakePart.PAIRS))


class TestChanges:
    def test_against_another_model(self):
        (change,) = studied(frame=world.verdicts(), against=predictions("b", B)).changes
        assert (change.model, change.against) == ("a", "b")
        assert (change.fixed, change.new, change.same, change.different, change.common) == (0, 1, 2, 1, 3)
        assert (change.fixed_share.value, change.fixed_share.n) == (0, 3)

    def test_reviews_are_compared_with_reviews_only(self):
        result = studied(against=world.REVIEW_B)
        (change,) = result.changes
        assert (change.model, change.fixed, change.new, change.same, change.different) == ("a", 1, 1, 1, 1)
        assert any("known by its review" in note for note in result.part(MistakePart.COMPARE).notes)

    def test_a_model_without_mistakes_leaves_no_share(self):
        perfect = list(world.OWN)
        (change,) = studied(predictions("a", A), against=predictions("p", perfect)).changes
        assert (change.fixed, change.new, change.fixed_share) == (0, 5, None)

    def test_without_another_model_there_is_nothing_to_compare(self):
        with pytest.raises(InputError, match="--against"):
            studied().part(MistakePart.COMPARE)


class TestMajor:
    def test_images_that_all_reviews_call_major(self):
        major = studied(frame=world.verdicts()).major
        assert (major.least, major.images, np.flatnonzero(major.inside).tolist()) == (2, 1, [9])
        assert [score.right.value for score in major.scores] == [0, 0]

    def test_at_least_one(self):
        major = studied(frame=world.verdicts(), least_major=1).major
        assert np.flatnonzero(major.inside).tolist() == [1, 5, 9]
        assert {score.model: (score.right.value, score.right.n) for score in major.scores} == {
            "b": (1 / 3, 3), "a": (0, 3)
        }  # fmt: skip
        slices = major.as_slices("grave")
        assert slices.subsets["grave"].sum() == 3 and "at least 1 of a, b" in slices.origin
        assert slices.chosen_hard

    @pytest.mark.parametrize(("number", "least"), [(1, 1), (2, 2), (3, 3), (4, 3), (8, 6)])
    def test_major_default_is_three_quarters_of_reviews(self, number, least):
        reviews = [replace(world.REVIEW_A, model=f"m{i}") for i in range(number)]
        assert studied(reviews=reviews).major.least == least

    def test_major_rejects_more_than_all_reviews(self):
        for least in (0, 3):
            with pytest.raises(InputError, match="2 reviews"):
                studied(least_major=least)

    def test_an_empty_slice_is_not_kept_and_has_no_score(self):
        mild = world.review("a", [(1, "lynx", "FINE_GRAINED", "MINOR")])
        major = studied(reviews=(mild,)).major
        assert major.images == 0 and all(score.right is None for score in major.scores)
        with pytest.raises(InputError, match="slice would be empty"):
            major.as_slices("grave")

    def test_without_reviews_there_is_none(self):
        result = studied(reviews=())
        assert result.major is None
        for part in (MistakePart.MAJOR, MistakePart.CATEGORIES, MistakePart.AGREEMENT):
            with pytest.raises(InputError, match="regrade import mistakes"):
                result.part(part)


class TestResult:
    def test_every_part_shows_and_goes_into_json(self):
        near = world.training_images([[0, 3]] * 12)
        result = studied(frame=world.verdicts(), against=predictions("b", B), explained_by=near)
        assert result.parts == tuple(MistakePart)
        for part in MistakePart:
            table = result.part(part)
            assert table.rows and table.notes
        content = json.loads(json.dumps(result.as_dict(), allow_nan=False))
        assert {"flow", "triage", "agreement", "categories", "tests", "distances", "pairs", "changes", "major"} <= set(
            content
        )
        assert content["flow"][0]["after"]["over_images"]["n"] == 8
        assert content["pairs"]["frequencies"] == {"1": 3, "2": 2}

    def test_no_mistakes_at_all(self):
        result = studied(predictions("perfect", world.OWN), reviews=())
        flow = result.flows[0]
        assert (flow.mistakes, flow.remaining, flow.before.over_images.value) == (0, 0, 1)
        assert result.triage[0].shares is None
        assert (len(result.pairs), result.distances) == (0, ())
        assert "confused never" in str(result.part(MistakePart.PAIRS))
        assert "–" in str(result.part(MistakePart.TRIAGE))
        json.dumps(result.as_dict(), allow_nan=False)

    def test_reviews_alone_are_a_study(self):
        result = mistakes(
            world.TEST_SET, [], labels=world.reviewed_labels(), triage=TriageSources(superclasses(world.SPACE)),
            reviews=replace_reviews(),
        )  # fmt: skip
        assert result.table().title.startswith("kinds of mistakes")
        assert result.pairs.sources == ("a",)
        assert result.pairs.total == 3

    def test_reviewed_predictions_that_differ_from_stored_ones_are_noted(self):
        result = studied(predictions("a", B))
        assert any("reviewed answers of a are not those of the stored" in note for note in result.table().notes)
        assert not any("are not those" in note for note in studied(predictions("a", A)).table().notes)


def replace_reviews():
    from regrade.studies import MistakeReviews

    return MistakeReviews((world.REVIEW_A,), studied=("a",))


def random_world(seed):
    """Labels, decisions and two models on sixty images, compared with a plain Python reference."""
    rng = random.Random(seed)
    size, classes = 60, list(range(8))
    own = [rng.choice(classes) for _ in range(size)]
    judged = {i: {c: rng.choice(list(LabelState)[1:4]) for c in rng.sample(classes, 3)} for i in range(size)}
    covered = {i for i in range(size) if rng.random() < 0.8}
    problems = {i for i in covered if rng.random() < 0.1}
    answers = {m: [rng.choice([own[i], *classes]) for i in range(size)] for m in "ab"}
    return own, {i: judged[i] for i in covered}, problems, answers


@pytest.mark.parametrize("seed", range(12))
def test_mistakes_match_plain_python_reference(seed):
    own, judged, problems, answers = random_world(seed)
    size = len(own)
    space = world.SPACE
    test_set = TestSet("many", space, tuple(map(str, range(size))), np.array(own))
    rows = [(i, c, state) for i, states in judged.items() for c, state in states.items()]
    labels = world.LabelSet(
        "judged", 1, "many", 8, *(np.array(column) for column in list(zip(*rows, strict=True))[:2]),
        np.array([s for *_, s in rows], dtype=np.int8), np.isin(np.arange(size), list(judged)),
        tuple("bad" if i in problems else "" for i in range(size)), Unlisted.NOVEL,
    )  # fmt: skip
    models = [
        Predictions(model, "many", "eight", np.array(best)[:, None]) for model, best in answers.items()
    ]  # fmt: skip
    result = mistakes(
        test_set, models, labels=ReviewedLabels(MultilabelScoring(labels)), against=models[1],
        triage=TriageSources(superclasses(space), labels),
    )  # fmt: skip

    good = (LabelState.CORRECT, LabelState.UNCLEAR)
    scored = sorted(set(judged) - problems)
    right = {i: [c for c, s in judged[i].items() if s in good] or [own[i]] for i in judged}
    wrong = {m: {i for i in scored if judged[i].get(best[i]) not in good} for m, best in answers.items()}
    pairs = Counter(
        tuple(sorted((answers[m][i], c))) for m in "ab" for i in wrong[m] for c in right[i] if c != answers[m][i]
    )
    kin = {(0, 1), (1, 0), (2, 3), (3, 2)} | {(c, c) for c in range(8)}
    speaking = [i for i in judged if judged[i].get(own[i]) in good]
    shown = Counter(
        (c, d)
        for i in speaking
        for c in {own[i], *(c for c, s in judged[i].items() if s == LabelState.CORRECT)}
        for d in {own[i], *(c for c, s in judged[i].items() if s == LabelState.CORRECT)}
        if c != d
    )
    together = {pair for pair, number in shown.items() if number >= 2} - kin

    def kind(i, answer):
        accepted = judged[i].get(answer) in good
        if answer == own[i] and accepted:
            return None
        if judged[i].get(own[i]) in good and answer in space.collapsed.get(own[i], ()):
            return "COLLAPSED"
        if accepted:
            return "MULTILABEL"
        if any((answer, c) in kin for c in right[i]):
            return "FINE_GRAINED"
        if any((answer, c) in together for c in right[i]):
            return "CO_OCCURRENCE"
        return "FAILURE"

    for model, best in answers.items():
        flow, triaged = row_of(result.flows, model), row_of(result.triage, model)
        assert (flow.images, flow.mistakes, flow.remaining) == (len(scored), len(wrong[model]), len(wrong[model]))
        assert flow.novel == sum(best[i] not in judged[i] for i in scored)
        assert flow.before.over_images.value == pytest.approx(
            np.mean([judged[i].get(best[i]) == LabelState.CORRECT for i in scored])
        )
        expected = Counter(kind(i, best[i]) for i in scored if best[i] != own[i])
        assert triaged.rejected == sum(kind(i, best[i]) is not None for i in scored if best[i] == own[i])
        assert {name: number for name, number in counts(triaged).items() if number} == expected
        assert triaged.errors == sum(expected.values())
    assert {(p.first, p.second): p.count for p in result.pairs.rows()} == {
        (world.CLASSES[a], world.CLASSES[b]): n for (a, b), n in pairs.items()
    }
    (change,) = result.changes
    common = wrong["a"] & wrong["b"]
    assert (change.fixed, change.new, change.common) == (
        len(wrong["b"] - wrong["a"]), len(wrong["a"] - wrong["b"]), len(common)
    )  # fmt: skip
    assert change.same == sum(answers["a"][i] == answers["b"][i] for i in common)
    assert change.fixed + change.common == len(wrong["b"])
    assert change.new + change.common == len(wrong["a"])
    for model in "ab":
        measured = sum(count.mistakes for count in result.distances if count.source == model)
        assert measured == len(wrong[model])
