"""Placing names: near their points, without overlap, and None if there is no room."""

import numpy as np
import pytest

from regrade.studies.generalization.label_places import Box, line_boxes, place_labels, points_box

FRAME = Box(0, 0, 400, 300)
LETTER = 6.6


def room(name, place):
    width = len(name) * LETTER
    left = place.x - {"left": 0, "right": width, "center": width / 2}[place.align]
    return Box(left, place.y - 7, left + width, place.y + 7)


def test_single_point_has_its_name_next_to_it():
    (below,) = place_labels([("name", 200, 150)], [points_box(200, 150)], frame=FRAME, upward=False)
    assert (below.align, below.led) == ("left", False) and below.x > 200 and below.y > 150
    (above,) = place_labels([("name", 200, 150)], [points_box(200, 150)], frame=FRAME, upward=True)
    assert (above.align, above.led) == ("right", False) and above.x < 200 and above.y < 150


@pytest.mark.parametrize("upward", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_names_do_not_overlap_anything(seed, upward):
    rng = np.random.default_rng(seed)
    xs = np.sort(rng.uniform(10, 390, 40))
    points = [(f"model{i:02}", x, 290 - 0.7 * x + rng.normal(0, 6)) for i, x in enumerate(xs)]
    taken = [points_box(x, y) for _, x, y in points]
    line, dashed = line_boxes([(0, 290), (400, 10)]), line_boxes([(0, 250), (357, 0)])
    chosen = points[::5]
    places = place_labels(chosen, taken, frame=FRAME, upward=upward, crossable=line, uncrossed=dashed)
    boxes = [room(name, place) for (name, _, _), place in zip(chosen, places, strict=True) if place]
    assert len(boxes) >= 4
    for i, box in enumerate(boxes):
        assert box.within(FRAME)
        assert not any(box.overlaps(obstacle) for obstacle in [*taken, *line, *dashed, *boxes[:i], *boxes[i + 1 :]])
    for (_, x, y), place in zip(chosen, places, strict=True):
        if place and place.led:
            leader = line_boxes([(x, y), (place.x, place.y)])
            names = [box for box in boxes if box != room("model00", place)]
            assert not any(piece.overlaps(box) for piece in leader for box in [*dashed, *names])


def test_point_at_the_right_end_of_a_rising_cloud_is_named_below_it():
    points = [(x, 300 - x * 0.7) for x in range(20, 386, 5)]
    taken = [points_box(x, y) for x, y in points]
    (place,) = place_labels([("a_long_name", *points[-1])], taken, frame=FRAME, upward=False)
    assert place.led and place.align == "right"


def test_no_room_gives_none():
    assert place_labels([("x" * 80, 200, 150)], [], frame=FRAME, upward=False) == [None]
    walls = [Box(0, 0, 400, 300)]
    assert place_labels([("x", 200, 150), ("y", 20, 20)], walls, frame=FRAME, upward=True) == [None, None]


def test_boxes_overlap_only_with_common_area():
    box = Box(0, 0, 10, 10)
    assert box.overlaps(Box(9, 9, 20, 20)) and box.overlaps(Box(2, 2, 3, 3))
    assert not box.overlaps(Box(10, 0, 20, 10)) and not box.overlaps(Box(0, 11, 10, 20))
