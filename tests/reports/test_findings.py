"""Findings: headlines claim no more than intervals and tests allow, with few and with many models."""

from dataclasses import replace

import numpy as np
import pytest
from mistake_world import OWN, A, B, predictions, studied, verdicts
from simulated_people import Skill, answers, test_set

from regrade.core import Estimate, LabelState
from regrade.display import Finding
from regrade.display.finding import FindingKind, by_weight
from regrade.display.wording import confidence_of, listed, plain, points, share, signed
from regrade.studies import (
    Basis,
    CorruptionGrade,
    CorruptionRow,
    Extreme,
    Grade,
    GradeRow,
    ModelCounts,
    SameImages,
    SetCounts,
    SetPair,
    compare_correctness,
    findings,
    scoring_for,
    similarity_of,
)
from regrade.studies.generalization.analysis import generalization
from regrade.studies.people.analysis import people


def by_headline(result: object) -> dict[str, Finding]:
    """The findings by headline, after checks that apply to all findings."""
    ranked = findings(result)
    assert 1 <= len(ranked) <= 3
    weights = [finding.weight for finding in ranked]
    assert weights == sorted(weights, reverse=True)
    for finding in ranked:
        assert 0 <= finding.weight <= 1
        assert not finding.headline.endswith(".")
        assert finding.text.endswith(".")
        assert ".." not in finding.text
        assert "  " not in finding.text
    return {finding.headline: finding for finding in ranked}


def estimate(value: float, reach: float = 0.01, n: int = 1000, method: str = "clopper-pearson 95%") -> Estimate:
    return Estimate(value, value - reach, value + reach, n, method)


def grade_row(model: str, top1: float, *, slice: str = "all", n: int = 1000, **fields) -> GradeRow:
    if "multilabel" in fields and "labels_change" not in fields:  # top-1 is 5 points lower on the images scored
        fields["top1_same_images"] = estimate(top1 - 0.05, n=n)
        fields["labels_change"] = estimate((fields.get("reviewed") or fields["multilabel"]).value - top1 + 0.05, n=n)
    empty = dict.fromkeys(("top5", "multilabel", "multilabel_upper", "reviewed", "judgments_needed"))
    counts = {"novel": 0, "unanswered": 0, "undetermined": 0}
    return GradeRow(model, slice, estimate(top1, n=n), **{**empty, **counts, **fields})


def grade_of(*rows: GradeRow, labels: str | None = None) -> Grade:
    return Grade("pets", labels, 1 if labels else None, "images" if labels else None, rows, ())


LABELS_HIGHER = (
    "The best model's accuracy is higher under real@1 than by top-1: {}.0% instead of 75.0% of the same images"
)
LABELS_EQUAL = "No difference detected between the best model's top-1 accuracy and its accuracy under real@1"
NO_WEAK_SLICE = "No difference between slices of pets detected for the best model"


class TestWording:
    def test_numbers_are_formatted_with_intervals(self):
        assert share(estimate(0.5)) == "50.0% (49.0 to 51.0)"
        assert points(estimate(-0.118, 0.004)) == "−11.8 points (−12.2 to −11.4)"
        assert points(estimate(0.0, 0.01)) == "0.0 points (−1.0 to +1.0)"
        assert plain(estimate(0.5)) == "0.50 (0.49 to 0.51)"

    def test_signed_omits_the_sign_of_zero(self):
        assert signed(-0.04) == "0.0"
        assert signed(0.04) == "0.0"
        assert signed(-0.06) == "−0.1"

    def test_listed_shortens_long_lists(self):
        assert listed(["a"]) == "a"
        assert listed(["a", "b", "c"]) == "a, b and c"
        assert listed([str(n) for n in range(1003)]) == "0, 1, 2 and 1,000 more"

    def test_confidence_of_parses_the_method(self):
        assert confidence_of(estimate(0.5, method="wilson and robust t over models 90%")) == 0.9
        assert confidence_of(estimate(0.5, method="unknown")) == 0.95


