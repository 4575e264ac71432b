"""Countries by name and code, regions as groups of them, and the outlines that maps are drawn from."""

import csv
import importlib.util
from importlib import resources
from pathlib import Path

import pytest

from regrade.report.countries import outlined, outlines, places

ROWS = list(csv.DictReader((resources.files("regrade.report") / "data" / "countries.csv").read_text().splitlines()))
GEODE = ("Africa", "Americas", "EastAsia", "Europe", "SouthEastAsia", "WestAsia")
WORLD_BANK = {
    "East Asia & Pacific", "Europe & Central Asia", "Latin America & Caribbean", "Middle East & North Africa",
    "North America", "South Asia", "Sub-Saharan Africa",
}  # fmt: skip


def codes(place):
    return {country.code for country in place.countries}


@pytest.mark.parametrize(
    ("group", "code"),
    [
        ("Kenya", 404), ("KE", 404), ("KEN", 404), ("404", 404), ("004", 4), ("USA", 840),
        ("United States of America", 840),
        ("Burma", 104), ("Viet Nam", 704), ("Cote d'Ivoire", 384), ("Côte d'Ivoire", 384), ("south korea", 410),
        ("Czech Republic", 203), ("UK", 826), ("Palestine", 275), ("SouthAfrica", 710), ("Hong Kong", 344),
    ],
)  # fmt: skip
def test_countries_by_name_and_code(group, code):
    (place,) = places([group])
    assert place.group == group and codes(place) == {code}


def test_geode_s_regions_hold_each_country_once():
    found = {place.group: codes(place) for place in places(GEODE)}
    assert set(found) == set(GEODE)
    assert sum(len(some) for some in found.values()) == len(set.union(*found.values()))
    assert {566, 710, 818} <= found["Africa"] and {32, 170, 484} <= found["Americas"]
    assert {156, 392, 410} <= found["EastAsia"] and {380, 642, 724, 826} <= found["Europe"]
    assert {360, 608, 764} <= found["SouthEastAsia"] and {400, 682, 784, 792} <= found["WestAsia"]


def test_the_world_bank_s_regions_hold_all_countries_once():
    found = [codes(place) for place in places(sorted(WORLD_BANK))]
    assert len(found) == 7
    everyone = set.union(*found)
    assert sum(len(some) for some in found) == len(everyone) > 190
    (south,) = places(["South Asia"])
    assert len(south.countries) == 8


def test_dollar_street_s_regions_are_no_countries():
    found = places(["af", "am", "as", "eu"])
    assert [len(place.countries) > 30 for place in found] == [True] * 4


def test_codes_of_countries_are_no_regions():
    found = places(["AF", "KE", "FR", "NG", "PE"])
    assert all(len(place.countries) == 1 for place in found)


@pytest.mark.parametrize("groups", [["low", "high"], ["1 to 3", "over 3 to 9"], ["Kenya", "x", "y"], []])
def test_what_is_neither(groups):
    assert places(groups) is None


def test_a_stray_group_is_left_out():
    assert [place.group for place in places(["Kenya", "France", "Peru", "unknown"])] == ["Kenya", "France", "Peru"]


def test_every_outline_is_a_country_of_the_table():
    table = {int(row["code"]) for row in ROWS}
    assert len(table) == len(ROWS)
    assert outlined() <= table
    assert len(outlines()["objects"]["countries"]["geometries"]) == 176


def test_outlines_hold_together():
    """Every arc is used, has a length, and stays on the globe; every ring is closed."""
    world = outlines()
    used = set()

    def ends(arc):
        x = y = 0
        places_of = []
        for dx, dy in world["arcs"][arc if arc >= 0 else ~arc]:
            x, y = x + dx, y + dy
            places_of.append((x, y))
        return places_of if arc >= 0 else places_of[::-1]

    for shape in world["objects"]["countries"]["geometries"]:
        polygons = shape["arcs"] if shape["type"] == "MultiPolygon" else [shape["arcs"]]
        for ring in (ring for polygon in polygons for ring in polygon):
            walked = [ends(arc) for arc in ring]
            used |= {arc if arc >= 0 else ~arc for arc in ring}
            for one, following in zip(walked, walked[1:] + walked[:1], strict=True):
                assert one[-1] == following[0]
            for x, y in (place for part in walked for place in part):
                assert -1800 <= x <= 1800 and -900 <= y <= 900
    assert used == set(range(len(world["arcs"])))


def test_capitals_lie_in_or_near_their_outline():
    """A capital is within the box around its country's outline, give or take a degree and a half."""
    world = outlines()
    boxes = {}
    for shape in world["objects"]["countries"]["geometries"]:
        stack, arcs = [shape["arcs"]], []
        while stack:
            part = stack.pop()
            (arcs.append(part) if isinstance(part, int) else stack.extend(part))
        xs, ys = [], []
        for arc in arcs:
            x = y = 0
            for dx, dy in world["arcs"][arc if arc >= 0 else ~arc]:
                x, y = x + dx, y + dy
                xs.append(x / 10)
                ys.append(y / 10)
        old = boxes.get(shape["id"], (180, 90, -180, -90))
        boxes[shape["id"]] = (min(old[0], *xs), min(old[1], *ys), max(old[2], *xs), max(old[3], *ys))
    for row in ROWS:
        if int(row["code"]) in boxes:
            left, bottom, right, top = boxes[int(row["code"])]
            assert left - 1.5 <= float(row["longitude"]) <= right + 1.5, row["name"]
            assert bottom - 1.5 <= float(row["latitude"]) <= top + 1.5, row["name"]


def test_the_script_rounds_and_renumbers():
    path = Path(__file__).parents[2] / "scripts" / "build_world_outlines.py"
    spec = importlib.util.spec_from_file_location("build_world_outlines", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    topology = {
        "transform": {"scale": [0.01, 0.01], "translate": [0, 0]},
        "arcs": [[[0, 0], [100, 0]], [[2000, 0], [104, 0], [1, 1], [0, 100]], [[2104, 101], [-104, -101]]],
        "objects": {
            "countries": {
                "geometries": [
                    {"id": 10, "type": "Polygon", "arcs": [[0]]},
                    {"id": -99, "type": "Polygon", "arcs": [[1, -3]]},
                ]
            }
        },
    }
    built = script.outlines(topology)
    (shape,) = built["objects"]["countries"]["geometries"]
    assert shape == {"type": "Polygon", "id": 983, "arcs": [[0, -2]]}
    assert built["arcs"] == [[(200, 0), (10, 0), (0, 10)], [(210, 10), (-10, -10)]]
