"""Similarity of models on images of households: single images, copies, a bootstrap of households, and one household."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.calibration.households import correct_in_households, households
from regrade.stats import covariance_sizes, kappa_sizes
from regrade.studies import Basis, SameImages, similarity_of

MATRICES = ("kappa", "agreement", "dominance", "excess")


def similar(correct, clusters=None):
    names, images = tuple(f"m{i}" for i in range(len(correct))), correct.shape[1]
    novel = np.zeros(len(names), dtype=np.int64)
    spaces, classes = ("space",) * len(names), correct.astype(np.int16)
    aligned = SameImages(Basis("set", images), names, correct, classes, spaces, novel, images=np.arange(images))
    return similarity_of(aligned, clusters)


def bounds(result):
    matrices = [getattr(result, name) for name in MATRICES]
    accuracies = [(part.value, part.low, part.high) for part in result.accuracies]
    return np.concatenate([np.ravel([part.value, part.low, part.high]) for part in matrices] + [np.ravel(accuracies)])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 9999))
def test_clusters_of_one_image_change_nothing(seed):
    rng = np.random.default_rng(seed)
    correct = rng.random((4, 60)) < rng.uniform(0.5, 1.0, (4, 1))
    single = bounds(similar(correct, rng.permutation(60)))
    assert single == pytest.approx(bounds(similar(correct)), nan_ok=True)


def test_images_three_times_in_their_household_count_once():
    rng, copies = np.random.default_rng(1), np.repeat(np.arange(200), 3)
    correct = rng.random((3, 200)) < np.array([[0.6], [0.75], [0.9]])
    once, copied = bounds(similar(correct)), bounds(similar(correct[:, copies], copies))
    assert copied == pytest.approx(once, abs=0.004)
    assert bounds(similar(correct[:, copies])) != pytest.approx(once, abs=0.03)


def test_widths_are_those_of_a_bootstrap_of_households():
    rng = np.random.default_rng(2)
    homes = households(rng, 300)
    correct = correct_in_households(rng, np.array([0.65, 0.8]), homes)
    result, plain = similar(correct, homes), similar(correct)
    places = [np.flatnonzero(homes == number) for number in range(300)]
    drawn = [np.concatenate([places[part] for part in rng.integers(0, 300, 300)]) for _ in range(300)]
    again = [similar(correct[:, take]) for take in drawn]
    for name in MATRICES:
        matrix, unclustered = getattr(result, name), getattr(plain, name)
        half_width = (matrix.high - matrix.low)[0, 1] / 2
        values = [getattr(row, name).value[0, 1] for row in again]
        assert 0.9 < half_width / (1.96 * np.std(values)) < 1.3
        assert half_width > 1.05 * (unclustered.high - unclustered.low)[0, 1] / 2
        assert matrix.value[0, 1] == unclustered.value[0, 1]
    assert result.kappa.method == "clustered delta, adjusted 95%"
    assert result.agreement.method == "clustered clopper-pearson 95%"


def test_intervals_contain_their_values_in_any_households():
    rng = np.random.default_rng(3)
    for _ in range(100):
        homes = households(rng, int(rng.integers(2, 9)))
        result = similar(rng.random((3, len(homes))) < rng.uniform(0, 1, (3, 1)), homes)
        for matrix in (getattr(result, name) for name in MATRICES):
            defined = np.isfinite(matrix.value)
            assert (matrix.low <= matrix.value)[defined].all() and (matrix.value <= matrix.high)[defined].all()


def test_single_household_says_nothing_of_others():
    correct = np.arange(40) % np.array([[3], [4]]) > 0
    result = similar(correct, np.zeros(40, dtype=int))
    assert (result.kappa.low[0, 1], result.kappa.high[0, 1]) == (-1.0, 1.0)
    assert (result.excess.low[0, 1], result.excess.high[0, 1]) == (-0.25, 0.25)
    assert (result.agreement.low[0, 1], result.agreement.high[0, 1]) == (0.0, 1.0)
    assert (result.accuracies[0].low, result.accuracies[0].high) == (0.0, 1.0)


def test_sizes_by_hand():
    """The influence on the covariance is 1/4 where both or neither is right, and -1/4 elsewhere; kappa's is 4 times it.

    Totals of two households of four are 1 and -1, and one more of the largest influence has 1: 3 / (1/2 + 1/4) = 4.
    """
    correct = np.array([[1, 1, 0, 0, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0, 1, 1]], dtype=bool)
    homes = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    few = (2.3646242515927844 / 12.706204736432095) ** 2  # quantiles of t for 8 images and 2 households
    for sizes in (covariance_sizes(correct, homes), kappa_sizes(correct, homes)):
        assert sizes[0, 1] == pytest.approx(8 / 4 * few)
