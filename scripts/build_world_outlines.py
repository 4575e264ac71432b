"""Build the country outlines for maps, report/data/world.json, from Natural Earth's 1:110m map.

Run it with the file world-110m.json of vega-datasets (https://github.com/vega/vega-datasets, data/), which is Natural
Earth's public domain map of countries as TopoJSON, each with its numeric ISO code::

    python scripts/build_world_outlines.py world-110m.json

Antarctica is left out, and coordinates are rounded to a tenth of a degree: enough for a map of 560 pixels. Three
outlines have no code: Kosovo gets 983, as is common, the others that of the country they belong to in ISO 3166.
"""

from __future__ import annotations

import argparse
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).parents[1] / "src/regrade/report/data/world.json"
ANTARCTICA = 10
UNCODED = {983: (20, 22), 196: (32, 35), 706: (42, 50)}
"""The codes of outlines without one, with the range of longitudes that identifies each."""

STEPS = 10  # steps per degree

Place = tuple[int, int]


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the country outlines for maps.")
    parser.add_argument("source", type=Path, help="world-110m.json of vega-datasets")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    built = outlines(json.loads(arguments.source.read_text(encoding="utf-8")))
    arguments.output.write_text(json.dumps(built, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{len(built['objects']['countries']['geometries'])} countries: {arguments.output}")


def outlines(topology: dict[str, Any]) -> dict[str, Any]:
    """The countries of a topology, by numeric ISO code and rounded."""
    shapes = [shape for shape in topology["objects"]["countries"]["geometries"] if shape["id"] != ANTARCTICA]
    used = sorted({_own(arc) for shape in shapes for arc in _numbers(shape["arcs"])})
    new = {old: place for place, old in enumerate(used)}
    return {
        "type": "Topology",
        "transform": {"scale": [1 / STEPS, 1 / STEPS], "translate": [0, 0]},
        "objects": {
            "countries": {
                "type": "GeometryCollection",
                "geometries": [
                    {
                        "type": shape["type"],
                        "id": shape["id"] if shape["id"] > 0 else _code(shape, topology),
                        "arcs": _renumbered(shape["arcs"], new),
                    }
                    for shape in shapes
                ],
            }
        },
        "arcs": [_rounded(topology["arcs"][arc], topology) for arc in used],
    }


def _code(shape: dict[str, Any], topology: dict[str, Any]) -> int:
    """The code of an outline without one, by its location."""
    across = [x / STEPS for arc in _numbers(shape["arcs"]) for x, _ in _places(topology["arcs"][_own(arc)], topology)]
    return next(code for code, (west, east) in UNCODED.items() if west <= min(across) and max(across) <= east)


def _own(arc: int) -> int:
    """The index of an arc; TopoJSON writes a reversed arc as the complement of its index."""
    return arc if arc >= 0 else ~arc


def _numbers(arcs: Any) -> list[int]:
    return [arcs] if isinstance(arcs, int) else [number for part in arcs for number in _numbers(part)]


def _renumbered(arcs: Any, new: dict[int, int]) -> Any:
    if isinstance(arcs, int):
        return new[arcs] if arcs >= 0 else ~new[~arcs]
    return [_renumbered(part, new) for part in arcs]


def _places(arc: list[list[int]], topology: dict[str, Any]) -> list[Place]:
    """The points of an arc, in tenths of a degree."""
    (scale_x, scale_y), (left, bottom) = topology["transform"]["scale"], topology["transform"]["translate"]
    x, y, places = 0, 0, []
    for dx, dy in arc:
        x, y = x + dx, y + dy
        places.append((round(STEPS * (x * scale_x + left)), round(STEPS * (y * scale_y + bottom))))
    return places


def _rounded(arc: list[list[int]], topology: dict[str, Any]) -> list[Place]:
    """An arc as its first point and differences; equal consecutive points are merged, but both ends are kept."""
    places = _places(arc, topology)
    kept = [places[0], *(place for before, place in pairwise(places) if place != before)]
    kept += [places[-1]] if len(kept) == 1 else []
    return [kept[0], *((b[0] - a[0], b[1] - a[1]) for a, b in pairwise(kept))]


if __name__ == "__main__":
    main()
