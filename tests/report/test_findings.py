"""What results say in words: settled or hedged as their intervals are, with few models as with many."""

from dataclasses import replace

import numpy as np
import pytest
from mistake_world import OWN, A, B, predictions, studied, verdicts
from simulated_people import Skill, answers, test_set

from regrade.core import Estimate, LabelState
from regrade.report import Finding, findings
from regrade.report.wording import apart, confidence_of, listed, plain, points, share, signed
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
    generalization,
    people,
    scoring_for,
    similarity_of,
)


def told(result: object) -> dict[str, Finding]:
    """The findings by headline, checked for what all have in common."""
    found = findings(result)
    assert 1 <= len(found) <= 3
    assert [one.weight for one in found] == sorted((one.weight for one in found), reverse=True)
    for one in found:
        assert 0 <= one.weight <= 1
        assert not one.headline.endswith(".")
        assert one.text.endswith(".")
        assert ".." not in one.text
        assert "  " not in one.text
    return {one.headline: one for one in found}


def estimate(value: float, reach: float = 0.01, n: int = 1000, method: str = "clopper-pearson 95%") -> Estimate:
    return Estimate(value, value - reach, value + reach, n, method)


def grade_row(model: str, top1: float, *, slice: str = "all", n: int = 1000, **other) -> GradeRow:
    if (
        "multilabel" in other and "labels_change" not in other
    ):  # on other images than all, of which it is right on 5 points less
        other["top1_same_images"] = estimate(top1 - 0.05, n=n)
        other["labels_change"] = estimate((other.get("reviewed") or other["multilabel"]).value - top1 + 0.05, n=n)
    empty = dict.fromkeys(("top5", "multilabel", "multilabel_upper", "reviewed", "judgments_needed"))
    counts = {"novel": 0, "unanswered": 0, "undetermined": 0}
    return GradeRow(model, slice, estimate(top1, n=n), **{**empty, **counts, **other})


def grade_of(*rows: GradeRow, labels: str | None = None) -> Grade:
    return Grade("pets", labels, 1 if labels else None, "images" if labels else None, rows, ())


class TestWording:
    def test_numbers_have_their_intervals(self):
        assert share(estimate(0.5)) == "50.0% (49.0 to 51.0)"
        assert points(estimate(-0.118, 0.004)) == "−11.8 points (−12.2 to −11.4)"
        assert points(estimate(0.0, 0.01)) == "0.0 points (−1.0 to +1.0)"
        assert plain(estimate(0.5)) == "0.50 (0.49 to 0.51)"

    def test_what_rounds_to_nothing_has_no_sign(self):
        assert signed(-0.04) == "0.0"
        assert signed(0.04) == "0.0"
        assert signed(-0.06) == "−0.1"

    def test_names_are_listed(self):
        assert listed(["a"]) == "a"
        assert listed(["a", "b", "c"]) == "a, b and c"
        assert listed([str(n) for n in range(1003)]) == "0, 1, 2 and 1,000 more"

    def test_intervals_that_touch_are_not_apart(self):
        assert not apart(estimate(0.5), estimate(0.52))
        assert apart(estimate(0.5), estimate(0.5201))
        assert apart(estimate(0.5201), estimate(0.5))

    def test_confidence_is_read_from_the_method(self):
        assert confidence_of(estimate(0.5, method="wilson and robust t over models 90%")) == 0.9
        assert confidence_of(estimate(0.5, method="unknown")) == 0.95


