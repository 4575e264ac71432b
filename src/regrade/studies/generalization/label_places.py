"""Placing the names of points so that they do not overlap each other, points or lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from regrade.display.style import TEXT

_LETTER, _LINE = 0.55 * TEXT, 14.0  # pixels: an upper bound of the mean letter width, and the line height
_OWN = 3  # pieces of a leader line that may touch its own point
_GAP = 2.0  # pixels between a name and anything else
Align = Literal["left", "right", "center"]


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels from the top left."""

    left: float
    top: float
    right: float
    bottom: float

    def within(self, frame: Box) -> bool:
        """Whether it lies completely inside a frame."""
        return (
            frame.left <= self.left
            and self.right <= frame.right
            and frame.top <= self.top
            and self.bottom <= frame.bottom
        )  # fmt: skip

    def overlaps(self, box: Box) -> bool:
        """Whether the two boxes overlap."""
        return (
            self.left < box.right
            and box.left < self.right
            and self.top < box.bottom
            and box.top < self.bottom
        )  # fmt: skip


@dataclass(frozen=True)
class LabelPlace:
    """The position of a name: an anchor in pixels from the top left, and the text alignment at the anchor.

    A name that is ``led`` is so far from its point that a leader line connects them.
    """

    x: float
    y: float
    align: Align
    led: bool


_NEAR: tuple[tuple[float, float, Align], ...] = (
    (9, 7, "left"), (9, 0, "left"), (0, 15, "center"), (9, -7, "left"), (-9, 7, "right"), (0, -15, "center"),
    (-9, 0, "right"), (-9, -7, "right"),
)  # fmt: skip
_WAYS: tuple[tuple[float, float, Align], ...] = (
    (1.0, 1.0, "left"), (0.3, 1.0, "left"), (1.0, -0.4, "left"), (-0.6, 1.0, "right"), (-1.0, -1.0, "right"),
    (-0.3, -1.0, "right"), (-1.0, 0.4, "right"),
)  # fmt: skip
_FAR: tuple[tuple[float, float, Align], ...] = (
    *((across * reach, down * reach, align) for reach in (22.0, 34.0, 48.0, 64.0) for across, down, align in _WAYS),
    *((4.0, reach, "right") for reach in (84.0, 108.0, 132.0)),  # below a point at the right end of a rising cloud
)


def points_box(x: float, y: float, reach: float = 4.0) -> Box:
    """The box around a point."""
    return Box(x - reach, y - reach, x + reach, y + reach)


def line_boxes(ends: Sequence[tuple[float, float]]) -> list[Box]:
    """Small boxes along a line through points."""
    boxes = []
    for (x, y), (to_x, to_y) in pairwise(ends):
        pieces = max(int(max(abs(to_x - x), abs(to_y - y)) / 4), 1)
        for piece in range(pieces + 1):
            share = piece / pieces
            boxes.append(points_box(x + share * (to_x - x), y + share * (to_y - y), 2.0))
    return boxes


def place_labels(
    points: Sequence[tuple[str, float, float]],
    taken: Sequence[Box],
    *,
    frame: Box,
    upward: bool,
    crossable: Sequence[Box] = (),
    uncrossed: Sequence[Box] = (),
) -> list[LabelPlace | None]:
    """A place for the name of each point, in order of priority; None if there is no room.

    Places are tried below and to the right of a point first (above and to the left if ``upward``), near before far. A
    name may not overlap boxes that are ``taken``, ``crossable`` or ``uncrossed``. A leader line may cross
    ``crossable`` boxes, and any box at its own point.
    """
    full, barriers = [*taken, *crossable, *uncrossed], list(uncrossed)
    places = list[LabelPlace | None]()
    for name, x, y in points:
        chosen = None
        for place in _places(x, y, upward=upward):
            box = _room(name, place)
            leader = line_boxes([(x, y), (place.x, place.y)]) if place.led else []
            clear = not _overlap(leader[_OWN:], [*barriers, *taken])
            if clear and box.within(frame) and not _overlap([box], full):
                chosen = place
                full += [box, *leader]
                barriers.append(box)
                break
        places.append(chosen)
    return places


def _places(x: float, y: float, *, upward: bool) -> Iterator[LabelPlace]:
    """The candidate places for the name of a point, in order of preference."""
    sign = -1 if upward else 1
    for number, (across, down, align) in enumerate((*_NEAR, *_FAR)):
        side = _TURNED[align] if upward else align
        yield LabelPlace(x + sign * across, y + sign * down, side, number >= len(_NEAR))


def _overlap(boxes: Sequence[Box], obstacles: Sequence[Box]) -> bool:
    return any(box.overlaps(obstacle) for box in boxes for obstacle in obstacles)


_TURNED: dict[Align, Align] = {"left": "right", "right": "left", "center": "center"}


def _room(name: str, place: LabelPlace) -> Box:
    width = len(name) * _LETTER
    left = place.x - {"left": 0.0, "right": width, "center": width / 2}[place.align]
    return Box(left - _GAP, place.y - _LINE / 2, left + width + _GAP, place.y + _LINE / 2)