class TestGrade:
    def test_one_model(self):
        headlines = by_headline(grade_of(grade_row("a", 0.8)))
        assert list(headlines) == ["a is right on 80.0% of pets"]
        assert headlines["a is right on 80.0% of pets"].text == "a is right on 80.0% (79.0 to 81.0) of 1,000 images."

    def test_many_models(self):
        rows = [grade_row(name, top1) for name, top1 in (("a", 0.9), ("b", 0.8), ("c", 0.6), ("d", 0.3))]
        headlines = by_headline(grade_of(*rows))
        assert list(headlines) == ["Top-1 accuracy on pets ranges from 30.0% to 90.0%"]
        assert next(iter(headlines.values())).text == (
            "Of 4 models, a is right on 90.0% (87.4 to 91.8) of 1,000 images, the median of all on 70.0%, and d on "
            "30.0% (27.2 to 33.8). Both intervals are corrected for selecting the best and the worst."
        )

    def test_people_are_not_models(self):
        rows = [grade_row("person:Ada", 0.95, multilabel=estimate(0.99)), grade_row("a", 0.8, multilabel=estimate(0.9))]
        headlines = by_headline(grade_of(*rows, labels="real"))
        assert LABELS_HIGHER.format(90) in headlines
        assert any("Of 2 models and people" in finding.text for finding in headlines.values())

    def test_labels_raise_the_accuracy(self):
        headlines = by_headline(grade_of(grade_row("a", 0.8, multilabel=estimate(0.9, n=900)), labels="real"))
        finding = headlines[LABELS_HIGHER.format(90)]
        assert finding.weight >= 0.8
        assert finding.text == (
            "On the 1,000 images that real@1 scores, a is right on 75.0% (74.0 to 76.0) by top-1, with one label per "
            "image, and on 90.0% (89.0 to 91.0) under real@1: +15.0 points (+14.0 to +16.0)."
        )

    def test_labels_lower_the_accuracy(self):
        headlines = by_headline(grade_of(grade_row("a", 0.8, multilabel=estimate(0.7)), labels="real"))
        assert LABELS_HIGHER.format(70).replace("higher", "lower") in headlines

    def test_labels_without_a_detected_difference(self):
        headlines = by_headline(grade_of(grade_row("a", 0.8, multilabel=estimate(0.758)), labels="real"))
        finding = headlines[LABELS_EQUAL]
        assert finding.weight < 0.5

    def test_unjudged_predictions_are_reported(self):
        row = grade_row("a", 0.8, multilabel=estimate(0.9), multilabel_upper=estimate(0.97), novel=70)
        text = by_headline(grade_of(row, labels="real"))[LABELS_HIGHER.format(90)].text
        assert text.endswith(
            "No one has judged 70 predictions of a yet: if all were correct, the accuracy would be 97.0%."
        )

    def test_unjudged_predictions_may_offset_a_loss(self):
        row = grade_row("a", 0.8, multilabel=estimate(0.7), multilabel_upper=estimate(0.76), novel=60)
        assert LABELS_EQUAL in by_headline(grade_of(row, labels="real"))

    def test_change_of_the_best_model_is_corrected_for_selection(self):
        """A change just outside its own interval is not a finding if the best was selected among many."""
        rows = [
            grade_row(
                f"m{i}", 0.8, multilabel=estimate(0.762), labels_change=estimate(0.012), top1_same_images=estimate(0.75)
            )
            for i in range(20)
        ]
        assert any("higher" in headline for headline in by_headline(grade_of(rows[0], labels="real")))
        assert not any("higher" in headline for headline in by_headline(grade_of(*rows, labels="real")))

    def test_reviewed_accuracy_is_preferred_to_bounds(self):
        row = grade_row(
            "a", 0.8, multilabel=estimate(0.9), multilabel_upper=estimate(0.97), reviewed=estimate(0.95), novel=70
        )  # fmt: skip
        headlines = by_headline(grade_of(row, labels="real"))
        finding = headlines[LABELS_HIGHER.format(95)]
        assert "No one has judged" not in finding.text

    def test_a_weak_slice(self):
        rows = [
            grade_row("a", 0.8),
            grade_row("a", 0.5, slice="dark", n=200),
            grade_row("a", 0.875, slice="day", n=800),
        ]
        headlines = by_headline(grade_of(*rows))
        assert "The best model is weakest on dark, of 2 slices of pets" in headlines

    def test_slices_without_a_detected_difference(self):
        rows = [grade_row("a", 0.8), grade_row("a", 0.79, slice="dark", n=200), grade_row("a", 0.8, slice="day", n=800)]
        finding = by_headline(grade_of(*rows))[NO_WEAK_SLICE]
        assert finding.text.startswith("The lowest accuracy of 2 slices is that on dark.")

    def test_weakest_slice_must_be_below_every_other(self):
        """Two slices are far below the third without a detected difference: either may be the hardest."""
        slices = {"dark": 0.5, "dusk": 0.52, "day": 0.9}
        rows = [grade_row("a", 0.7), *(grade_row("a", top1, slice=name, n=300) for name, top1 in slices.items())]
        finding = by_headline(grade_of(*rows))["2 of 3 slices of pets may be the hardest for the best model"]
        assert "dark and dusk; every other slice is significantly easier than one of them." in finding.text

    def test_many_slices_are_corrected_for(self):
        """A slice that is significant alone is not among forty."""
        low = grade_row("a", 0.72, slice="s0", n=200)
        rest = [grade_row("a", 0.8, slice=f"s{n}", n=20) for n in range(1, 40)]
        alone = by_headline(grade_of(grade_row("a", 0.8), low))
        among = by_headline(grade_of(grade_row("a", 0.8), low, *rest))
        assert "s0 is harder for the best model than the rest of pets" in alone
        assert NO_WEAK_SLICE in among

    def test_one_slice_without_a_detected_difference(self):
        headlines = by_headline(grade_of(grade_row("a", 0.8), grade_row("a", 0.79, slice="dark", n=200)))
        finding = headlines["No evidence that dark is harder for the best model than the rest of pets"]
        assert "on 80.2%" in finding.text, "158 of 200 there, 642 of the other 800"

    def test_a_slice_of_one_image_is_not_weak(self):
        rows = [grade_row("a", 0.9), grade_row("a", 0.0, slice="one", n=1), grade_row("a", 0.9, slice="rest", n=999)]
        assert NO_WEAK_SLICE in by_headline(grade_of(*rows))

    @pytest.mark.parametrize("top1", [0.0, 1.0])
    def test_no_slice_is_weak_if_all_predictions_are_right_or_wrong(self, top1):
        rows = [grade_row("a", top1), *(grade_row("a", top1, slice=name, n=500) for name in ("dark", "day"))]
        assert NO_WEAK_SLICE in by_headline(grade_of(*rows))

    def test_slices_selected_as_hard_are_not_tested(self):
        rows = [grade_row("a", 0.8), grade_row("a", 0.1, slice="hard", n=200), grade_row("a", 0.8, slice="day", n=400)]
        headlines = by_headline(replace(grade_of(*rows), hard_slices=("hard",)))
        assert not any("hard" in headline.split() for headline in headlines)
        assert "No evidence that day is harder for the best model than the rest of pets" in headlines

    def test_slice_with_all_images_is_not_weak(self):
        assert list(by_headline(grade_of(grade_row("a", 0.8), grade_row("a", 0.8, slice="dark")))) == [
            "a is right on 80.0% of pets"
        ]

    def test_no_accuracy_gives_no_finding(self):
        assert findings(grade_of(replace(grade_row("a", 0.8), top1=None))) == ()