class TestGrade:
    def test_one_model(self):
        found = told(grade_of(grade_row("a", 0.8)))
        assert list(found) == ["a is right on 80.0% of pets"]
        assert found["a is right on 80.0% of pets"].text == "a is right on 80.0% (79.0 to 81.0) of 1,000 images."

    def test_many_models(self):
        rows = [grade_row(name, top1) for name, top1 in (("a", 0.9), ("b", 0.8), ("c", 0.6), ("d", 0.3))]
        found = told(grade_of(*rows))
        assert list(found) == ["Top-1 accuracy on pets ranges from 30.0% to 90.0%"]
        assert next(iter(found.values())).text == (
            "Of 4 models, a is right on 90.0% (87.4 to 91.8) of 1,000 images, the median of all on 70.0%, and d on "
            "30.0% (27.2 to 33.8). Both intervals hold although the two were picked as the best and the worst."
        )

    def test_people_are_not_models(self):
        rows = [grade_row("person:Ada", 0.95, multilabel=estimate(0.99)), grade_row("a", 0.8, multilabel=estimate(0.9))]
        found = told(grade_of(*rows, labels="real"))
        assert "The best model is better than top-1 says: 90.0%, not 75.0%, of the same images" in found
        assert any("Of 2 models and people" in one.text for one in found.values())

    def test_other_labels_say_more(self):
        found = told(grade_of(grade_row("a", 0.8, multilabel=estimate(0.9, n=900)), labels="real"))
        finding = found["The best model is better than top-1 says: 90.0%, not 75.0%, of the same images"]
        assert finding.weight >= 0.8
        assert finding.text == (
            "On the same 1,000 images, those that real@1 scores, a is right on 75.0% (74.0 to 76.0) by one label per "
            "image and on 90.0% (89.0 to 91.0) by real@1: +15.0 points (+14.0 to +16.0)."
        )

    def test_other_labels_say_less(self):
        found = told(grade_of(grade_row("a", 0.8, multilabel=estimate(0.7)), labels="real"))
        assert "The best model is worse than top-1 says: 70.0%, not 75.0%, of the same images" in found

    def test_other_labels_do_not_settle_it(self):
        found = told(grade_of(grade_row("a", 0.8, multilabel=estimate(0.758)), labels="real"))
        finding = found["No change of the best model's accuracy by real@1 is shown on the same images"]
        assert finding.weight < 0.5

    def test_what_no_one_judged_is_told(self):
        row = grade_row("a", 0.8, multilabel=estimate(0.9), multilabel_upper=estimate(0.97), novel=70)
        text = next(one for one in told(grade_of(row, labels="real")).values() if one.weight > 0.7).text
        assert text.endswith("No one has judged 70 answers of it yet: if all were right it would be 97.0%.")

    def test_unjudged_answers_may_undo_a_loss(self):
        row = grade_row("a", 0.8, multilabel=estimate(0.7), multilabel_upper=estimate(0.76), novel=60)
        assert "No change of the best model's accuracy by real@1 is shown on the same images" in told(
            grade_of(row, labels="real")
        )

    def test_a_change_of_the_best_is_held_against_all_models(self):
        """A change just beyond its own interval is no finding where the best was chosen among many."""
        rows = [
            grade_row(
                f"m{i}", 0.8, multilabel=estimate(0.762), labels_change=estimate(0.012), top1_same_images=estimate(0.75)
            )
            for i in range(20)
        ]
        assert any("better" in headline for headline in told(grade_of(rows[0], labels="real")))
        assert not any("better" in headline for headline in told(grade_of(*rows, labels="real")))

    def test_a_review_is_believed_before_bounds(self):
        row = grade_row(
            "a", 0.8, multilabel=estimate(0.9), multilabel_upper=estimate(0.97), reviewed=estimate(0.95), novel=70
        )  # fmt: skip
        found = told(grade_of(row, labels="real"))
        finding = found["The best model is better than top-1 says: 95.0%, not 75.0%, of the same images"]
        assert "No one has judged" not in finding.text

    def test_a_weak_slice(self):
        rows = [
            grade_row("a", 0.8),
            grade_row("a", 0.5, slice="dark", n=200),
            grade_row("a", 0.875, slice="day", n=800),
        ]
        found = told(grade_of(*rows))
        assert "The best model is weakest on dark, of 2 slices of pets" in found

    def test_a_slice_that_may_be_chance(self):
        rows = [grade_row("a", 0.8), grade_row("a", 0.79, slice="dark", n=200), grade_row("a", 0.8, slice="day", n=800)]
        finding = told(grade_of(*rows))["No slice of pets is shown to be harder for the best model than another"]
        assert finding.text.endswith("No difference between slices is significant.")

    def test_a_slice_is_weakest_only_below_every_other(self):
        """Two slices are far below the third, and not told apart: either may be the hardest."""
        slices = {"dark": 0.5, "dusk": 0.52, "day": 0.9}
        rows = [grade_row("a", 0.7), *(grade_row("a", top1, slice=name, n=300) for name, top1 in slices.items())]
        finding = told(grade_of(*rows))["2 of 3 slices of pets may be the hardest for the best model"]
        assert "dark and dusk; each other slice is significantly less hard than one of them." in finding.text

    def test_many_slices_make_one_odd_one_likely(self):
        """A slice that would stand out alone does not among forty."""
        low = grade_row("a", 0.72, slice="s0", n=200)
        others = [grade_row("a", 0.8, slice=f"s{n}", n=20) for n in range(1, 40)]
        alone = told(grade_of(grade_row("a", 0.8), low))
        among = told(grade_of(grade_row("a", 0.8), low, *others))
        assert "s0 is harder for the best model than the rest of pets" in alone
        assert "No slice of pets is shown to be harder for the best model than another" in among

    def test_one_slice_that_may_be_chance(self):
        found = told(grade_of(grade_row("a", 0.8), grade_row("a", 0.79, slice="dark", n=200)))
        finding = found["dark is not shown to be harder for the best model than the rest of pets"]
        assert "on 80.2%" in finding.text, "158 of 200 there, 642 of the other 800"

    def test_a_slice_of_one_image_is_not_weak(self):
        rows = [grade_row("a", 0.9), grade_row("a", 0.0, slice="one", n=1), grade_row("a", 0.9, slice="rest", n=999)]
        assert "No slice of pets is shown to be harder for the best model than another" in told(grade_of(*rows))

    @pytest.mark.parametrize("top1", [0.0, 1.0])
    def test_no_slice_is_weak_where_all_is_right_or_wrong(self, top1):
        rows = [grade_row("a", top1), *(grade_row("a", top1, slice=name, n=500) for name in ("dark", "day"))]
        assert "No slice of pets is shown to be harder for the best model than another" in told(grade_of(*rows))

    def test_a_slice_that_was_chosen_to_be_hard_is_not_called_weak(self):
        rows = [grade_row("a", 0.8), grade_row("a", 0.1, slice="hard", n=200), grade_row("a", 0.8, slice="day", n=400)]
        found = told(replace(grade_of(*rows), hard_slices=("hard",)))
        assert not any("hard" in headline.split() for headline in found)
        assert "day is not shown to be harder for the best model than the rest of pets" in found

    def test_a_slice_that_is_everything_is_not_weak(self):
        assert list(told(grade_of(grade_row("a", 0.8), grade_row("a", 0.8, slice="dark")))) == [
            "a is right on 80.0% of pets"
        ]

    def test_nothing_is_said_of_nothing(self):
        assert findings(grade_of(replace(grade_row("a", 0.8), top1=None))) == ()


