"""What goes with accuracy: trends and families by hand, on published predictions, and what cannot be studied."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from regrade.core import InputError, ModelAttributes
from regrade.core.estimate import Estimate
from regrade.stats import accuracy_covariance
from regrade.studies import ImageNoise, ModelCounts, SetCounts, findings
from regrade.studies.models.analysis import ModelSets, model_trends
from regrade.studies.models.figure import model_trends_figure
from regrade.studies.models.result import (
    FamilyVerdict,
    ModelAttribute,
    ModelMeasure,
    ModelTrendsPart,
    TrendVerdict,
)


def counts(name, accuracies, images=1_000):
    models = {f"m{place}": ModelCounts(round(share * images), images) for place, share in enumerate(accuracies)}
    return SetCounts(name, models)


def years(*values, families=()):
    names = [*families, *[""] * (len(values) - len(families))]
    return {
        f"m{place}": ModelAttributes(year=year, family=family)
        for place, (year, family) in enumerate(zip(values, names, strict=True))
    }


def only(rows):
    (row,) = rows
    return row


def test_a_trend_by_hand():
    result = model_trends(ModelSets(counts("t", (0.5, 0.6, 0.7, 0.8))), years(2012, 2013, 2014, 2015))
    trend = only(result.trends)
    assert (trend.measure, trend.attribute, trend.models) == (ModelMeasure.ACCURACY, ModelAttribute.YEAR, 4)
    assert trend.slope.value == pytest.approx(0.1)
    assert trend.families is None
    assert trend.verdict is TrendVerdict.RISES


def test_counts_are_compared_per_tenfold():
    sizes = {f"m{place}": ModelAttributes(parameters=10 ** (4 + place)) for place in range(5)}
    trend = only(model_trends(ModelSets(counts("t", (0.5, 0.52, 0.54, 0.56, 0.58))), sizes).trends)
    assert trend.slope.value == pytest.approx(0.02)
    assert trend.json_fields()["per"] == "tenfold parameters"


def test_drop_and_robustness_need_the_original():
    old, new = (0.5, 0.6, 0.7, 0.8, 0.9, 0.75), (0.4, 0.52, 0.6, 0.74, 0.86, 0.64)
    sets = ModelSets(counts("new", new), counts("old", old))
    result = model_trends(sets, years(2012, 2014, 2013, 2016, 2015, 2017))
    by_measure = {trend.measure: trend for trend in result.trends}
    assert list(by_measure) == [ModelMeasure.ACCURACY, ModelMeasure.DROP, ModelMeasure.ROBUSTNESS]
    slopes = [np.polyfit(np.array([12, 14, 13, 16, 15, 17]), values, 1)[0] for values in (new, np.subtract(old, new))]
    assert by_measure[ModelMeasure.ACCURACY].slope.value == pytest.approx(slopes[0])
    assert by_measure[ModelMeasure.DROP].slope.value == pytest.approx(slopes[1])
    assert "3 together" in by_measure[ModelMeasure.ROBUSTNESS].slope.method


def test_families_differ_at_equal_accuracy_on_the_original():
    rng = np.random.default_rng(0)
    old = rng.uniform(0.6, 0.9, 24)
    robust = np.arange(24) < 8
    new = old - 0.1 + 0.03 * robust + rng.normal(0, 0.003, 24)
    stated = {f"m{place}": ModelAttributes(family="vit" if robust[place] else "resnet") for place in range(24)}
    result = model_trends(ModelSets(counts("new", new, 100_000), counts("old", old, 100_000)), stated)
    rows = {(row.measure, row.family): row for row in result.families}
    vit = rows[ModelMeasure.ROBUSTNESS, "vit"]
    assert vit.verdict is FamilyVerdict.ABOVE
    assert vit.difference.low < 0.03 < vit.difference.high
    assert rows[ModelMeasure.ACCURACY, "vit"].verdict is FamilyVerdict.NOT_DETECTED
    assert any("vit are above the others in effective robustness" in f.headline for f in findings(result))


def test_disparities_are_a_measure():
    disparities = {f"m{place}": Estimate(0.02 * place, 0, 0.2, 500, "") for place in range(5)}
    sets = ModelSets(counts("t", (0.5, 0.7, 0.6, 0.8, 0.65)), None, disparities, "region")
    result = model_trends(sets, years(*range(2010, 2015)))
    trend = next(trend for trend in result.trends if trend.measure is ModelMeasure.DISPARITY)
    assert trend.slope.value == pytest.approx(0.02)
    assert any("disparity by region" in note for note in result.notes)


def test_models_without_attributes_are_named():
    stated = years(2012, 2013, 2014, 2015) | {"m4": ModelAttributes()}
    result = model_trends(ModelSets(counts("t", (0.5, 0.6, 0.7, 0.8, 0.9))), stated)
    assert only(result.trends).models == 4
    assert "1 model without year: m4" in result.notes


def test_models_without_predictions_on_the_original_are_named():
    original = counts("old", (0.5, 0.6, 0.7, 0.8, 0.9))
    result = model_trends(
        ModelSets(counts("new", (0.4, 0.5, 0.62, 0.7, 0.8, 0.9)), original), years(*range(2010, 2016))
    )
    assert "without predictions on old, left out: m5" in result.notes
    assert len(result.models) == 5


def test_nothing_stated_is_one_clear_error():
    sets = ModelSets(counts("t", (0.5, 0.6, 0.7)))
    with pytest.raises(InputError, match=r"too little is stated .* on t: state year, .* regrade models describe"):
        model_trends(sets, {f"m{place}": ModelAttributes() for place in range(3)})
    with pytest.raises(InputError, match=r"accuracy and year: a trend needs at least 4 models, got 3"):
        model_trends(sets, years(2010, 2011, 2012))
    with_drops = ModelSets(counts("t", (0.5, 0.6, 0.7)), counts("old", (0.6, 0.7, 0.8)))
    with pytest.raises(InputError, match=r"got 3; drop and year: .*, got 3; 1 more\): state year"):
        model_trends(with_drops, years(2010, 2011, 2012))
    same = ModelSets(counts("t", (0.5, 0.6, 0.7, 0.8)))
    with pytest.raises(InputError, match=r"the attribute is the same for all models"):
        model_trends(same, years(2012, 2012, 2012, 2012))


def test_models_of_a_family_are_dependent():
    rng = np.random.default_rng(3)
    family = np.repeat(np.arange(6), 5)
    accuracies = 0.7 + 0.05 * rng.normal(0, 1, 6)[family] + rng.normal(0, 0.003, 30)
    values = (2010 + family).tolist()
    plain = only(model_trends(ModelSets(counts("t", accuracies)), years(*values)).trends)
    names = [f"family {number}" for number in family]
    clustered = model_trends(ModelSets(counts("t", accuracies)), years(*values, families=names)).trends[0]
    assert clustered.families == 6
    assert clustered.slope.value == plain.slope.value
    assert clustered.slope.half_width > 1.5 * plain.slope.half_width


def test_notes_say_which_models_no_family_is_stated_for_and_which_families_are_not_compared():
    stated = years(2012, 2014, 2013, 2016, 2015, 2017, families=["a"] * 3 + ["b"] * 2)
    result = model_trends(ModelSets(counts("new", (0.4, 0.52, 0.6, 0.74, 0.86, 0.64))), stated)
    assert [row.family for row in result.families] == ["a"]
    assert "not compared, with fewer than 3 models in or outside of the family: b" in result.notes
    assert "1 model without family, among the others of every family: m5" in result.notes


def test_tables_figure_and_json():
    old, new = (0.5, 0.6, 0.7, 0.8, 0.9, 0.75), (0.4, 0.52, 0.6, 0.74, 0.86, 0.64)
    stated = years(2012, 2014, 2013, 2016, 2015, 2017, families=["a"] * 3 + ["b"] * 3)
    result = model_trends(ModelSets(counts("new", new), counts("old", old)), stated)
    assert result.parts == tuple(ModelTrendsPart)
    assert [len(result.part(part).rows) for part in result.parts] == [3, 4, 6]
    assert result.models[0].model == "m4"
    assert {"trends", "families", "models", "notes"} <= result.as_dict().keys()
    assert "Associations over these models" in model_trends_figure(result).alt


def test_newer_models_of_cifar10_lose_less_and_are_not_more_robust(published):
    starts = {
        "alexnet": 2012, "cuda": 2012, "random": 2012, "vgg": 2014, "resnet_b": 2015, "resnet_p": 2016, "wrn": 2016,
        "shake_shake": 2017, "shake_drop": 2018, "darc": 2017, "pyramid": 2016, "resnext": 2016,
    }  # fmt: skip
    columns = pq.read_schema(published / "recht2019" / "cifar10.test.top1.parquet").names
    year = {model: starts[start] for model in columns for start in starts if model.startswith(start)}
    measured = []
    for name in ("cifar10.test", "cifar10.1-v6"):
        table = pq.read_table(published / "recht2019" / f"{name}.top1.parquet")
        labels = table["label"].to_numpy()
        right = np.stack([table[model].to_numpy() == labels for model in year])
        models = {model: ModelCounts(int(row.sum()), len(row)) for model, row in zip(year, right, strict=True)}
        measured.append(SetCounts(name, models, noise=ImageNoise(tuple(year), accuracy_covariance(right))))
    result = model_trends(
        ModelSets(measured[1], measured[0]), {m: ModelAttributes(year=value) for m, value in year.items()}
    )
    verdicts = {trend.measure: trend.verdict for trend in result.trends}
    assert verdicts[ModelMeasure.ACCURACY] is TrendVerdict.RISES
    assert verdicts[ModelMeasure.DROP] is TrendVerdict.FALLS
    assert verdicts[ModelMeasure.ROBUSTNESS] is TrendVerdict.NOT_DETECTED