def compared(*rates: float, n: int = 2000):
    rng = np.random.default_rng(0)
    correct = np.sort(rng.random((1, n))) < np.array(rates)[:, None]  # nested: the better one has all of the weaker's
    return compare_correctness(tuple("abcdefgh"[: len(rates)]), correct, basis=Basis("pets", n))


class TestComparison:
    def test_two_models_that_differ(self):
        headlines = by_headline(compared(0.8, 0.7))
        assert list(headlines) == ["a is ahead of b on pets"]
        assert "The difference is +9.7 points (+8.5 to +11.1)" in next(iter(headlines.values())).text

    def test_the_second_may_be_ahead(self):
        headlines = by_headline(compared(0.7, 0.8))
        assert list(headlines) == ["b is ahead of a on pets"]
        assert "The difference is +9.7 points (+8.5 to +11.1)" in next(iter(headlines.values())).text

    def test_two_models_without_a_detected_difference(self):
        headlines = by_headline(compared(0.8, 0.8))
        assert list(headlines) == ["No difference detected between a and b on pets"]

    def test_one_leader_and_all_neighbors_differ(self):
        headlines = by_headline(compared(0.9, 0.7, 0.5))
        assert list(headlines) == [
            "a is ahead of all others on pets",
            "Each model differs from the next one in the ranking on pets",
        ]
        assert "The interval is corrected for selecting the best of 3 models." in next(iter(headlines.values())).text
        assert (
            "Of 2 pairs of neighbors 2 differ"
            in headlines["Each model differs from the next one in the ranking on pets"].text
        )

    def test_some_leaders_and_some_neighbors_differ(self):
        headlines = by_headline(compared(0.9, 0.9, 0.6, 0.6))
        assert list(headlines) == [
            "2 of 4 models may be the best on pets",
            "1 of 3 neighboring pairs in the ranking differs on pets",
        ]
        first = headlines["2 of 4 models may be the best on pets"].text
        assert "a and b have the same accuracy, 90.0% (88.3 to 91.3), the highest" in first
        assert "On 2,000 images a is not significantly ahead of b" in first
        assert "1 differs significantly" in headlines["1 of 3 neighboring pairs in the ranking differs on pets"].text

    def test_lead_by_a_few_images_is_not_significant(self):
        assert next(iter(by_headline(compared(0.9, 0.899, 0.6)))) == "2 of 3 models may be the best on pets"

    def test_most_neighbors_differ(self):
        assert "2 of 3 neighboring pairs in the ranking differ on pets" in by_headline(compared(0.9, 0.7, 0.5, 0.5))

    def test_all_may_lead_and_no_neighbors_differ(self):
        headlines = by_headline(compared(0.8, 0.8, 0.8))
        assert list(headlines) == [
            "Any of the 3 models may be the best on pets",
            "No difference detected between neighbors in the ranking on pets",
        ]