def compared(*rates: float, n: int = 2000):
    rng = np.random.default_rng(0)
    correct = np.sort(rng.random((1, n))) < np.array(rates)[:, None]  # nested: the better one has all of the weaker's
    return compare_correctness(tuple("abcdefgh"[: len(rates)]), correct, basis=Basis("pets", n))


class TestComparison:
    def test_two_models_apart(self):
        found = told(compared(0.8, 0.7))
        assert list(found) == ["a is ahead of b on pets"]
        assert "The difference is +9.7 points (+8.5 to +11.1)" in next(iter(found.values())).text

    def test_the_second_may_be_ahead(self):
        found = told(compared(0.7, 0.8))
        assert list(found) == ["b is ahead of a on pets"]
        assert "The difference is +9.7 points (+8.5 to +11.1)" in next(iter(found.values())).text

    def test_two_models_together(self):
        found = told(compared(0.8, 0.8))
        assert list(found) == ["No difference detected between a and b on pets"]

    def test_one_leader_and_every_step_real(self):
        found = told(compared(0.9, 0.7, 0.5))
        assert list(found) == [
            "a is ahead of all others on pets",
            "A difference is shown for every step in the ranking on pets",
        ]
        assert "The interval holds although a was picked as the best of 3." in next(iter(found.values())).text
        assert (
            "Of 2 pairs of neighbors 2 differ"
            in found["A difference is shown for every step in the ranking on pets"].text
        )

    def test_some_leaders_and_some_steps(self):
        found = told(compared(0.9, 0.9, 0.6, 0.6))
        assert list(found) == [
            "2 of 4 models may be the best on pets",
            "A difference is shown for 1 of 3 steps in the ranking on pets",
        ]
        first = found["2 of 4 models may be the best on pets"].text
        assert "2,000 images do not tell it from b" in first
        assert "1 differs significantly" in found["A difference is shown for 1 of 3 steps in the ranking on pets"].text

    def test_a_lead_by_a_few_images_is_none(self):
        assert next(iter(told(compared(0.9, 0.899, 0.6)))) == "2 of 3 models may be the best on pets"

    def test_most_steps_are_not_only_so_many(self):
        assert "A difference is shown for 2 of 3 steps in the ranking on pets" in told(compared(0.9, 0.7, 0.5, 0.5))

    def test_all_may_lead_and_no_step_is_real(self):
        found = told(compared(0.8, 0.8, 0.8))
        assert list(found) == [
            "Any of the 3 models may be the best on pets",
            "No model is shown to be ahead of the next on pets",
        ]


