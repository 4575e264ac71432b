"""Countries by name and code, regions as groups of countries, and the outlines of maps."""

import csv
from importlib import resources

import pytest
from loaded_script import loaded_script

from regrade.studies.geography.world_map import outlined, outlines, places

COUNTRIES = resources.files("regrade.studies.geography") / "data" / "countries.csv"
ROWS = list(csv.DictReader(COUNTRIES.read_text().splitlines()))
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
def test_places_finds_countries_by_name_and_code(group, code):
    (place,) = places([group])
    assert place.group == group and codes(place) == {code}


def test_geode_regions_do_not_overlap():
    regions = {place.group: codes(place) for place in places(GEODE)}
    assert set(regions) == set(GEODE)
    assert sum(len(members) for members in regions.values()) == len(set.union(*regions.values()))
    assert {566, 710, 818} <= regions["Africa"] and {32, 170, 484} <= regions["Americas"]
    assert {156, 392, 410} <= regions["EastAsia"] and {380, 642, 724, 826} <= regions["Europe"]
    assert {360, 608, 764} <= regions["SouthEastAsia"] and {400, 682, 784, 792} <= regions["WestAsia"]


def test_world_bank_regions_partition_the_countries():
    regions = [codes(place) for place in places(sorted(WORLD_BANK))]
    assert len(regions) == 7
    countries = set.union(*regions)
    assert sum(len(members) for members in regions) == len(countries) > 190
    (south,) = places(["South Asia"])
    assert len(south.countries) == 8


def test_dollar_street_codes_are_regions():
    assert [len(place.countries) > 30 for place in places(["af", "am", "as", "eu"])] == [True] * 4


def test_country_codes_are_not_regions():
    assert all(len(place.countries) == 1 for place in places(["AF", "KE", "FR", "NG", "PE"]))


@pytest.mark.parametrize("groups", [["low", "high"], ["1 to 3", "over 3 to 9"], ["Kenya", "x", "y"], []])
def test_places_is_none_for_other_groups(groups):
    assert places(groups) is None


def test_unknown_group_is_left_out():
    assert [place.group for place in places(["Kenya", "France", "Peru", "unknown"])] == ["Kenya", "France", "Peru"]


def test_every_outline_is_a_listed_country():
    table = {int(row["code"]) for row in ROWS}
    assert len(table) == len(ROWS)
    assert outlined() <= table
    assert len(outlines()["objects"]["countries"]["geometries"]) == 176


def test_outlines_are_closed_and_on_the_globe():
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
            for arc, following in zip(walked, walked[1:] + walked[:1], strict=True):
                assert arc[-1] == following[0]
            for x, y in (place for part in walked for place in part):
                assert -1800 <= x <= 1800 and -900 <= y <= 900
    assert used == set(range(len(world["arcs"])))


def test_capitals_lie_in_or_near_their_outline():
    """A capital is within the box around its country's outline, with a tolerance of 1.5 degrees."""
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


def test_build_script_rounds_and_renumbers():
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
    with loaded_script("build_world_outlines") as script:
        built = script.outlines(topology)
    (shape,) = built["objects"]["countries"]["geometries"]
    assert shape == {"type": "Polygon", "id": 983, "arcs": [[0, -2]]}
    assert built["arcs"] == [[(200, 0), (10, 0), (0, 10)], [(210, 10), (-10, -10)]]