def shifted(changes: dict[str, tuple[int, int]], *, images: int = 10_000, more: dict[str, dict] | None = None):
    def counts(name, place):
        models = {model: ModelCounts(pair[place], images) for model, pair in changes.items()}
        return SetCounts(name, models)

    pairs = [SetPair(counts("old", 0), counts("new", 1))]
    for name, rights in (more or {}).items():
        new = SetCounts(name, {model: ModelCounts(right, images) for model, right in rights.items()})
        pairs.append(SetPair(counts("old", 0), new))
    return generalization(pairs, rng=np.random.default_rng(0), draws=500)


LINE = {f"m{n}": (5000 + 400 * n, 4000 + 480 * n) for n in range(10)}


class TestGeneralization:
    def test_a_loss_and_gains_that_carry_over(self):
        headlines = by_headline(shifted(LINE))
        first = next(iter(headlines.values()))
        assert first.headline == "Models lose 6.4 points on new"
        assert first.weight == 0.9
        best = "m9, the best on old, has an accuracy of 86.0% (85.0 to 86.7) there and 83.2% (82.5 to 83.9) on new."
        assert best in first.text
        carried = headlines["Gains on old carry over to new"]
        assert "goes with 1.20 (1.16 to 1.25) more points on new (slope over 10 models)." in carried.text
        assert "no sign of adaptive overfitting" in carried.text

    def test_a_small_gain_and_gains_that_shrink(self):
        headlines = by_headline(shifted({f"m{n}": (5000 + 400 * n, 6500 + 200 * n) for n in range(10)}))
        assert next(iter(headlines)).startswith("Models gain 6.0 points on new")
        assert "Gains on old shrink on new" in headlines

    def test_a_small_change_weighs_less(self):
        headlines = by_headline(shifted({model: (right, right - 300) for model, (right, _) in LINE.items()}))
        assert headlines["Models lose 3.0 points on new"].weight == 0.7

    def test_no_change_detected(self):
        moved = {f"m{n}": (6000, 6000 + (-1) ** n * 400) for n in range(8)}
        moved["m8"] = (6100, 6100)
        finding = by_headline(shifted(moved))["No change in mean accuracy detected from old to new"]
        assert finding.weight <= 0.4

    def test_few_models_are_not_enough_to_tell(self):
        headlines = by_headline(shifted({"a": (5000, 4000), "b": (6000, 5200), "c": (7000, 5900)}))
        opened = headlines["Not enough data to tell whether gains on old carry over to new"]
        assert opened.text.endswith("With so few models the interval is only a rough guide.")

    def test_largest_change_is_the_headline_and_other_sets_are_named(self):
        easier = {model: right + 100 for model, (right, _) in LINE.items()}
        first = next(iter(by_headline(shifted(LINE, more={"easy": easier})).values()))
        assert first.headline == "Models lose 6.4 points on new"
        assert first.text.endswith("Other sets: +1.0 on easy.")

    @pytest.mark.parametrize(("right", "side"), [(2000, "below"), (8000, "above")])
    def test_a_model_far_off_the_line(self, right, side):
        headlines = by_headline(
            shifted({**{f"m{n}": (5000 + 100 * n, 4000 + 100 * n) for n in range(30)}, "odd": (6500, right)})
        )
        off = headlines["odd is far from the line through models on new"]
        assert f"{side} the line; half of the models are within" in off.text
        assert "−" not in off.text

    def test_uncertain_distance_is_not_an_outlier(self):
        """Two weak models pull the line in opposite directions: both are far from it, with wide intervals."""
        near = {f"m{n}": (8000 + 50 * n, 7000 + 50 * n + 5 * (-1) ** n) for n in range(8)}
        result = shifted({**near, "x": (3000, 2000), "y": (3050, 2900)})
        assert max(abs(row.robustness.value) for row in result.rows) > 0.04
        assert not any("far from the line" in headline for headline in by_headline(result))

    def test_models_near_the_line_are_not_outliers(self):
        rng = np.random.default_rng(1)
        scattered = {model: (right, new + int(rng.normal(0, 60))) for model, (right, new) in LINE.items()}
        assert not any("far from the line" in headline for headline in by_headline(shifted(scattered)))


