"""Trends of the relation between confusion score and errors over models: by hand, with planted and without effects."""

import numpy as np
import pytest
from confusion_world import world
from scipy import special

from regrade.core import ModelAttributes, UndefinedError
from regrade.stats import biserial_correlations, error_correlations
from regrade.studies import ConfusionPart
from regrade.studies.confusion.analysis import FurtherInputs, confusion
from regrade.studies.confusion.findings import trend_findings
from regrade.studies.confusion.graded_models import GradedModel
from regrade.studies.confusion.trend_figure import trend_figure
from regrade.studies.confusion.trends import ScoreRelation, score_trends
from regrade.studies.models.result import TrendVerdict

IMAGES = 4_000


def graded(scores, relations, rates, seed=0):
    """Models whose tendencies to err have these correlations with a normal score, by name."""
    rng = np.random.default_rng(seed)
    own = rng.standard_normal((len(relations), len(scores)))
    strength = np.asarray(relations)[:, None]
    wrong = strength * scores + np.sqrt(1 - strength**2) * own > special.ndtri(1 - np.asarray(rates))[:, None]
    nothing, counted = np.zeros(len(scores), dtype=int), np.ones(len(scores), dtype=bool)
    return {f"m{place}": GradedModel(nothing, "", row, counted) for place, row in enumerate(wrong)}


def studied(relations, rates, attributes=(), **options):
    scores = np.random.default_rng(7).standard_normal(IMAGES)
    stated = {f"m{place}": ModelAttributes(**values) for place, values in enumerate(attributes)}
    return scores, score_trends(scores, graded(scores, relations, rates, **options), stated, confidence=0.95)


def rows_of(trends, attribute):
    return {row.relation: row for row in trends.rows if row.attribute == attribute}


def test_slopes_are_those_of_least_squares_over_the_models():
    attributes = [{"parameters": 10 ** (4 + place), "year": 2012 + place % 3} for place in range(6)]
    scores, trends = studied(np.linspace(0.3, 0.7, 6), [0.3] * 6, attributes)
    models = graded(scores, np.linspace(0.3, 0.7, 6), [0.3] * 6)
    wrong = np.stack([model.wrong for model in models.values()])
    every = np.ones_like(wrong)
    for relation, correlations in ((ScoreRelation.CORRELATION, error_correlations),
                                   (ScoreRelation.BISERIAL, biserial_correlations)):  # fmt: skip
        values = correlations(scores, wrong, every).values
        for attribute, x in (("parameters", np.arange(6)), ("year", np.arange(6) % 3)):
            row = rows_of(trends, attribute)[relation]
            assert row.effect.value == pytest.approx(np.polyfit(x, values, 1)[0])
            assert row.effect.low < row.effect.value < row.effect.high and row.models == 6
    assert rows_of(trends, "parameters")[ScoreRelation.BISERIAL].per == "tenfold parameters"
    assert [model.biserial for model in trends.models] == pytest.approx(
        biserial_correlations(scores, wrong, every).values
    )


def test_accuracy_and_relation_are_of_different_images():
    """The slope per 10 points: accuracies on images 1, 3, 5, ..., correlations on images 0, 2, 4, ..."""
    scores, trends = studied([0.5] * 8, np.linspace(0.1, 0.5, 8))
    wrong = np.stack([model.wrong for model in graded(scores, [0.5] * 8, np.linspace(0.1, 0.5, 8)).values()])
    accuracies = 1 - wrong[:, 1::2].mean(axis=1)
    values = biserial_correlations(scores[::2], wrong[:, ::2], np.ones_like(wrong[:, ::2])).values
    row = rows_of(trends, "accuracy")[ScoreRelation.BISERIAL]
    assert row.effect.value == pytest.approx(np.polyfit(accuracies / 0.1, values, 1)[0])
    assert (row.per, row.families) == ("10 points", None)


def test_only_pearsons_correlation_falls_with_the_error_rate_alone():
    """The same relation at error rates of 3 % to 50 %: a trend of r, and none of the biserial correlation."""
    _, trends = studied([0.6] * 16, np.linspace(0.03, 0.5, 16))
    rows = rows_of(trends, "accuracy")
    assert rows[ScoreRelation.CORRELATION].verdict is TrendVerdict.FALLS
    assert rows[ScoreRelation.BISERIAL].verdict is TrendVerdict.NOT_DETECTED


