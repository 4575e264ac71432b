from statistics import mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import MismatchError, UndefinedError
from regrade.metrics import group_accuracy

REGIONS = ["Europe", "Africa", "Africa", "Europe", "Africa", "Asia"]
CORRECT = np.array([[1, 0, 1, 1, 0, 1], [0, 1, 1, 0, 1, 0]], dtype=bool)


def test_counts_by_group_come_sorted_by_name():
    groups = group_accuracy(CORRECT, REGIONS)
    assert groups.names == ("Africa", "Asia", "Europe")
    assert groups.sizes.tolist() == [3, 1, 2]
    assert groups.right.tolist() == [[1, 1, 2], [3, 0, 0]]


def test_means_and_extremes_by_hand():
    groups = group_accuracy(CORRECT, REGIONS)
    assert groups.accuracies == pytest.approx(np.array([[1 / 3, 1, 1], [1, 0, 0]]))
    assert groups.micro == pytest.approx([4 / 6, 3 / 6])
    assert groups.macro == pytest.approx([7 / 9, 1 / 3])
    assert groups.worst == pytest.approx([1 / 3, 0])
    assert groups.disparity == pytest.approx([2 / 3, 1])


def test_of_equally_bad_groups_the_first_by_name_is_the_worst():
    assert group_accuracy(CORRECT, REGIONS).worst_group == ("Africa", "Asia")


def test_equal_shares_of_different_sizes_are_equal():
    correct = np.array([[1, 0, 0, 1, 1, 0, 0, 0, 0]], dtype=bool)
    groups = group_accuracy(correct, list("bbbaaaaaa"))
    assert groups.disparity.tolist() == [0.0]
    assert groups.worst_group == ("a",)


def test_groups_may_be_numbers_and_sort_as_such():
    groups = group_accuracy(np.array([[True, False, True]]), np.array([10, 9, 10]))
    assert groups.names == ("9", "10")
    assert groups.right.tolist() == [[0, 2]]


@given(
    st.integers(1, 40).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=1, max_size=3),
            st.lists(st.sampled_from(["north", "south", "east", ""]), min_size=n, max_size=n),
        )
    )
)
@settings(deadline=None, max_examples=80)
def test_every_figure_is_that_of_a_plain_loop(drawn):
    correct, groups = drawn
    result = group_accuracy(np.array(correct), groups)
    for model, row in enumerate(correct):
        by_group = {g: mean(r for r, own in zip(row, groups, strict=True) if own == g) for g in groups}
        assert result.names == tuple(sorted(by_group))
        assert result.accuracies[model] == pytest.approx([by_group[g] for g in sorted(by_group)])
        assert result.micro[model] == pytest.approx(mean(row))
        assert result.macro[model] == pytest.approx(mean(by_group.values()))
        assert result.worst[model] == pytest.approx(min(by_group.values()))
        assert by_group[result.worst_group[model]] == min(by_group.values())
        assert result.disparity[model] == pytest.approx(max(by_group.values()) - min(by_group.values()))


def test_one_group_has_no_disparity():
    groups = group_accuracy(CORRECT, ["all"] * 6)
    assert groups.disparity.tolist() == [0, 0]
    assert groups.micro.tolist() == groups.macro.tolist() == groups.worst.tolist()


def test_no_models_have_no_accuracies():
    groups = group_accuracy(np.zeros((0, 6), dtype=bool), REGIONS)
    assert groups.right.shape == (0, 3)
    assert groups.worst_group == ()


@pytest.mark.parametrize("correct", [CORRECT[:, :5], CORRECT[0]])
def test_every_image_needs_one_group(correct):
    with pytest.raises(MismatchError, match="does not fit 6 group values"):
        group_accuracy(correct, REGIONS)


def test_no_images_have_no_groups():
    with pytest.raises(UndefinedError, match="at least one image"):
        group_accuracy(np.zeros((2, 0), dtype=bool), [])
