"""Whether new images can be told from original ones: never without a difference, and with one soon."""

import numpy as np
import pytest
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.studies.shift.discriminator import balanced_images, discriminate

RUNS, ALARM = 120, 1e-4


def images(rng, number, features, shift=0.0):
    """As many new as original images; new ones are shifted in one direction."""
    is_new = np.arange(2 * number) < number
    embeddings = rng.normal(size=(2 * number, features))
    embeddings[is_new, 0] += shift
    return embeddings, is_new


@pytest.mark.parametrize(("number", "features"), [(30, 100), (100, 3)])
def test_equal_distributions_are_not_told_apart(number, features):
    """A lower bound above 0.5, one side of a 95% interval, in at most 2.5% of runs."""
    rng, alarms = np.random.default_rng(0), 0
    for _ in range(RUNS):
        embeddings, is_new = images(rng, number, features)
        alarms += discriminate(embeddings, is_new, clusters=np.arange(len(is_new)), rng=rng).low > 0.5
    assert alarms <= stats.binom.isf(ALARM, RUNS, 0.025)


def test_similar_images_of_an_author_do_not_count_as_a_difference():
    """Images of an author on both sides of the split would give the authors away."""
    rng, alarms, naive_alarms = np.random.default_rng(1), 0, 0
    for _ in range(RUNS // 2):
        author = np.arange(160) // 4
        embeddings = rng.normal(size=(40, 30))[author] + 0.2 * rng.normal(size=(160, 30))
        alarms += discriminate(embeddings, author < 20, clusters=author, rng=rng).low > 0.5
        naive_alarms += discriminate(embeddings, author < 20, clusters=np.arange(160), rng=rng).low > 0.5
    assert alarms <= stats.binom.isf(ALARM, RUNS // 2, 0.025)
    assert naive_alarms > RUNS // 4


def test_a_shift_is_found_and_its_area_is_that_of_the_best_direction():
    rng = np.random.default_rng(2)
    embeddings, is_new = images(rng, 1000, 10, shift=1.5)
    area = discriminate(embeddings, is_new, clusters=np.arange(2000), rng=rng)
    best = stats.norm.cdf(1.5 / np.sqrt(2))
    assert area.low < best < area.high
    assert area.value == pytest.approx(best, abs=0.03)


def test_scale_and_constant_features_do_not_matter():
    rng = np.random.default_rng(3)
    embeddings, is_new = images(rng, 60, 4, shift=1.0)
    scaled = np.column_stack([1000 * embeddings + 7, np.ones(120)])[:, :4]
    areas = [
        discriminate(part, is_new, clusters=np.arange(120), rng=np.random.default_rng(0)).value
        for part in (embeddings, scaled)
    ]
    assert areas[0] == pytest.approx(areas[1], abs=1e-3)
    constant = np.column_stack([embeddings, np.ones(120)])
    assert np.isfinite(discriminate(constant, is_new, clusters=np.arange(120), rng=rng).value)


def test_balanced_images_have_the_same_share_of_every_class():
    rng = np.random.default_rng(4)
    new, original = np.repeat([0, 1, 2], [10, 4, 3]), np.repeat([0, 1, 3, -1], [25, 8, 50, 9])
    chosen_new, chosen_original = balanced_images(new, original, rng=rng)
    assert np.bincount(new[chosen_new]).tolist() == [10, 4]
    assert np.bincount(original[chosen_original]).tolist() == [20, 8]
    few_original = np.repeat([0, 1], [5, 50])
    chosen_new, chosen_original = balanced_images(new, few_original, rng=rng)
    assert np.bincount(new[chosen_new]).tolist() == np.bincount(few_original[chosen_original]).tolist() == [5, 4]
    assert [len(part) for part in balanced_images(new, np.array([3]), rng=rng)] == [0, 0]


def test_a_discriminator_needs_enough_images_of_both_kinds():
    rng = np.random.default_rng(5)
    with pytest.raises(UndefinedError, match="too few images"):
        discriminate(np.ones((6, 2)), np.arange(6) < 3, clusters=np.arange(6), rng=rng)
    with pytest.raises(InputError, match="must be"):
        discriminate(np.ones((6, 2)), np.arange(5) < 3, clusters=np.arange(5), rng=rng)
