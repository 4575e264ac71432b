"""Where the names of points go, so that none covers another, a point or a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from regrade.report.style import TEXT

_LETTER, _LINE = 0.55 * TEXT, 14.0  # pixels that a letter is wide, at most on the whole, and a line is high
_OWN = 3  # pieces of a leading line that are at its own point
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
        """Whether it lies in another wholly."""
        return (
            frame.left <= self.left
            and self.right <= frame.right
            and frame.top <= self.top
            and self.bottom <= frame.bottom
        )  # fmt: skip

    def meets(self, other: Box) -> bool:
        """Whether the two have a place in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )  # fmt: skip


@dataclass(frozen=True)
class LabelPlace:
    """Where a name is written: an anchor in pixels from the top left and the side of the text that is there.

    One that is ``led`` stands so far from its point that a line leads to it.
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
    *((4.0, reach, "right") for reach in (84.0, 108.0, 132.0)),  # under a point at the right end of a rising cloud
)


def points_box(x: float, y: float, reach: float = 4.0) -> Box:
    """The room of a point."""
    return Box(x - reach, y - reach, x + reach, y + reach)


def line_boxes(ends: Sequence[tuple[float, float]]) -> list[Box]:
    """The room of a line through places, in small pieces."""
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
    """A place for the name of each point, the first ones first; none where there is no room.

    Names go below and to the right of their points first, or ``upward`` above and to the left, near before far, over
    nothing that is ``taken``, ``crossable`` or ``uncrossed``. A line that leads to a name may go over what is
    ``crossable``, and over what is taken at its very point.
    """
    full, barriers = [*taken, *crossable, *uncrossed], list(uncrossed)
    places = list[LabelPlace | None]()
    for name, x, y in points:
        found = None
        for place in _places(x, y, upward=upward):
            box = _room(name, place)
            leader = line_boxes([(x, y), (place.x, place.y)]) if place.led else []
            clear = not _meet(leader, barriers) and not _meet(leader[_OWN:], taken)
            if clear and box.within(frame) and not _meet([box], full):
                found = place
                full += [box, *leader]
                barriers.append(box)
                break
        places.append(found)
    return places


def _places(x: float, y: float, *, upward: bool) -> Iterator[LabelPlace]:
    """The places for the name of a point, in the order in which they are tried."""
    sign = -1 if upward else 1
    for number, (across, down, align) in enumerate((*_NEAR, *_FAR)):
        side = _TURNED[align] if upward else align
        yield LabelPlace(x + sign * across, y + sign * down, side, number >= len(_NEAR))


def _meet(boxes: Sequence[Box], others: Sequence[Box]) -> bool:
    return any(box.meets(other) for box in boxes for other in others)


_TURNED: dict[Align, Align] = {"left": "right", "right": "left", "center": "center"}


def _room(name: str, place: LabelPlace) -> Box:
    width = len(name) * _LETTER
    left = place.x - {"left": 0.0, "right": width, "center": width / 2}[place.align]
    return Box(left - _GAP, place.y - _LINE / 2, left + width + _GAP, place.y + _LINE / 2)