def similarity_from(correct: np.ndarray):
    models, images = correct.shape
    answers = np.where(correct, 0, 1 + np.arange(models)[:, None])
    names, spaces = tuple("abcdefgh"[:models]), ("space",) * models
    basis, novel = Basis("pets", images), np.zeros(models, dtype=np.int64)
    return similarity_of(SameImages(basis, names, correct, answers, spaces, novel, images=np.arange(images)))


MISS_THE_SAME = "miss the same images of pets more often than independent models would"


class TestSimilarity:
    rng = np.random.default_rng(3)
    hard = rng.random(3000)

    def test_two_that_share_errors(self):
        headlines = by_headline(similarity_from(self.hard < np.array([[0.8], [0.7]])))
        assert list(headlines) == ["a and b err on the same images more often than independent models would"]

    def test_two_that_differ(self):
        headlines = by_headline(similarity_from(np.stack([self.hard < 0.7, self.hard > 0.35])))
        assert list(headlines) == ["a and b err on different images more often than independent models would"]

    def test_two_that_are_independent(self):
        headlines = by_headline(similarity_from(np.random.default_rng(5).random((2, 500)) < 0.7))
        assert next(iter(headlines)).startswith("No evidence that a and b err on the same images")

    def test_many_that_share_errors(self):
        headlines = by_headline(similarity_from(self.hard < np.array([[0.8], [0.79], [0.5]])))
        assert headlines[f"All pairs of models {MISS_THE_SAME}"].text.startswith("All 3 pairs share errors")
        groups = headlines["3 models form 2 clusters by error consistency on pets"]
        assert groups.text.endswith("1 cluster has only one model. Clusters describe these images and are not tested.")

    def test_many_that_do_not(self):
        headlines = by_headline(similarity_from(np.random.default_rng(1).random((4, 400)) < 0.7))
        assert f"No evidence that any two models {MISS_THE_SAME}" in headlines
        assert "No two of 4 models reach an error consistency of 0.6" in headlines

    def test_one_pair_shares_its_errors(self):
        independent = np.random.default_rng(7).random((2, 3000)) < 0.7
        headlines = by_headline(similarity_from(np.stack([self.hard < 0.8, self.hard < 0.7, *independent])))
        text = headlines[f"1 of 6 pairs of models {MISS_THE_SAME.replace('miss', 'misses')}"].text
        assert text.startswith("1 of 6 pairs shares errors more often than independent models would")