def shifted(changes: dict[str, tuple[int, int]], *, images: int = 10_000, more: dict[str, dict] | None = None):
    def counts(name, place):
        models = {model: ModelCounts(pair[place], images) for model, pair in changes.items()}
        return SetCounts(name, models)

    pairs = [SetPair(counts("old", 0), counts("new", 1))]
    for name, rights in (more or {}).items():
        there = SetCounts(name, {model: ModelCounts(right, images) for model, right in rights.items()})
        pairs.append(SetPair(counts("old", 0), there))
    return generalization(pairs, rng=np.random.default_rng(0), draws=500)


LINE = {f"m{n}": (5000 + 400 * n, 4000 + 480 * n) for n in range(10)}


class TestGeneralization:
    def test_a_loss_and_gains_that_carry_over(self):
        found = told(shifted(LINE))
        first = next(iter(found.values()))
        assert first.headline == "Models lose 6.4 points on new"
        assert first.weight == 0.9
        best = "m9, picked as the best on old, has 86.0% (85.0 to 86.7) there and 83.2% (82.5 to 83.9) on new."
        assert best in first.text
        carried = found["Gains on old carry over to new"]
        assert "goes with 1.20 (1.16 to 1.25) points more on new: the slope over 10 models." in carried.text
        assert "no sign of overfitting" in carried.text

    def test_a_small_gain_and_gains_that_shrink(self):
        found = told(shifted({f"m{n}": (5000 + 400 * n, 6500 + 200 * n) for n in range(10)}))
        assert next(iter(found)).startswith("Models gain 6.0 points on new")
        assert "Gains on old shrink on new" in found

    def test_a_small_change_weighs_less(self):
        found = told(shifted({model: (right, right - 300) for model, (right, _) in LINE.items()}))
        assert found["Models lose 3.0 points on new"].weight == 0.7

    def test_no_change_is_shown(self):
        moved = {f"m{n}": (6000, 6000 + (-1) ** n * 400) for n in range(8)}
        moved["m8"] = (6100, 6100)
        finding = told(shifted(moved))["No change in accuracy is shown from old to new"]
        assert finding.weight <= 0.4

    def test_few_models_leave_it_open(self):
        found = told(shifted({"a": (5000, 4000), "b": (6000, 5200), "c": (7000, 5900)}))
        opened = found["Whether gains on old carry over to new is open"]
        assert opened.text.endswith("An interval over so few models is only a rough guide.")

    def test_the_largest_change_speaks_and_others_are_named(self):
        easier = {model: right + 100 for model, (right, _) in LINE.items()}
        first = next(iter(told(shifted(LINE, more={"easy": easier})).values()))
        assert first.headline == "Models lose 6.4 points on new"
        assert first.text.endswith("Elsewhere: +1.0 on easy.")

    @pytest.mark.parametrize(("right", "side"), [(2000, "below"), (8000, "above")])
    def test_a_model_far_off_the_line(self, right, side):
        found = told(shifted({**{f"m{n}": (5000 + 100 * n, 4000 + 100 * n) for n in range(30)}, "odd": (6500, right)}))
        off = found["odd does not follow the others on new"]
        assert f"{side} what the line through models expects" in off.text
        assert "−" not in off.text

    def test_a_model_that_may_be_far_off_is_not_called_odd(self):
        """Two weak models pull the line each its way: both are far off it, and how far is open."""
        near = {f"m{n}": (8000 + 50 * n, 7000 + 50 * n + 5 * (-1) ** n) for n in range(8)}
        result = shifted({**near, "x": (3000, 2000), "y": (3050, 2900)})
        assert max(abs(row.robustness.value) for row in result.rows) > 0.04
        assert not any("does not follow" in headline for headline in told(result))

    def test_models_near_the_line_are_not_called_odd(self):
        rng = np.random.default_rng(1)
        scattered = {model: (right, new + int(rng.normal(0, 60))) for model, (right, new) in LINE.items()}
        assert not any("does not follow" in headline for headline in told(shifted(scattered)))


