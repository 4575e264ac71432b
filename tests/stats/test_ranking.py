import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from regrade.core.errors import InputError
from regrade.stats import discordant_counts, holm, rank_intervals, rank_intervals_from_counts, rank_ranges, ranks
from regrade.stats.ranking import order_levels

quick = settings(deadline=None, max_examples=60, derandomize=True)
grids = arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 60)))


def test_ranks_by_hand():
    assert ranks([0.7, 0.9, 0.7, 0.5, 0.9]).tolist() == [3, 1, 3, 5, 1]
    assert ranks([]).tolist() == []


def test_rank_ranges_put_nan_last():
    first, last = rank_ranges([np.nan, 0.2, 0.9, np.nan, 0.2])
    assert first.tolist() == [4, 2, 1, 4, 2]
    assert last.tolist() == [5, 3, 1, 5, 3]
    assert [part.tolist() for part in rank_ranges([np.nan])] == [[1], [1]]
    assert [part.tolist() for part in rank_ranges([])] == [[], []]


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=12))
def test_rank_ranges_agree_with_rankdata(values):
    first, last = rank_ranges(values)
    assert first.tolist() == stats.rankdata(-np.array(values), method="min").tolist()
    assert last.tolist() == stats.rankdata(-np.array(values), method="max").tolist()


@given(values=st.lists(st.integers(0, 8), min_size=1, max_size=20))
@quick
def test_ranks_agree_with_scipy(values):
    assert ranks(values).tolist() == stats.rankdata(-np.array(values), method="min").tolist()


def slow_intervals(correct, confidence):
    """Slow reference: the same construction, pair by pair, with scipy and statsmodels."""
    models = len(correct)
    pairs = [(i, j) for i in range(models) for j in range(models) if i != j]
    p_values = []
    for i, j in pairs:
        wins, losses = int((correct[i] & ~correct[j]).sum()), int((correct[j] & ~correct[i]).sum())
        p_values.append(stats.binomtest(wins, wins + losses, alternative="greater").pvalue if wins + losses else 1.0)
    proven = multipletests(p_values, alpha=1 - confidence, method="holm")[0]
    better = {pair for pair, sure in zip(pairs, proven, strict=True) if sure}
    low = [1 + sum((i, j) in better for i in range(models)) for j in range(models)]
    high = [models - sum((i, j) in better for j in range(models)) for i in range(models)]
    return low, high


def test_two_models_by_hand():
    # 6 wins of 6: p = 1/64, twice for the two directions 1/32 < 0.05; 5 of 5: 1/16 is not
    sure = rank_intervals(np.array([[1] * 6, [0] * 6], dtype=bool))
    assert (sure.rank.tolist(), sure.low.tolist(), sure.high.tolist()) == ([1, 2], [1, 2], [1, 2])
    unsure = rank_intervals(np.array([[1] * 5, [0] * 5], dtype=bool))
    assert (unsure.rank.tolist(), unsure.low.tolist(), unsure.high.tolist()) == ([1, 2], [1, 1], [2, 2])


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_rank_intervals_match_slow_reference(confidence):
    rng = np.random.default_rng(0)
    skills = np.array([0.5, 0.62, 0.65, 0.8, 0.95])
    correct = rng.random((5, 120)) < skills[:, None]
    intervals = rank_intervals(correct, confidence=confidence)
    low, high = slow_intervals(correct, confidence)
    assert (intervals.low.tolist(), intervals.high.tolist()) == (low, high)
    assert low != [1] * 5  # something is proven, or the comparison says nothing
    again = rank_intervals_from_counts(discordant_counts(correct), correct.mean(axis=1), confidence=confidence)
    assert again.low.tolist() == low
    assert again.rank.tolist() == intervals.rank.tolist() == ranks(correct.mean(axis=1)).tolist()


