"""The figure of generalization: every model drawn with both intervals, in every form."""

import json

import numpy as np
import pytest
from scipy.special import logit, ndtri

from regrade.report import figure
from regrade.stats import Scale
from regrade.studies import ModelCounts, SetCounts, SetPair, generalization


def counts(name, rights, images=1000):
    return SetCounts(name, {f"model{i:02}": ModelCounts(right, images) for i, right in enumerate(rights)})


RNG = np.random.default_rng(0)
OLD = RNG.integers(400, 950, 40)
NEW = np.clip(OLD - 90 + RNG.normal(0, 15, 40).astype(int), 1, 999)


def study(*names, scale=Scale.LOGIT, standard=(), old=OLD, new=NEW):
    pairs = [SetPair(counts("old", old), counts(name, new)) for name in names or ("new",)]
    return generalization(pairs, rng=np.random.default_rng(0), scale=scale, standard=standard, draws=500)


def values(layer):
    return layer["data"]["values"]


def marks(panel, kind):
    return [layer for layer in panel["layer"] if layer["mark"]["type"] == kind]


@pytest.fixture
def spec():
    found = figure(study()).spec
    datasets = found.get("datasets", {})
    for layer in found["layer"]:
        layer["data"] = {"values": datasets[layer["data"]["name"]]} if "name" in layer["data"] else layer["data"]
    return found


def test_every_model_is_a_point_with_both_intervals(spec):
    (points,) = marks(spec, "point")
    assert len(values(points)) == 40
    for row in values(points):
        assert row["left"] < row["x"] < row["right"] and row["low"] < row["y"] < row["high"]
    across = [("x2" in rule["encoding"], "y2" in rule["encoding"]) for rule in marks(spec, "rule")]
    assert across == [(False, True), (True, False)]


def test_the_line_its_band_and_no_change(spec):
    diagonal, line = marks(spec, "line")
    assert all(end["x"] == end["y"] for end in values(diagonal)) and diagonal["mark"]["strokeDash"]
    (band,) = marks(spec, "area")
    assert all(part["low"] <= part["y"] <= part["high"] for part in values(band))
    slopes = np.diff([part["y"] for part in values(line)]) / np.diff([part["x"] for part in values(line)])
    assert slopes == pytest.approx(slopes[0], abs=2e-3)  # straight on its own scale


@pytest.mark.parametrize(("scale", "place"), [(Scale.LINEAR, float), (Scale.PROBIT, ndtri), (Scale.LOGIT, logit)])
def test_places_are_on_the_scale_and_labels_in_percent(scale, place):
    spec = figure(study(scale=scale)).spec
    (points,) = marks(spec, "point")
    rows = {row["model"]: row for row in values(points)}
    assert rows["model00"]["x"] == pytest.approx(place(OLD[0] / 1000), abs=1e-5)
    axis = points["encoding"]["x"]["axis"]
    assert "'%'" in axis["labelExpr"]
    assert scale is Scale.LINEAR or round(float(place(0.8)), 5) in axis["values"]


def test_few_names_and_none_over_another(spec):
    names = [row["model"] for layer in marks(spec, "text") for row in values(layer)]
    assert 3 <= len(names) <= 9 and len(set(names)) == len(names)
    assert f"model{int(np.argmax(OLD)):02}" in names


def test_it_says_what_it_shows(spec):
    assert spec["title"]["text"] == ["40 models lose 9.1 points from old to new"] or "40 models lose" in str(
        spec["title"]
    )
    assert "40 models" in spec["description"] and "slope" in spec["description"]


def test_one_panel_a_set_below_each_other():
    spec = figure(study("one", "two", "three")).spec
    assert len(spec["vconcat"]) == 3
    assert ["one" in str(panel["title"]) for panel in spec["vconcat"]] == [True, False, False]
    assert all(panel["width"] <= 560 for panel in spec["vconcat"])


def test_models_beside_the_standard_ones_look_different():
    spec = figure(study(standard=[f"model{i:02}" for i in range(30)])).spec
    assert "diamonds" in str(spec["title"])
    (points,) = marks(spec, "point")
    assert sum(row["standard"] for row in values(points)) == 30


def test_accuracies_of_none_and_all():
    spec = figure(study(old=np.array([1000, 500, 0]), new=np.array([1000, 500, 0]))).spec
    json.dumps(spec, allow_nan=False)


@pytest.mark.parametrize("ending", [".html", ".svg", ".png", ".pdf", ".json"])
def test_every_form(tmp_path, ending):
    path = figure(study("one", "two")).save(tmp_path / f"f{ending}")
    assert path.stat().st_size > 1_000
