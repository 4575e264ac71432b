"""Pairs of images: their keys, targets, and the decisions that hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import ImagePair, PairDecision, PairSide
from regrade.core.image_pairs import pair_key, relation_of, standing_decisions
from regrade.core.panel import PairRelation

DUPLICATE, DIFFERENT = PairRelation.DUPLICATE, PairRelation.DIFFERENT
A, B = PairSide("pool", "a"), PairSide("train", "b")
sides = st.builds(PairSide, st.text(max_size=4), st.text(max_size=4))


@given(sides, sides, sides, sides)
def test_key_depends_on_both_images_and_not_on_their_order(first, second, third, fourth):
    assert pair_key(first, second) == pair_key(second, first)
    assert len(pair_key(first, second)) == 16
    same = sorted((first, second)) == sorted((third, fourth))
    assert (pair_key(first, second) == pair_key(third, fourth)) is same


def test_names_cannot_be_shifted_between_set_and_image():
    assert pair_key(PairSide("ab", "c"), B) != pair_key(PairSide("a", "bc"), B)


@pytest.mark.parametrize(
    ("distances", "inside"),
    [
        ({"pixels": 10.0}, True),
        ({"pixels": 10.1}, False),
        ({"pixels": 11.0, "dssim": 0.1}, True),
        ({"phash": 1.0}, False),
        ({"exact": 0.0}, True),
    ],
)
def test_a_pair_is_within_the_targets_by_any_of_its_distances(distances, inside):
    assert ImagePair(A, B, distances).within({"pixels": 10.0, "dssim": 0.2}) is inside


def test_closeness_is_the_smallest_distance_in_units_of_its_target():
    assert ImagePair(A, B, {"pixels": 5.0, "dssim": 0.05}).closeness({"pixels": 10.0, "dssim": 0.2}) == 0.25
    assert ImagePair(A, B, {"exact": 0.0}).closeness({"pixels": 10.0}) == 0.0
    assert ImagePair(A, B, {"pixels": 0.0}).closeness({"pixels": 0.0}) == 0.0


def decided(relation, queue="q"):
    return PairDecision(A, B, relation, queue, "2026-01-01T00:00:00+00:00")


@pytest.mark.parametrize(
    ("decisions", "relation"),
    [
        ([decided(DUPLICATE)], DUPLICATE),
        ([decided(DUPLICATE), decided(DIFFERENT)], DIFFERENT),
        ([decided(DUPLICATE), decided(DIFFERENT, "other queue")], DIFFERENT),
        ([decided(DUPLICATE), decided(DIFFERENT, "other queue"), decided(None, "other queue")], DUPLICATE),
        ([decided(DUPLICATE, "p"), decided(DIFFERENT), decided(DUPLICATE, "p"), decided(None, "p")], DIFFERENT),
        ([decided(DUPLICATE), decided(None)], None),
    ],
)
def test_the_last_decision_holds_and_one_that_is_taken_back_gives_way(decisions, relation):
    held = standing_decisions(decisions)
    assert (held[decisions[0].key].relation if held else None) is relation


def test_people_decide_before_equal_pixels_do():
    exact, near = ImagePair(A, B, {"exact": 0.0}), ImagePair(B, A, {"pixels": 1.0})
    assert (relation_of(exact, {}), relation_of(near, {})) == (DUPLICATE, None)
    held = standing_decisions([decided(DIFFERENT)])
    assert (relation_of(exact, held), relation_of(near, held)) == (DIFFERENT, DIFFERENT)