def test_planted_trends_and_families_are_detected():
    attributes = [
        {"parameters": 10 ** (4 + place // 2), "family": "odd" if place % 2 else "even"} for place in range(16)
    ]
    relations = np.linspace(0.2, 0.6, 16) + 0.15 * (np.arange(16) % 2)
    _, trends = studied(relations, [0.3] * 16, attributes)
    biserial = [row for row in trends.rows if row.relation is ScoreRelation.BISERIAL]
    assert [row.verdict_in_words for row in biserial] == [
        "no trend detected", "rises", "no difference detected", "no difference detected",
    ]  # fmt: skip
    separate = np.where(np.arange(16) % 2, 0.7, 0.3)
    _, trends = studied(separate, [0.3] * 16, attributes)
    families = {row.family: row.verdict_in_words for row in trends.rows if row.relation is ScoreRelation.BISERIAL}
    assert (families["odd"], families["even"]) == ("higher", "lower")


def test_models_of_a_family_are_dependent():
    families = [{"family": "abc"[place % 3]} for place in range(9)]
    rates = np.linspace(0.2, 0.5, 9)
    _, alone = studied([0.5] * 9, rates)
    _, clustered = studied([0.5] * 9, rates, families)
    first, second = (rows_of(part, "accuracy")[ScoreRelation.BISERIAL] for part in (alone, clustered))
    assert (first.families, second.families) == (None, 3)
    assert first.effect.value == second.effect.value and first.effect.low != second.effect.low
    assert any("models of one family as dependent" in note for note in clustered.notes)


def test_models_with_few_errors_are_left_out_and_fewer_than_four_have_no_trend():
    scores, trends = studied([0.5] * 5, [0.3, 0.3, 0.3, 0.3, 0.002])
    assert len(trends.models) == 4
    assert any(note.endswith("left out: m4") for note in trends.notes)
    assert score_trends(scores, graded(scores, [0.5] * 3, [0.3] * 3), {}, confidence=0.95) is None
    assert score_trends(scores, graded(scores, [0.5] * 4, [0.3, 0.3, 0.3, 0.0]), {}, confidence=0.95) is None
    assert score_trends(scores, {}, {}, confidence=0.95) is None


def test_equal_scores_have_no_trend():
    scores = np.random.default_rng(7).standard_normal(IMAGES)
    models = graded(scores, [0.5] * 6, [0.3] * 6)
    assert score_trends(np.ones(IMAGES), models, {}, confidence=0.95) is None
    assert score_trends(np.arange(IMAGES) % 2 * scores, models, {}, confidence=0.95) is None  # equal on one half


def test_attributes_that_cannot_be_studied_are_named():
    _, trends = studied([0.5] * 6, [0.3] * 6, [{"year": 2015, "family": "resnet"}] * 3)
    assert any(note.startswith("correlation and year: a trend needs at least 4 models, got 3") for note in trends.notes)
    assert [row.family for row in trends.rows if row.family] == ["resnet"] * 2
    _, trends = studied([0.5] * 6, [0.3] * 6, [{"year": 2015}] * 6)
    assert any("the attribute is the same for all models" in note for note in trends.notes)


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(3)
    images = world(1_500, rng)
    skills = np.linspace(1.0, 4.0, 8)
    scored = [(images.model(f"m{place}", skill, rng), images.scoring) for place, skill in enumerate(skills)]
    stated = {f"m{i}": ModelAttributes(family="ab"[i % 2], parameters=10 ** (4 + i)) for i in range(8)}
    further = FurtherInputs(attributes=stated)
    return confusion(images.test_set, [images.ensemble(rng)], scored, rng=rng, own=images.scoring, further=further)


def test_table_findings_json_and_figure(result, tmp_path):
    table = result.part(ConfusionPart.TRENDS)
    assert [row[1] for row in table.rows] == [
        "accuracy, 10 points", "accuracy, 10 points", "tenfold parameters", "tenfold parameters",
        "family a", "family a", "family b", "family b",
    ]  # fmt: skip
    assert {model.model for model in result.trends.models} == {f"m{place}" for place in range(8)}  # not the ensemble
    assert {row["per"] for row in result.as_dict()["trends"]["rows"]} >= {"10 points", "tenfold parameters"}
    first = trend_findings(result)[0]
    assert "biserial correlation of score and error, over 8 models" in first.text
    assert "association" in first.text
    drawn = trend_figure(result)
    assert "Associations over these models, not effects" in drawn.alt
    assert drawn.save(tmp_path / "t.svg").stat().st_size > 5_000
    assert [row.family for row in result.outsiders].count("a") == 4


def test_without_trends_the_table_says_what_it_needs():
    rng = np.random.default_rng(4)
    images = world(300, rng)
    scored = [(images.model("m", 2.0, rng), images.scoring)]
    alone = confusion(images.test_set, [images.ensemble(rng)], scored, rng=rng)
    assert alone.trends is None and trend_figure(alone) is None and not trend_findings(alone)
    assert "trends" not in alone.as_dict()
    with pytest.raises(UndefinedError, match="needs 4 models outside the ensemble"):
        alone.part(ConfusionPart.TRENDS)
