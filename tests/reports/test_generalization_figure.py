"""The figure of a generalization study: every model with both intervals, in every format."""

import json

import numpy as np
import pytest
from scipy.special import logit, ndtri

from regrade.stats import Scale
from regrade.studies import ModelCounts, SetCounts, SetPair, figure
from regrade.studies.generalization.analysis import generalization
from regrade.studies.generalization.label_places import Box, line_boxes, points_box


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


@pytest.fixture(scope="module")
def spec():
    return drawn(study())


def drawn(result):
    """The specification of a figure with one set, with data inlined into the layers."""
    spec = figure(result).spec
    datasets = spec.get("datasets", {})
    for layer in spec["layer"]:
        layer["data"] = {"values": datasets[layer["data"]["name"]]} if "name" in layer["data"] else layer["data"]
    return spec


def test_every_model_is_a_point_with_both_intervals(spec):
    (points,) = marks(spec, "point")
    assert len(values(points)) == 40
    for row in values(points):
        assert row["left"] < row["x"] < row["right"] and row["low"] < row["y"] < row["high"]
    across = [("x2" in rule["encoding"], "y2" in rule["encoding"]) for rule in marks(spec, "rule")]
    assert across[:2] == [(False, True), (True, False)]
    assert across[2:] in ([], [(True, True)])  # leader lines


def test_line_band_and_diagonal(spec):
    diagonal, line = marks(spec, "line")
    assert all(end["x"] == end["y"] for end in values(diagonal)) and diagonal["mark"]["strokeDash"]
    (band,) = marks(spec, "area")
    assert all(part["low"] <= part["y"] <= part["high"] for part in values(band))
    slopes = np.diff([part["y"] for part in values(line)]) / np.diff([part["x"] for part in values(line)])
    assert slopes == pytest.approx(slopes[0], abs=2e-3)  # straight on its own scale


@pytest.mark.parametrize(("scale", "place"), [(Scale.LINEAR, float), (Scale.PROBIT, ndtri), (Scale.LOGIT, logit)])
def test_axes_use_the_scale_with_labels_in_percent(scale, place):
    spec = figure(study(scale=scale)).spec
    (points,) = marks(spec, "point")
    rows = {row["model"]: row for row in values(points)}
    assert rows["model00"]["x"] == pytest.approx(place(OLD[0] / 1000), abs=1e-5)
    axis = points["encoding"]["x"]["axis"]
    assert "'%'" in axis["labelExpr"]
    assert scale is Scale.LINEAR or round(float(place(0.8)), 5) in axis["values"]


def test_few_models_are_named_and_each_once(spec):
    names = [row["model"] for layer in marks(spec, "text") for row in values(layer)]
    assert 3 <= len(names) <= 9 and len(set(names)) == len(names)
    assert f"model{int(np.argmax(OLD)):02}" in names


@pytest.mark.parametrize(
    ("models", "shift", "noise"), [(40, -90, 8), (40, -15, 8), (40, 60, 8), (9, -60, 8), (9, -60, 80), (9, 40, 80)]
)
def test_names_do_not_overlap_diagonal_points_or_each_other(models, shift, noise):
    rng = np.random.default_rng(1)
    old = np.linspace(300, 900, models).astype(int)
    new = np.clip(old + shift + rng.normal(0, noise, models).astype(int), 1, 999)
    spec = drawn(study(old=old, new=new))
    (points,) = marks(spec, "point")
    diagonal = values(marks(spec, "line")[0])
    (left, right), (bottom, top) = (points["encoding"][side]["scale"]["domain"] for side in "xy")

    def pixels(x, y):
        return (x - left) / (right - left) * 490, (top - y) / (top - bottom) * 400

    taken = [points_box(*pixels(row["x"], row["y"])) for row in values(points)]
    taken += line_boxes([pixels(end["x"], end["y"]) for end in diagonal])
    rooms = []
    for layer in marks(spec, "text"):
        for row in values(layer):
            x, y = pixels(row["label_x"], row["label_y"])
            width = 6 * len(row["model"])
            start = x - {"left": 0, "right": width, "center": width / 2}[layer["mark"]["align"]]
            rooms.append(Box(start, y - 6, start + width, y + 6))
    assert len(rooms) >= 3
    for i, room in enumerate(rooms):
        assert not any(room.overlaps(box) for box in [*taken, *rooms[:i]])