def alike(correct: np.ndarray):
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
        found = told(alike(self.hard < np.array([[0.8], [0.7]])))
        assert list(found) == ["a and b err on the same images more than independent models would"]

    def test_two_that_differ(self):
        found = told(alike(np.stack([self.hard < 0.7, self.hard > 0.35])))
        assert list(found) == ["a and b err on different images more than independent models would"]

    def test_two_that_are_independent(self):
        found = told(alike(np.random.default_rng(5).random((2, 500)) < 0.7))
        assert "are not shown to err on the same images" in next(iter(found))

    def test_many_that_share_errors(self):
        found = told(alike(self.hard < np.array([[0.8], [0.79], [0.5]])))
        assert found[f"All pairs of models {MISS_THE_SAME}"].text.startswith("All 3 pairs share errors")
        groups = found["3 models form 2 clusters by error consistency on pets"]
        assert groups.text.endswith("1 model stands alone. Clusters describe these images and are not tested.")

    def test_many_that_do_not(self):
        found = told(alike(np.random.default_rng(1).random((4, 400)) < 0.7))
        assert f"No two models are shown to {MISS_THE_SAME}" in found
        assert "No two of 4 models reach an error consistency of 0.6" in found

    def test_one_pair_shares_its_errors(self):
        independent = np.random.default_rng(7).random((2, 3000)) < 0.7
        found = told(alike(np.stack([self.hard < 0.8, self.hard < 0.7, *independent])))
        text = found[f"1 of 6 pairs of models {MISS_THE_SAME.replace('miss', 'misses')}"].text
        assert text.startswith("1 of 6 pairs shares errors more than independent models would")


class TestMistakes:
    def test_what_people_overturned(self):
        """Of lynx, wolf, road, boat and cup, the wolf turned out to be right and the boat is not judged."""
        first = next(iter(told(studied(predictions("a", A), frame=verdicts(), reviews=())).values()))
        assert first.headline == "20% of a's mistakes on dozen are not mistakes by the review"
        assert first.text == (
            "People overturned 1 of 5 mistakes of a, 20.0% (0.5 to 71.6); 4 remain, 1 of them not judged by anyone yet."
        )

    def test_a_review_that_overturned_nothing(self):
        frame = verdicts()
        frame = replace(frame, states=np.full_like(frame.states, LabelState.WRONG))
        found = told(studied(predictions("a", A), frame=frame, reviews=()))
        kept = found["The review overturned none of a's mistakes on dozen"]
        assert kept.text == "People overturned 0 of 5 mistakes of a, 0.0% (0.0 to 52.2); 5 remain."
        assert kept.weight < 0.8

    def test_errors_that_are_right_answers(self):
        """The road and the unclear cat are among the labels, and wolf cannot be told from dog."""
        found = told(studied(predictions("a", A), reviews=()))
        right = next(one for one in found.values() if "are right by" in one.headline)
        assert right.headline == "43% of the best model's errors on dozen are right by judged@1"
        assert "Of 7 errors of a, the best model, 42.9% (9.9 to 81.6) are right by judged@1" in right.text
        assert "The triage is no judgment" in right.text

    def test_errors_that_are_not(self):
        found = told(studied(predictions("b", B), reviews=()))
        assert "None of the best model's errors on dozen are right by judged@1" in found

    def test_how_grave_the_reviewed_ones_are(self):
        found = told(studied())
        grave = found["2 of 3 reviewed mistakes of a are major"]
        assert grave.text == (
            "People call 66.7% (9.4 to 99.2) of 3 mistakes of a major; the most common kind is fine-grained, 33.3% "
            "(0.8 to 90.6)."
        )

    def test_the_most_confused_classes(self):
        found = told(studied(predictions("b", B), reviews=()))
        confused = next(one for one in found.values() if one.headline.startswith("The most confused classes are"))
        assert confused.text == "1 model took one for the other 1 time; 3 pairs of classes are confused at all."

    def test_no_errors_say_nothing_of_them(self):
        right = tuple("road" if own == "boat" else own for own in OWN)
        assert findings(studied(predictions("a", right), reviews=())) == ()


