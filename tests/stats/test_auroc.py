"""Tests of AUROC over models: by hand, against slow references and scipy, properties, and coverage by simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.stats import auroc_difference, mean_auroc, rank_errors

SCORES = hnp.arrays(np.float64, 12, elements=st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]))
WRONG = hnp.arrays(bool, (3, 12))


def slow(scores, wrong):
    """Over all pairs of an error and a correct prediction."""
    pairs = [(scores[i], scores[j]) for i in np.flatnonzero(wrong) for j in np.flatnonzero(~wrong)]
    return np.mean([(a > b) + 0.5 * (a == b) for a, b in pairs])


def delong(scores, wrong):
    """The variance in the words of DeLong et al. 1988: variances of structural components."""
    bad, good = scores[wrong], scores[~wrong]
    compared = (bad[:, None] > good) + 0.5 * (bad[:, None] == good)
    parts = ((compared.mean(axis=1), len(bad)), (compared.mean(axis=0), len(good)))
    return sum(components.var(ddof=1) / size for components, size in parts if size > 1)


def test_by_hand():
    """Errors score 3 and 1, correct predictions 2, 1 and 0: 3 + 1.5 of 6 pairs are in order."""
    scores, wrong = [3, 1, 2, 1, 0], [True, True, False, False, False]
    ranking = rank_errors(scores, wrong)
    assert (ranking.value, ranking.images, ranking.models, ranking.rarer) == (0.75, 5, 1, 2)
    # an error: (share below - 0.75) / sqrt(2 * 1); a correct prediction: (share above - 0.75) / sqrt(3 * 2)
    expected = [0.25 / 2**0.5, -0.25 / 2**0.5, -0.25 / 6**0.5, 0, 0.25 / 6**0.5]
    assert ranking.influence == pytest.approx(expected)
    second = rank_errors([0, 3, 1, 2, 4], wrong)  # 0 + 2 of 6
    assert auroc_difference(ranking, second).value == pytest.approx(0.75 - 1 / 3)


@given(SCORES, WRONG)
@settings(deadline=None)
def test_mean_auroc_matches_slow_reference(scores, wrong):
    usable = [row for row in wrong if row.any() and not row.all()]
    if not usable:
        with pytest.raises(UndefinedError, match="no model has both"):
            rank_errors(scores, wrong)
        return
    ranking = rank_errors(scores, wrong)
    assert ranking.value == pytest.approx(np.mean([slow(scores, row) for row in usable]))
    for row in usable:
        test = stats.mannwhitneyu(scores[row], scores[~row])
        assert rank_errors(scores, row).value == pytest.approx(test.statistic / row.sum() / (~row).sum())
        assert (rank_errors(scores, row).influence ** 2).sum() == pytest.approx(delong(scores, row))


@given(SCORES, WRONG)
@settings(deadline=None)
def test_mean_auroc_of_the_opposite_score_is_the_rest(scores, wrong):
    wrong[:, :2] = [True, False]
    ranking, opposite = rank_errors(scores, wrong), rank_errors(-scores, wrong)
    assert ranking.value + opposite.value == pytest.approx(1)
    stretched = rank_errors(np.exp(scores), wrong)  # only ranks matter
    assert stretched.value == ranking.value
    difference = auroc_difference(ranking, stretched)
    assert difference.value == 0 and difference.low < 0 < difference.high
    estimate = mean_auroc(ranking)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1 and estimate.low < estimate.high


@given(SCORES, WRONG, hnp.arrays(bool, 12))
@settings(deadline=None)
def test_images_that_do_not_count_do_not_matter(scores, wrong, counted):
    counted[:2], wrong[:, :2] = True, [True, False]
    inside = np.tile(counted, (3, 1))
    ranking = rank_errors(np.where(counted, scores, np.nan), wrong, inside)
    kept = rank_errors(scores[counted], wrong[:, counted])
    assert ranking.value == pytest.approx(kept.value)
    assert ranking.images == counted.sum()
    assert ranking.influence[counted] == pytest.approx(kept.influence) and not ranking.influence[~counted].any()


def test_perfect_ranking_is_not_certain():
    estimate = mean_auroc(rank_errors(np.arange(10), np.arange(10) >= 5))
    assert estimate.value == 1 and estimate.high == 1
    assert estimate.low == pytest.approx(0.025 ** (1 / 5))  # five images without a failure


@pytest.mark.parametrize(
    ("scores", "wrong", "message"),
    [([1.0, 2.0], [True], "do not match"), ([1.0, np.nan], [True, False], "finite scores")],
)
def test_invalid_input_raises(scores, wrong, message):
    with pytest.raises(InputError, match=message):
        rank_errors(scores, wrong)


def test_difference_requires_the_same_images_and_models():
    first, second = rank_errors([1, 2], [True, False]), rank_errors([1, 2, 3], [True, False, True])
    with pytest.raises(InputError, match="same images"):
        auroc_difference(first, second)