def test_models_outside_the_line_fit_are_named():
    spec = drawn(study(standard=[f"model{i:02}" for i in range(38)]))
    names = {row["model"] for layer in marks(spec, "text") for row in values(layer)}
    assert {"model38", "model39"} <= names


def test_title_and_description_state_the_change(spec):
    assert spec["title"]["text"] == ["40 models lose 9.1 points from old to new"] or "40 models lose" in str(
        spec["title"]
    )
    assert "40 models" in spec["description"] and "slope" in spec["description"]


def test_one_panel_per_new_set():
    spec = figure(study("one", "two", "three")).spec
    assert len(spec["vconcat"]) == 3
    assert ["one" in str(panel["title"]) for panel in spec["vconcat"]] == [True, False, False]
    assert all(panel["width"] <= 560 for panel in spec["vconcat"])


def test_models_that_are_not_standard_are_diamonds():
    spec = figure(study(standard=[f"model{i:02}" for i in range(30)])).spec
    assert "diamonds" in str(spec["title"])
    (points,) = marks(spec, "point")
    assert sum(row["standard"] for row in values(points)) == 30


class TestPeople:
    """People are squares with both intervals and a name; the line leads on to those beyond the models."""

    def result(self, scale=Scale.LOGIT, people=None):
        people = people or {"person:Ann": (0.7, 0.65), "person:Bob": (0.985, 0.98)}
        sets = [counts("old", OLD), counts("new", NEW)]
        for side, each in enumerate(sets):
            rows = {name: ModelCounts(round(400 * shares[side]), 400) for name, shares in people.items()}
            sets[side] = SetCounts(each.test_set, {**each.models, **rows})
        return generalization([SetPair(*sets)], rng=np.random.default_rng(0), scale=scale)

    def test_people_are_squares_with_their_own_color(self):
        models, people = marks(drawn(self.result()), "point")
        assert [row["model"] for row in values(people)] == ["Bob", "Ann"]
        assert people["encoding"]["shape"] == {"value": "square"}
        assert people["encoding"]["color"] == {"value": "#009e73"}
        assert len(values(models)) == 40
        for row in values(people):
            assert row["left"] < row["x"] < row["right"]
            assert row["low"] < row["y"] < row["high"]

    def test_people_are_named(self):
        spec = drawn(self.result())
        named = [row["model"] for layer in marks(spec, "text") for row in values(layer)]
        assert {"Ann", "Bob"} <= set(named)
        assert "Squares are people" in " ".join(spec["title"]["subtitle"])

    @pytest.mark.parametrize("scale", list(Scale))
    def test_the_line_is_extended_to_people_beyond_the_models(self, scale):
        spec = drawn(self.result(scale))
        (dotted,) = [layer for layer in marks(spec, "rule") if layer["mark"].get("strokeDash") == [2, 3]]
        (part,) = values(dotted)
        band = next(values(layer) for layer in marks(spec, "line") if "strokeDash" not in layer["mark"])
        slope = (band[-1]["y"] - band[0]["y"]) / (band[-1]["x"] - band[0]["x"])
        assert (part["x"], part["y"]) == (band[-1]["x"], band[-1]["y"])
        assert (part["to_y"] - part["y"]) / (part["to_x"] - part["x"]) == pytest.approx(slope, abs=1e-3)
        assert part["to_x"] == pytest.approx(scale.transform(0.985), abs=1e-4)

    def test_nothing_is_extended_to_people_among_the_models(self):
        spec = drawn(self.result(people={"person:Ann": (0.7, 0.65)}))
        assert not [layer for layer in marks(spec, "rule") if layer["mark"].get("strokeDash")]
        assert "Dotted" not in " ".join(spec["title"]["subtitle"])


def test_accuracies_of_0_and_1():
    spec = figure(study(old=np.array([1000, 500, 0]), new=np.array([1000, 500, 0]))).spec
    json.dumps(spec, allow_nan=False)


@pytest.fixture(scope="module")
def two_sets():
    return figure(study("one", "two"))


@pytest.mark.parametrize("ending", [".html", ".svg", ".png", ".pdf", ".json"])
def test_every_format(two_sets, tmp_path, ending):
    path = two_sets.save(tmp_path / f"f{ending}")
    assert path.stat().st_size > 1_000
