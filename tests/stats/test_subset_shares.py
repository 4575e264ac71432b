"""Mean shares on subsets of images: exact for 0 and 1, paired where subsets overlap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import InputError, UndefinedError
from regrade.stats import proportion, subset_difference, subset_share


def masks(size, *ranges):
    return [np.isin(np.arange(size), range(*bounds)) for bounds in ranges]


@given(st.integers(0, 60))
def test_one_model_has_about_the_exact_interval(right):
    shares = np.arange(60) < right
    own, exact = subset_share(shares, np.ones(60, bool)), proportion(right, 60)
    assert own.value == exact.value
    assert own.low == pytest.approx(exact.low, abs=0.01)
    assert own.high == pytest.approx(exact.high, abs=0.01)


def test_models_that_agree_less_give_a_shorter_interval():
    rng = np.random.default_rng(0)
    alike = np.repeat([0.0, 1.0], 100)
    differing = rng.permutation(np.repeat([0.4, 0.6], 100))
    everything = np.ones(200, bool)
    assert subset_share(differing, everything).half_width < 0.4 * subset_share(alike, everything).half_width


def test_a_difference_is_by_hand_that_of_the_means():
    shares = np.array([1.0, 0.5, 0.0, 1.0, 0.0, 0.0])
    first, second = masks(6, (0, 3), (3, 6))
    difference = subset_difference(shares, first, second)
    assert difference.value == pytest.approx(0.5 - 1 / 3)
    assert difference.n == 6
    back = subset_difference(shares, second, first)
    assert (back.low, back.high) == pytest.approx((-difference.high, -difference.low))


def test_shared_images_cancel():
    shares = np.random.default_rng(0).beta(2, 1, 300)
    first, same_but_ten, apart = masks(300, (0, 100), (10, 110), (200, 300))
    near, far = (subset_difference(shares, first, side) for side in (same_but_ten, apart))
    assert near.half_width < 0.45 * far.half_width
    equal = subset_difference(shares, first, first.copy())
    assert (equal.value, equal.low, equal.high) == (0, 0, 0)


def test_subsets_without_errors_are_not_certain():
    first, second = masks(40, (0, 20), (20, 40))
    difference = subset_difference(np.ones(40), first, second)
    assert difference.value == 0
    assert difference.low < -0.1 < 0.1 < difference.high


def test_subsets_need_two_images_and_shares():
    with pytest.raises(UndefinedError, match="at least two"):
        subset_share([0.5, 0.5], [True, False])
    with pytest.raises(InputError, match="between 0 and 1"):
        subset_share([0.5, 1.5], [True, True])
    with pytest.raises(InputError, match="same images"):
        subset_difference([0.5, 0.5], [True, True], [True])


def test_one_image_per_cluster_is_over_images():
    rng = np.random.default_rng(0)
    shares, first, second = rng.random(80), rng.random(80) < 0.5, rng.random(80) < 0.5
    for plain, clustered in (
        (subset_share(shares, first), subset_share(shares, first, np.arange(80))),
        (subset_difference(shares, first, second), subset_difference(shares, first, second, np.arange(80))),
    ):
        assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high))


def test_images_twice_in_their_clusters_count_once():
    rng = np.random.default_rng(1)
    shares, first, second = rng.random(300), np.arange(300) < 200, np.arange(300) >= 200
    twice, homes = (np.repeat(part, 2) for part in (shares, np.arange(300)))
    sides = [np.repeat(side, 2) for side in (first, second)]
    for once, clustered in (
        (subset_share(shares, first), subset_share(twice, sides[0], homes)),
        (subset_difference(shares, first, second), subset_difference(twice, *sides, homes)),
    ):
        assert (clustered.value, clustered.n) == pytest.approx((once.value, 2 * once.n))
        assert (clustered.low, clustered.high) == pytest.approx((once.low, once.high), abs=0.002)


def test_difference_of_subsets_with_common_clusters_is_more_certain():
    """Half of every household is in each subset: what the households have in common cancels."""
    rng, homes = np.random.default_rng(2), np.arange(200) // 4
    shares = np.clip(rng.random(50)[homes] + 0.02 * rng.random(200), 0, 1)
    inside = np.arange(200) % 2 == 0
    together = subset_difference(shares, inside, ~inside, homes)
    assert together.half_width < 0.2 * subset_difference(shares, inside, ~inside).half_width


def test_single_cluster_says_nothing_of_others():
    single = subset_share([1.0, 0.5, 1.0], np.ones(3, bool), [7, 7, 7])
    assert (single.low, single.high) == (0.0, 1.0)


def test_clustered_subset_shares_cover():
    """A fixed seed: 40 households of one to six images; the plain intervals miss."""
    rng, homes = np.random.default_rng(3), np.repeat(np.arange(40), 1 + np.arange(40) % 6)
    covered = []
    for _ in range(600):
        shares = (rng.random(40)[homes] < 0.8) * 0.9 + 0.1 * rng.random(len(homes))
        both = (subset_share(shares, np.ones(len(homes), bool), clusters) for clusters in (homes, None))
        covered.append([share.low <= 0.77 <= share.high for share in both])
    clustered, plain = np.mean(covered, axis=0)
    assert clustered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 600) and plain < 0.85
