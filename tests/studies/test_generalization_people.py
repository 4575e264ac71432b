"""Generalization with people, labels and unjudged predictions: by hand, and against refits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import Estimate
from regrade.stats import Scale, proportion
from regrade.studies import AdaptivityVerdict, ModelCounts, SetCounts, SetPair, findings
from regrade.studies.generalization.analysis import generalization
from regrade.studies.generalization.measure import TOP1, AccuracyMeasure
from regrade.studies.generalization.paired_counts import paired_counts
from regrade.studies.generalization.unjudged import unjudged_of

OLD = {"a": 9000, "b": 8000, "c": 7000, "d": 6000, "e": 5000}
NEW = {"a": 8000, "b": 7000, "c": 6000, "d": 5000, "e": 4000}  # ten points below


def sets(old=OLD, new=NEW, *, people=(), novel=(0, 0), images=10_000):
    """A pair of sets; ``people`` have counts of 1,000 images on both, ``novel`` counts for every model."""
    answered = [{name: ModelCounts(rights[side], 1_000) for name, *rights in people} for side in (0, 1)]
    models = [
        {name: ModelCounts(right, images, novel=unjudged) for name, right in rights.items()}
        for rights, unjudged in ((old, novel[0]), (new, novel[1]))
    ]
    return SetPair(*(SetCounts(name, {**models[i], **answered[i]}) for i, name in enumerate(("old", "new"))))


def study(*pairs, **options):
    return generalization(pairs or [sets()], rng=np.random.default_rng(0), scale=Scale.LINEAR, **options)


class TestPeople:
    pair = sets(people=[("person:A", 850, 840), ("person:B", 700, 605)])
    result = study(pair)

    def test_distance_to_the_line_by_hand(self):
        """The line is 10 points below y = x; person A loses 1 point, 9 points above it."""
        first = self.result.people[0]
        assert (first.person, first.original.value, first.new.value) == ("person:A", 0.85, 0.84)
        assert first.original == proportion(850, 1_000)
        assert (first.gap.value, first.expected, first.robustness.value) == pytest.approx((0.01, 0.75, 0.09))

    def test_people_never_change_lines_means_or_ranks(self):
        alone = study(sets())
        assert self.result.rows == alone.rows
        assert self.result.as_dict()["sets"] == alone.as_dict()["sets"]

    def test_people_are_the_first_rows_of_the_table_without_ranks(self):
        table = self.result.table()
        keys = [column.key for column in table.columns]
        assert [row[0] for row in table.rows][:3] == ["person:A", "person:B", "a"]
        assert [table.rows[0][keys.index(key)] for key in ("original_rank", "new_rank")] == [None, None]

    def test_json_has_people_only_if_there_are_any(self):
        assert [row["person"] for row in self.result.as_dict()["people"]] == ["person:A", "person:B"]
        assert not {"people", "measure"} & study().as_dict().keys()

    def test_finding_names_the_person_off_the_line(self):
        (finding,) = [finding for finding in findings(self.result) if "people" in finding.kind.name]
        assert finding.kind.name == "generalization: people off the line"
        assert finding.headline == "person:A keeps more accuracy on new images than models do"
        assert "person:B" in finding.text

    def test_people_beyond_the_models_are_marked_and_nothing_is_concluded(self):
        result = study(sets(people=[("person:A", 980, 975)]))
        assert any("extrapolated to people beyond the models: person:A" in note for note in result.table().notes)
        (finding,) = [finding for finding in findings(result) if "people" in finding.kind.name]
        assert finding.kind.name == "generalization: people near the line"
        assert finding.headline == "People are beyond the models, where no distance to their line is tested"
        assert "beyond the models" in finding.text

    def test_finding_names_people_on_both_sides(self):
        result = study(sets(people=[("person:A", 850, 840), ("person:B", 850, 600)]))
        (finding,) = [finding for finding in findings(result) if "people" in finding.kind.name]
        assert finding.headline == "person:A keeps more and person:B keeps less accuracy on new images than models do"

    def test_a_person_on_one_set_is_left_out_and_named(self):
        pair = sets(people=[("person:A", 850, 840)])
        fewer = {name: counts for name, counts in pair.new.models.items() if name != "person:A"}
        result = study(replace(pair, new=replace(pair.new, models=fewer)))
        assert result.people is None
        assert result.shifts[0].left_out == ("person:A",)


class TestUnjudged:
    def test_by_hand(self):
        """200 of 10,000 are not judged on the original, 500 on the new set: -10 points may be -12 to -5."""
        unjudged = study(sets(novel=(200, 500))).shifts[0].unjudged
        assert (unjudged.original, unjudged.new) == pytest.approx((0.02, 0.05))
        assert (unjudged.lowest_change, unjudged.highest_change) == pytest.approx((-0.12, -0.05))

    def test_slope_change_by_hand(self):
        """Slope weights are -2, -1, 0, 1, 2; equal new rises of 5 points move the slope by at most 3 x 0.05 / 10."""
        unjudged = study(sets(novel=(0, 500))).shifts[0].unjudged
        assert unjudged.highest_slope_change == pytest.approx(3 * 0.1 / (10 * 0.01) * 0.05)
        assert unjudged.lowest_slope_change == pytest.approx(-unjudged.highest_slope_change)

    def test_none_if_all_are_judged(self):
        shift = study().shifts[0]
        assert shift.unjudged is None
        assert "unjudged" not in study().as_dict()["sets"][0]

    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.floats(0, 1), min_size=10, max_size=10))
    def test_no_small_rise_moves_the_slope_further(self, rises):
        """An independent refit: any part of the unjudged predictions called correct stays inside, to first order."""
        old, new = np.array([9010, 8120, 6900, 6100, 4870]), np.array([7950, 7100, 6050, 4890, 4010])
        names = list(OLD)
        pair = sets(
            dict(zip(names, old.tolist(), strict=True)), dict(zip(names, new.tolist(), strict=True)), novel=(9, 9)
        )
        unjudged = unjudged_of(paired_counts(pair, ()))
        before = np.polyfit(old, new, 1)[0]
        after = np.polyfit(old + 9 * np.array(rises[:5]), new + 9 * np.array(rises[5:]), 1)[0]
        assert unjudged.lowest_slope_change - 1e-5 <= after - before <= unjudged.highest_slope_change + 1e-5

    def test_a_change_that_judgments_could_explain_is_not_claimed(self):
        result = study(sets(novel=(0, 1_100)))
        finding = next(
            finding for finding in findings(result) if "change" in finding.kind.name or "lose" in finding.kind.name
        )
        assert finding.kind.name == "generalization: no change shown"
        assert finding.headline == "Too few predictions are judged to tell whether models lose on new"

    def test_a_slope_that_judgments_could_explain_is_not_claimed(self):
        new = {"a": 8400, "b": 7000, "c": 5600, "d": 4200, "e": 2800}
        judged, unjudged = study(sets(new=new)), study(sets(new=new, novel=(0, 1_500)))
        assert judged.shifts[0].adaptivity.verdict is AdaptivityVerdict.NO_SIGN
        adaptivity = unjudged.shifts[0].adaptivity
        assert adaptivity.verdict is AdaptivityVerdict.UNDETERMINED
        assert "people's judgments of novel predictions could change" in adaptivity.in_words()

    def test_a_model_whose_predictions_are_not_judged_is_not_called_off_the_line(self):
        names = [f"m{place}" for place in range(12)]
        old = {name: 5000 + 300 * place for place, name in enumerate(names)}
        new = {**{name: right - 1000 for name, right in old.items()}, "m6": old["m6"] - 3000}
        pair = sets(old, new)
        off = [finding.kind.name for finding in findings(study(pair))]
        assert "generalization: off the line" in off
        waiting = replace(pair.new.models["m6"], novel=2_500)
        pair = replace(pair, new=replace(pair.new, models={**pair.new.models, "m6": waiting}))
        assert "generalization: off the line" not in [finding.kind.name for finding in findings(study(pair))]

    def test_table_shows_unjudged_predictions_per_model(self):
        table = study(sets(novel=(200, 500))).table()
        assert [column.heading for column in table.columns][-2:] == ["novel", "new novel"]
        assert table.rows[0][-2:] == (200, 500)


@pytest.mark.parametrize(
    ("measure", "name", "accuracy", "heading"),
    [
        (TOP1, "top-1", "accuracy", "old and new, in %"),
        (AccuracyMeasure(5), "top-5", "top-5 accuracy", "old and new, top-5, in %"),
        (AccuracyMeasure(slice="dogs"), "top-1", "accuracy", "old and new, slice dogs, in %"),
        (
            AccuracyMeasure(1, {"old": "many@2", "new": "many@1"}, "images"),
            "multi-label accuracy",
            "multi-label accuracy",
            "old and new, multi-label accuracy, in %",
        ),
    ],
)
def test_measure_names_the_accuracy(measure, name, accuracy, heading):
    result = study(measure=measure)
    assert (measure.name, measure.accuracy) == (name, accuracy)
    assert result.table().title == heading
    assert any(f"mean change of {name} " in note for note in result.table().notes)
    assert f"mean change in {accuracy} of 5 models" in findings(result)[0].text


def test_change_is_shown_only_outside_what_judgments_could_change():
    shift = study(sets(novel=(200, 500))).shifts[0]
    assert shift.change_is_shown(Estimate(-0.1, -0.12, -0.06, 10, "t"))
    assert not shift.change_is_shown(Estimate(-0.1, -0.12, -0.04, 10, "t"))
    assert not shift.change_is_shown(Estimate(0.1, 0.01, 0.12, 10, "t"))
    assert shift.change_is_shown(Estimate(0.1, 0.03, 0.12, 10, "t"))
