"""The geometry of plots: points, intervals and ticks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.app.explore.models_page import Axis, AxisRange, PlotValue, scatter
from regrade.core import Estimate, InputError


def estimate(value, half_width=0.02):
    return Estimate(value, max(0.0, value - half_width), min(1.0, value + half_width), 100, "made up")


def pair(name, x, y, *, person=False):
    return PlotValue(name, estimate(x), estimate(y), f"/to/{name}", person)


def test_axis_range_covers_every_interval():
    scale = AxisRange.over([estimate(0.5), None, estimate(0.7)])
    assert scale.low < 0.48 and scale.high > 0.72
    assert 0 < scale.at(0.48) < scale.at(0.72) < 100
    assert AxisRange.over([None]) == AxisRange(0.0, 1.0)


@given(st.floats(0, 1), st.floats(0, 1))
def test_ticks_are_few_round_and_within_the_range(first, second):
    scale = AxisRange.over([estimate(first), estimate(second)])
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 7
    assert all(scale.low - 1e-6 <= tick <= scale.high + 1e-6 for tick in ticks)
    assert all(abs(1000 * tick - round(1000 * tick)) < 1e-6 for tick in ticks)


def test_scatter_places_points_and_diagonal():
    plot = scatter([pair("low", 0.2, 0.2), pair("high", 0.8, 0.8)], ["low", "high"])
    low, high = plot.points
    assert high.x > low.x and high.y < low.y
    assert low.left < low.x < low.right and low.high < low.y < low.low
    begin_x, begin_y, end_x, end_y = plot.diagonal
    assert (low.y - begin_y) / (low.x - begin_x) == pytest.approx((end_y - begin_y) / (end_x - begin_x), rel=0.02)
    assert scatter([pair("apart", 0.1, 0.9)], []).diagonal is None


def test_scatter_labels_few_points_including_people():
    pairs = [pair(f"model {n}", 0.5 + n / 300, 0.4 + n / 250) for n in range(60)]
    plot = scatter([*pairs, pair("person:Ann", 0.9, 0.95, person=True)], [pair.name for pair in pairs])
    assert 2 <= len(plot.names) <= 5
    assert "person:Ann" in [name.text for name in plot.names]
    assert sum(point.person for point in plot.points) == 1


def test_models_without_a_link_are_dots_at_the_same_places():
    pairs = [pair(f"model {n}", 0.5 + n / 300, 0.4 + n / 250) for n in range(60)]
    person = pair("person:Ann", 0.9, 0.95, person=True)
    whole, part = (scatter([*pairs, person], [row.name for row in pairs[:count]]) for count in (60, 20))
    assert whole.dots == "" and part.count == whole.count == 61
    assert part.points == (*whole.points[:20], whole.points[-1])
    assert part.dots == "".join(f"M{point.x:g} {point.y:g}h0" for point in whole.points[20:60])
    assert part.names == whole.names and part.x_ticks == whole.x_ticks


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_axis_round_trips_through_its_url_value(test_set, labels):
    for axis in (Axis("top1", test_set), Axis("multilabel", test_set, labels)):
        assert Axis.parse(axis.value) == axis


@pytest.mark.parametrize("value", ["", "top1", "size:a:", "multilabel:a:", "top1:a:b", "top1:a:b:c"])
def test_axis_rejects_invalid_values(value):
    with pytest.raises(InputError, match="axis"):
        Axis.parse(value)
