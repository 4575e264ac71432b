"""The map of a geography study: one model's accuracy in every country or region."""

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

from regrade.core import Estimate, UndefinedError, UnknownName
from regrade.display.figure import Figure
from regrade.display.lazy_altair import altair
from regrade.display.parts import halo, heading, inline, interval_text, percent
from regrade.display.style import FAINT, INK, SEQUENTIAL, SMALL, TEXT, WIDTH
from regrade.display.wording import listed
from regrade.studies.geography.result import Geography, ModelByGroup

_HEIGHT = 255
_LABELS = 12  # up to this many groups all are labeled; of more, only the extremes
_EXTREMES = 3
_NEAR = (28.0, 9.0)  # degrees of longitude and latitude within which two labels would overlap


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


def map_figure(result: Geography, model: str | None = None) -> Figure:
    """Draw a model's accuracies on a map of countries or regions (default: the best model).

    Raises if the groups are neither countries nor regions, such as incomes.
    """
    row = _row(result, model)
    map_places = places(result.names)
    if map_places is None:
        raise UndefinedError(f"the groups by {result.by} are neither countries nor known regions: no map can be drawn")
    accuracies = {name: accuracy for name, accuracy in zip(result.names, row.groups, strict=True) if accuracy}
    drawn = [place for place in map_places if place.group in accuracies]
    if not drawn:
        raise UndefinedError(f"{row.model} has no accuracy in any {result.by} that is on the map")
    title = _title(result, row, accuracies)
    missing = [name for name in result.names if name not in {place.group for place in drawn}]
    subtitle = (
        f"Top-{result.top} accuracy of {row.model} on {result.test_set} by {result.by}; a stronger blue is more "
        f"accurate, gray has no images. In brackets: {100 * result.confidence:g}% intervals."
    )
    if missing:
        subtitle += f" Not on the map: {listed(missing)}."
    chart = altair.LayerChart(layer=_layers(drawn, accuracies), data=_world(), width=WIDTH, height=_HEIGHT)
    alt = f"{title}. " + "; ".join(f"{place.group} {accuracies[place.group]}" for place in drawn) + "."
    return Figure(
        f"map of {result.test_set} by {result.by}",
        alt,
        chart.project("equalEarth").properties(title=heading(title, subtitle)),
    )


def _row(result: Geography, model: str | None) -> ModelByGroup:
    if model is None:
        return result.rows[0]
    if model not in {row.model for row in result.rows}:
        raise UnknownName("model", model, [row.model for row in result.rows])
    return result.row(model)


def _title(result: Geography, row: ModelByGroup, accuracies: dict[str, Estimate]) -> str:
    if row.disparity is None:
        return f"Accuracy of {row.model} on {result.test_set} by {result.by}"
    gap = row.disparity
    if gap.value.low <= 0:
        return f"No difference by {result.by} detected for {row.model}"
    low, high = accuracies[gap.worst], accuracies[gap.best]
    sure = "" if gap.settled else " (in part due to chance)"
    return f"{row.model}: from {100 * low.value:.1f}% in {gap.worst} to {100 * high.value:.1f}% in {gap.best}{sure}"


def _layers(drawn: list[MapPlace], accuracies: dict[str, Estimate]) -> list[Any]:
    values = [accuracies[place.group].value for place in drawn]
    scale = altair.Scale(
        domain=[percent(min(values)), percent(max(values))],
        scheme=altair.SchemeParams(name=SEQUENTIAL, extent=[0.22, 1.0]),
    )
    legend = altair.Legend(
        title="accuracy, in %", orient="bottom", direction="horizontal", gradientLength=220, gradientThickness=10
    )
    color = altair.Color("value:Q", scale=scale, legend=legend)
    areas, dots = _areas(drawn, accuracies)
    ground = altair.Chart().mark_geoshape(fill=FAINT, stroke="white", strokeWidth=0.5)
    fields = [key for key in areas[0] if key != "code"] if areas else []
    shapes = (
        altair.Chart()
        .mark_geoshape(stroke="white", strokeWidth=0.5)
        .transform_lookup(lookup="id", from_=altair.LookupData(data=_values(areas), key="code", fields=fields))
        .transform_filter("isValid(datum.value)")
        .encode(color=color, tooltip=_tooltip())
    )
    where = {"longitude": "longitude:Q", "latitude": "latitude:Q"}
    small = (
        altair.Chart(inline(dots))
        .mark_circle(size=70, stroke=INK, strokeWidth=0.8, opacity=1)
        .encode(**where, color=color, tooltip=_tooltip())
    )
    labels = _labels(drawn, accuracies)
    size = TEXT if len(drawn) <= _LABELS else SMALL
    text = altair.Chart(inline(labels)).encode(**where, text="text:N")
    letters: dict[str, Any] = {"fontSize": size, "fontWeight": "bold", "lineBreak": "|"}
    ink = text.mark_text(color=INK, **letters)
    return [ground, *([shapes] if areas else []), *([small] if dots else []), halo(ink), ink]


def _tooltip() -> list[altair.Tooltip]:
    return [
        altair.Tooltip("group:N", title="group"),
        altair.Tooltip("country:N", title="country"),
        altair.Tooltip("shown:N", title="accuracy"),
        altair.Tooltip("images:Q", format=",", title="images"),
    ]


def _areas(drawn: list[MapPlace], accuracies: dict[str, Estimate]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Countries with an outline, colored by their group; and countries without one that are a group by themselves.

    A country in two groups belongs to the smaller one.
    """
    areas: dict[int, dict[str, Any]] = {}
    dots = []
    for place in sorted(drawn, key=lambda place: -len(place.countries)):
        estimate = accuracies[place.group]
        values = {
            "group": place.group,
            "value": percent(estimate.value),
            "shown": interval_text(estimate),
            "images": estimate.n,
        }
        for country in place.countries:
            if country.code in outlined():
                areas[country.code] = {"code": country.code, "country": country.name, **values}
            elif len(place.countries) == 1:
                where = {"latitude": country.latitude, "longitude": country.longitude}
                dots.append({"country": country.name, **where, **values})
    return list(areas.values()), dots


def _labels(drawn: list[MapPlace], accuracies: dict[str, Estimate]) -> list[dict[str, Any]]:
    """Accuracies as text: of every group if there are few, else of the extremes that have room."""
    ordered = sorted(drawn, key=lambda place: accuracies[place.group].value)
    chosen = ordered if len(ordered) <= _LABELS else [*ordered[:_EXTREMES], *ordered[::-1][:_EXTREMES]]
    placed: list[MapPlace] = []
    for place in chosen:
        if all(not _touches(place, neighbor) for neighbor in placed):
            placed.append(place)
    return [
        {
            "latitude": place.latitude,
            "longitude": place.longitude,
            "text": f"{place.group}|{interval_text(accuracies[place.group], digits=0)}",
        }
        for place in placed
    ]


def _touches(first: MapPlace, second: MapPlace) -> bool:
    across, up = abs(first.longitude - second.longitude), abs(first.latitude - second.latitude)
    return across < _NEAR[0] and up < _NEAR[1]


def _world() -> altair.Data:
    form = altair.TopoDataFormat(feature="countries", type="topojson")
    return altair.Data(values=outlines(), format=form)  # type: ignore[no-untyped-call]


def _values(rows: list[dict[str, Any]]) -> altair.Data:
    return altair.Data(values=rows)  # type: ignore[no-untyped-call]