class TestMistakes:
    def test_overturned_mistakes(self):
        """Of lynx, wolf, road, boat and cup, the wolf turned out to be right and the boat is not judged."""
        first = next(iter(by_headline(studied(predictions("a", A), frame=verdicts(), reviews=())).values()))
        assert first.headline == "20% of a's mistakes on dozen are not mistakes by the review"
        assert first.text == (
            "People overturned 1 of 5 mistakes of a, 20.0% (0.5 to 71.6); 4 remain, 1 of them not judged by anyone yet."
        )

    def test_a_review_that_overturned_nothing(self):
        frame = verdicts()
        frame = replace(frame, states=np.full_like(frame.states, LabelState.WRONG))
        headlines = by_headline(studied(predictions("a", A), frame=frame, reviews=()))
        kept = headlines["The review overturned none of a's mistakes on dozen"]
        assert kept.text == "People overturned 0 of 5 mistakes of a, 0.0% (0.0 to 52.2); 5 remain."
        assert kept.weight < 0.8

    def test_errors_that_the_labels_accept(self):
        """The road and the unclear cat are among the labels; wolf, which cannot be told from dog, is not."""
        headlines = by_headline(studied(predictions("a", A), reviews=()))
        right = next(finding for finding in headlines.values() if "are correct under" in finding.headline)
        assert right.headline == "29% of the best model's errors on dozen are correct under judged@1"
        assert "Of 7 errors of a, the best model, under the original labels, 2 or 28.6% (3.7 to 71.0) are" in right.text
        assert "The triage is a suggestion" in right.text

    def test_errors_that_the_labels_do_not_accept(self):
        headlines = by_headline(studied(predictions("b", B), reviews=()))
        assert "None of the best model's errors on dozen are correct under judged@1" in headlines

    def test_severity_of_reviewed_mistakes(self):
        headlines = by_headline(studied())
        grave = headlines["2 of 3 reviewed mistakes of a are major"]
        assert grave.text == (
            "Reviewers call 66.7% (9.4 to 99.2) of 3 mistakes of a major; the most common kind is fine-grained, "
            "33.3% (0.8 to 90.6)."
        )

    def test_the_most_confused_classes(self):
        headlines = by_headline(studied(predictions("b", B), reviews=()))
        confused = next(
            finding for headline, finding in headlines.items() if headline.startswith("The most confused classes are")
        )
        assert (
            confused.text == "1 model mistook one for the other 1 time; 3 pairs of classes are confused at least once."
        )

    def test_no_errors_give_no_findings(self):
        right = tuple("road" if own == "boat" else own for own in OWN)
        assert findings(studied(predictions("a", right), reviews=())) == ()


def people_and_models(persons: dict[str, float], models: dict[str, float], *, images: int = 1000):
    target, rng = test_set(images), np.random.default_rng(2)
    scoring = scoring_for(target, target.class_space)
    given = [answers(target, f"person:{name}", Skill(rate, rate, 5.0), rng) for name, rate in persons.items()]
    given += [answers(target, name, Skill(rate, rate), rng) for name, rate in models.items()]
    return people(target, ((predicted, scoring) for predicted in given), rng=rng, subsets=())


