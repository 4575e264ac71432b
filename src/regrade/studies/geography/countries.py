"""Countries and regions of the world by name or code, and the outlines that maps are drawn from.

Outlines are Natural Earth's 1:110m, which is in the public domain; scripts/build_world_outlines.py made the file.
"""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Country:
    """A country: its numeric ISO code, its name, and where its capital is."""

    code: int
    name: str
    latitude: float
    longitude: float


@dataclass(frozen=True)
class MapPlace:
    """A group on a map: its countries, and the position of its name."""

    group: str
    countries: tuple[Country, ...]
    latitude: float
    longitude: float


_REGIONS = {
    # by the United Nations' geoscheme: a continent or a part of one
    "africa": ("Africa", (1.0, 20.0)),
    "americas": ("Americas", (-10.0, -58.0)),
    "asia": ("Asia", (48.0, 90.0)),
    "europe": ("Europe", (58.0, 17.0)),
    "oceania": ("Oceania", (-25.0, 134.0)),
    "central asia": ("Central Asia", (46.0, 68.0)),
    "eastern asia": ("Eastern Asia", (36.0, 104.0)),
    "northern africa": ("Northern Africa", (26.0, 13.0)),
    "northern america": ("Northern America", (48.0, -101.0)),
    "south-eastern asia": ("South-eastern Asia", (8.0, 112.0)),
    "southern asia": ("Southern Asia", (25.0, 74.0)),
    "western asia": ("Western Asia", (25.0, 47.0)),
    # by the World Bank
    "east asia and pacific": ("East Asia and Pacific", (30.0, 110.0)),
    "europe and central asia": ("Europe and Central Asia", (57.0, 60.0)),
    "latin america and caribbean": ("Latin America and Caribbean", (-10.0, -58.0)),
    "middle east and north africa": ("Middle East and North Africa", (27.0, 20.0)),
    "north america": ("North America", (48.0, -101.0)),
    "south asia": ("South Asia", (23.0, 78.0)),
    "sub-saharan africa": ("Sub-Saharan Africa", (0.0, 23.0)),
}
_SPELLINGS = {
    "east asia": "eastern asia",
    "southeast asia": "south-eastern asia",
    "south east asia": "south-eastern asia",
    "west asia": "western asia",
    "north africa": "northern africa",
    "the americas": "americas",
    "america": "americas",
    "latin america and the caribbean": "latin america and caribbean",
    "east asia & pacific": "east asia and pacific",
    "europe & central asia": "europe and central asia",
    "latin america & caribbean": "latin america and caribbean",
    "middle east & north africa": "middle east and north africa",
    # Dollar Street's four regions
    "af": "africa",
    "am": "americas",
    "as": "asia",
    "eu": "europe",
}


def places(groups: Sequence[str]) -> tuple[MapPlace, ...] | None:
    """The places of groups on a map if at least three quarters are countries or known regions, else None.

    Groups are all countries (by name or ISO code) or all regions (of the United Nations, the World Bank, GeoDE or
    Dollar Street); unknown groups are left out.
    """
    for lookup in (_region, _country):
        matches = [place for group in groups if (place := lookup(group))]
        if matches and len(matches) >= 0.75 * len(groups):
            return tuple(matches)
    return None


@cache
def outlines() -> dict[str, Any]:
    """The outlines of countries as TopoJSON, with the numeric ISO code as id; small countries have no outline."""
    return json.loads(_text("world.json"))


@cache
def outlined() -> frozenset[int]:
    """The codes of the countries that have an outline."""
    shapes = outlines()["objects"]["countries"]["geometries"]
    return frozenset(shape["id"] for shape in shapes)


def _region(group: str) -> MapPlace | None:
    key = _spelled(group)
    key = _SPELLINGS.get(key, key)
    if key not in _REGIONS:
        return None
    name, (latitude, longitude) = _REGIONS[key]
    return MapPlace(group, _members()[name], latitude, longitude)


def _country(group: str) -> MapPlace | None:
    country = _by_name().get(_spelled(group))
    return None if country is None else MapPlace(group, (country,), country.latitude, country.longitude)


def _spelled(name: str) -> str:
    """A name in lower case without accents; joined words such as EastAsia are separated."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.strip())
    plain = unicodedata.normalize("NFKD", apart).encode("ascii", "ignore").decode().casefold()
    return re.sub(r"[\s_]+", " ", plain)


@cache
def _rows() -> tuple[Mapping[str, str], ...]:
    return tuple(csv.DictReader(_text("countries.csv").splitlines()))


@cache
def _by_name() -> Mapping[str, Country]:
    by_name: dict[str, Country] = {}
    for row in _rows():
        country = _country_of(row)
        also = [name for name in row["also"].split(";") if name]
        for name in (row["name"], row["alpha2"], row["alpha3"], row["code"], f"{country.code:03}", *also):
            by_name[_spelled(name)] = country
    return by_name


@cache
def _members() -> Mapping[str, tuple[Country, ...]]:
    members: dict[str, list[Country]] = {}
    for row in _rows():
        for region in {row["continent"], row["part"], row["world_bank"]} - {""}:
            members.setdefault(region, []).append(_country_of(row))
    return {region: tuple(countries) for region, countries in members.items()}


def _country_of(row: Mapping[str, str]) -> Country:
    return Country(int(row["code"]), row["name"], float(row["latitude"]), float(row["longitude"]))


def _text(name: str) -> str:
    return (resources.files("regrade.studies.geography") / "data" / name).read_text(encoding="utf-8")