@given(correct=grids)
@quick
def test_rank_intervals_contain_observed_ranks(correct):
    intervals = rank_intervals(correct)
    assert (intervals.low >= 1).all()
    assert (intervals.high <= len(correct)).all()
    assert (intervals.low <= intervals.rank).all()
    assert (intervals.rank <= intervals.high).all()


def all_covered(probabilities, correlation_seed, trials=1500, images=250):
    """Simultaneous coverage of the true ranks over simulated test sets."""
    rng = np.random.default_rng(correlation_seed)
    truth = np.array([1 + sum(q > p for q in probabilities) for p in probabilities])
    hits = 0
    for _ in range(trials):
        shared = 0.5 * rng.standard_normal(images)  # images that are hard for one are hard for all
        noise = np.sqrt(0.75) * rng.standard_normal((len(probabilities), images))
        intervals = rank_intervals(shared + noise < stats.norm.ppf(probabilities)[:, None])
        hits += bool(((intervals.low <= truth) & (truth <= intervals.high)).all())
    return hits / trials


@pytest.mark.parametrize("probabilities", [[0.7] * 6, [0.6, 0.6, 0.7, 0.7, 0.8, 0.8], [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]])
def test_rank_intervals_cover_simultaneously(probabilities):
    assert all_covered(np.array(probabilities), 3) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 1500)


def test_equal_models_share_every_rank_and_clear_ones_are_told_apart():
    rng = np.random.default_rng(0)
    same = rng.random(2000) < 0.7
    intervals = rank_intervals(np.stack([same, same, rng.random(2000) < 0.3]))
    assert intervals.rank.tolist() == [1, 1, 3]
    assert intervals.low.tolist() == [1, 1, 3]
    assert intervals.high.tolist() == [2, 2, 3]


def test_one_model_has_rank_one_and_bad_confidence_raises():
    alone = rank_intervals(np.ones((1, 4), dtype=bool))
    assert (alone.rank.tolist(), alone.low.tolist(), alone.high.tolist()) == ([1], [1], [1])
    with pytest.raises(InputError, match="confidence"):
        rank_intervals(np.ones((2, 4), dtype=bool), confidence=95)


def test_counts_of_a_million_images_keep_their_precision():
    counts = np.array([[0, 500_900], [499_100, 0]])
    p = stats.binom.sf(500_899, 1_000_000, 0.5)
    assert 2 * p > 0.05 and p < 0.05  # Holm must not stop at the one-sided level
    assert rank_intervals_from_counts(counts, [0.6, 0.5]).high.tolist() == [2, 2]
    counts = np.array([[0, 501_100], [498_900, 0]])
    assert rank_intervals_from_counts(counts, [0.6, 0.5]).high.tolist() == [1, 2]


class TestOrderLevels:
    def test_order_levels_by_hand(self):
        # 6 one-sided tests; the first pair, 40 to 0, rejects: 5 are left, and its own besides
        levels = order_levels(np.array([40, 12, 11]), np.array([0, 10, 12]))
        assert levels.tolist() == pytest.approx([2 * 0.05 / 6, 2 * 0.05 / 5, 2 * 0.05 / 5])
        assert order_levels(np.array([9]), np.array([0])).tolist() == pytest.approx([0.05])

    @given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=10))
    @quick
    def test_order_levels_are_the_holm_thresholds(self, counts):
        wins, losses = np.array(counts).T
        one_sided = stats.binom.cdf(np.minimum(wins, losses), wins + losses, 0.5)
        opposite = stats.binom.cdf(np.maximum(wins, losses), wins + losses, 0.5)
        levels = order_levels(wins, losses)
        for row in np.flatnonzero(holm(np.concatenate([one_sided, opposite]))[: len(levels)] > 0.05):
            for factor, shown in ((0.999, True), (1.001, False)):
                changed = one_sided.copy()
                changed[row] = factor * levels[row] / 2
                assert (holm(np.concatenate([changed, opposite]))[row] <= 0.05 + 1e-12) == shown