class TestPeople:
    def test_a_person_ahead(self):
        headlines = by_headline(people_and_models({"Ada": 0.95, "Ben": 0.9}, {"a": 0.7}))
        assert next(iter(headlines)) == "The best person is ahead of the best model on sim"
        assert "People are ahead of models in 2 of 2 pairs, behind in 0" in headlines
        assert any(headline.startswith("People") and "on sim" in headline for headline in headlines)

    def test_a_model_ahead(self):
        assert (
            next(iter(by_headline(people_and_models({"Ada": 0.6}, {"a": 0.9}))))
            == "The best model is ahead of the best person on sim"
        )

    def test_neither_ahead(self):
        headlines = by_headline(people_and_models({"Ada": 0.8}, {"a": 0.8}, images=200))
        first = next(iter(headlines.values()))
        assert first.headline == "Not enough data to tell whether the best person or the best model is ahead on sim"
        assert "neither is significantly ahead of everyone on the other side" in first.text
        assert "No difference detected between any person and any model" in headlines

    def test_the_best_must_be_ahead_of_everyone(self):
        """Ada is ahead of one model and not of the other, which may be the best in truth."""
        headlines = by_headline(people_and_models({"Ada": 0.9}, {"a": 0.89, "b": 0.5}, images=300))
        assert (
            next(iter(headlines)) == "Not enough data to tell whether the best person or the best model is ahead on sim"
        )
        assert "People are ahead of models in 1 of 2 pairs, behind in 0" in headlines

    def test_people_alone(self):
        headlines = by_headline(people_and_models({"Ada": 0.9, "Ben": 0.8}, {}))
        first = next(iter(headlines.values()))
        assert first.headline.startswith("People are right on up to")
        assert first.text.startswith("The best of 2, person:Ada, is right on")

    @pytest.mark.parametrize(("rate", "word"), [(0.99, "largely agree"), (0.5, "do not agree well")])
    def test_agreement(self, rate, word):
        assert f"People {word} on sim" in by_headline(people_and_models({"Ada": rate, "Ben": rate}, {}))


def corrupted(*models: tuple[str, float], kinds: dict[str, float] | None = None, clean: Estimate | None = None, **more):
    rows = []
    for name, error in models:
        rows.append(CorruptionRow(name, "all", estimate(error), None, None, clean))
        rows += [CorruptionRow(name, kind, estimate(rate), None, None, None) for kind, rate in (kinds or {}).items()]
    return CorruptionGrade("pets-c", None, tuple(rows), (), **more)


class TestCorruptions:
    def test_one_model(self):
        headlines = by_headline(corrupted(("a", 0.4), clean=estimate(0.2)))
        (only,) = headlines.values()
        assert only.headline == "a errs on 40.0% of corrupted images"
        assert only.text.endswith("compared with 20.0% (19.0 to 21.0) on clean images.")

    def test_most_robust_model_is_settled(self):
        headlines = by_headline(corrupted(("a", 0.4), ("b", 0.5), most_robust=Extreme("a", ())))
        assert "a is the most robust of 2 models on pets-c" in headlines

    def test_most_robust_model_is_open(self):
        headlines = by_headline(corrupted(("a", 0.4), ("b", 0.41), ("c", 0.6), most_robust=Extreme("a", ("b",))))
        finding = headlines["Not enough data to tell which model is the most robust on pets-c"]
        assert finding.text.endswith("No difference detected between a and b.")

    def test_hardest_corruption_is_settled(self):
        headlines = by_headline(corrupted(("a", 0.4), kinds={"fog": 0.3, "snow": 0.6}, hardest=Extreme("snow", ())))
        assert "snow is the hardest of 2 corruptions for a on pets-c" in headlines

    def test_hardest_corruption_is_open(self):
        headlines = by_headline(
            corrupted(("a", 0.4), kinds={"fog": 0.595, "snow": 0.6}, hardest=Extreme("snow", ("fog",)))
        )
        finding = headlines["Not enough data to tell which corruption is the hardest for a on pets-c"]
        assert finding.text.endswith("fog does not have a significantly lower error.")


def test_by_weight_puts_the_most_important_first_and_keeps_the_order_of_ties():
    kind = FindingKind("kind", "", claims=False)
    minor, first, second = (Finding(kind, name, "", weight) for name, weight in (("c", 0.1), ("a", 0.5), ("b", 0.5)))
    assert by_weight([minor, None, first, second]) == (first, second, minor)


def test_unknown_result_has_no_findings():
    assert findings(object()) == ()