def beside(persons: dict[str, float], models: dict[str, float], *, images: int = 1000):
    target, rng = test_set(images), np.random.default_rng(2)
    found = [answers(target, f"person:{name}", Skill(rate, rate, 5.0), rng) for name, rate in persons.items()]
    found += [answers(target, name, Skill(rate, rate), rng) for name, rate in models.items()]
    scoring = scoring_for(target, target.class_space)
    return people(target, ((one, scoring) for one in found), rng=rng, subsets=())


class TestPeople:
    def test_a_person_ahead(self):
        found = told(beside({"Ada": 0.95, "Ben": 0.9}, {"a": 0.7}))
        assert next(iter(found)) == "The best person is ahead of the best model on sim"
        assert "People are ahead of models in 2 of 2 pairs, behind in 0" in found
        assert any(headline.startswith("People") and "on sim" in headline for headline in found)

    def test_a_model_ahead(self):
        assert next(iter(told(beside({"Ada": 0.6}, {"a": 0.9})))) == "The best model is ahead of the best person on sim"

    def test_neither(self):
        found = told(beside({"Ada": 0.8}, {"a": 0.8}, images=200))
        first = next(iter(found.values()))
        assert first.headline == "Whether the best person or the best model is ahead on sim is not shown"
        assert "neither is ahead of everyone on the other side" in first.text
        assert "No person and no model are shown to differ" in found

    def test_the_best_must_be_ahead_of_everyone(self):
        """Ada is ahead of one model and not of the other, which may be the best in truth."""
        found = told(beside({"Ada": 0.9}, {"a": 0.89, "b": 0.5}, images=300))
        assert next(iter(found)) == "Whether the best person or the best model is ahead on sim is not shown"
        assert "People are ahead of models in 1 of 2 pairs, behind in 0" in found

    def test_people_alone(self):
        found = told(beside({"Ada": 0.9, "Ben": 0.8}, {}))
        first = next(iter(found.values()))
        assert first.headline.startswith("People are right on up to")
        assert first.text.startswith("The best of 2, person:Ada, is right on")

    @pytest.mark.parametrize(("rate", "word"), [(0.99, "largely agree"), (0.5, "do not agree well")])
    def test_agreement(self, rate, word):
        assert f"People {word} on sim" in told(beside({"Ada": rate, "Ben": rate}, {}))


def corrupted(*models: tuple[str, float], kinds: dict[str, float] | None = None, clean: Estimate | None = None, **more):
    rows = []
    for name, error in models:
        rows.append(CorruptionRow(name, "all", estimate(error), None, None, clean))
        rows += [CorruptionRow(name, kind, estimate(rate), None, None, None) for kind, rate in (kinds or {}).items()]
    return CorruptionGrade("pets-c", None, tuple(rows), (), **more)


class TestCorruptions:
    def test_one_model(self):
        found = told(corrupted(("a", 0.4), clean=estimate(0.2)))
        (only,) = found.values()
        assert only.headline == "a errs on 40.0% of corrupted images"
        assert only.text.endswith("against 20.0% (19.0 to 21.0) on clean images.")

    def test_the_most_robust_for_certain(self):
        found = told(corrupted(("a", 0.4), ("b", 0.5), most_robust=Extreme("a", ())))
        assert "a is the most robust of 2 models on pets-c" in found

    def test_the_most_robust_is_open(self):
        found = told(corrupted(("a", 0.4), ("b", 0.41), ("c", 0.6), most_robust=Extreme("a", ("b",))))
        finding = found["Which model is the most robust on pets-c is not shown"]
        assert finding.text.endswith("a and b are not told apart, so the order may be chance.")

    def test_the_worst_corruption(self):
        found = told(corrupted(("a", 0.4), kinds={"fog": 0.3, "snow": 0.6}, hardest=Extreme("snow", ())))
        assert "snow is the hardest of 2 corruptions for a on pets-c" in found

    def test_the_worst_corruption_is_open(self):
        found = told(corrupted(("a", 0.4), kinds={"fog": 0.595, "snow": 0.6}, hardest=Extreme("snow", ("fog",))))
        finding = found["Which corruption is the hardest for a on pets-c is not shown"]
        assert finding.text.endswith("fog is not shown to be milder.")


def test_what_no_one_reads_says_nothing():
    assert findings(object()) == ()
