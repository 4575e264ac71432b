"""Design effects of pairs of models on clustered images, and accuracies over clusters."""

from itertools import product

import numpy as np
import pytest
from clustered_oracle import korn_graubard
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.stats import (
    clustered_best_share,
    clustered_share,
    design_effect,
    design_effects,
    discordant_counts,
    mcnemar,
    paired_share_difference,
    proportion,
    share_design_effect,
)
from regrade.stats.paired import mcnemar_exact, mcnemar_tests, paired_difference, score_bounds


def drawn(seed: int, *, models: int = 4, clusters: int = 30, size: int = 4):
    rng = np.random.default_rng(seed)
    members = np.repeat(np.arange(clusters), size)
    common = rng.normal(size=(models, clusters))[:, members]
    return common + rng.normal(size=(models, len(members))) < 0.5, members


class TestDesignEffectOfAShare:
    def test_by_hand(self):
        """Totals 2, 0, 1 of households of 2, 1, 1: own 1.5; with another of size 1.5 that has all wrong, less."""
        right, clusters = np.array([1, 1, 0, 1]), np.array([7, 7, 2, 5])
        sizes, totals = np.array([1, 1, 2]), np.array([0, 1, 2])
        ratios = []
        for more in ((), (0.0,), (1.5,)):
            w, s = np.append(totals, more), np.append(sizes, (1.5,) * len(more))
            p = w.sum() / s.sum()
            ratios.append(((w - p * s) ** 2).sum() / (s.sum() * p * (1 - p)) * len(s) / (len(s) - 1))
        assert ratios[0] == pytest.approx((0.75**2 + 0.25**2 + 0.5**2) / 0.75 * 1.5)
        assert share_design_effect(right, clusters) == pytest.approx(max(ratios))

    @given(st.integers(0, 9999))
    def test_it_is_at_least_that_of_cluster_robust_least_squares(self, seed):
        import statsmodels.api as sm

        right, members = drawn(seed, models=1)
        fit = sm.OLS(right[0].astype(float), np.ones(120)).fit(cov_type="cluster", cov_kwds={"groups": members})
        share = right[0].mean()
        robust = float(fit.cov_params()[0, 0]) * 120 / (share * (1 - share)) if 0 < share < 1 else 1.0
        effect = share_design_effect(right[0], members)
        assert effect >= robust * 119 / 120 * (1 - 1e-9) and effect <= robust + 4.3

    @given(st.lists(st.booleans(), min_size=1, max_size=30), st.randoms(use_true_random=False))
    def test_one_image_each_is_1_and_order_does_not_matter(self, right, random):
        order = random.sample(range(len(right)), len(right))
        assert share_design_effect(right, order) == 1
        pairs = np.arange(len(right)) // 2
        effect = share_design_effect(right, pairs)
        assert effect >= 1 and share_design_effect(np.array(right)[order], pairs[order]) == pytest.approx(effect)

    def test_copies_count_once(self):
        right = np.random.default_rng(0).random(300) < 0.8
        assert share_design_effect(np.repeat(right, 3), np.arange(900) // 3) == pytest.approx(3, abs=0.05)

    def test_nothing_varies_is_not_certain(self):
        assert share_design_effect(np.ones(40), np.arange(40) // 4) == pytest.approx(4 * 11 / 10)
        assert share_design_effect(np.ones(40), np.zeros(40)) == pytest.approx(80)

    def test_wrong_shapes_raise(self):
        with pytest.raises(InputError, match="3 images but 2"):
            share_design_effect([1, 0, 1], [0, 0])
        with pytest.raises(UndefinedError):
            share_design_effect([], [])


def test_design_effect_by_hand():
    # wins of the first model by household: 2, -1, 0 (one each), 1
    first = np.array([1, 1, 0, 1, 0, 1], dtype=bool)
    second = np.array([0, 0, 1, 0, 1, 0], dtype=bool)
    clusters = np.array([0, 0, 1, 2, 2, 3])
    plain, size = (4 + 1 + 0 + 1) / 6, (4 + 1 + 4 + 1) / 6
    assert design_effect(first, second, clusters) == pytest.approx((6 * plain + size**2) / (6 + size))


def effect_by_signs(first, second, clusters):
    """Oracle: the variance of the wins over all signs of the clusters, over that of as many independent images."""
    wins = [int(first[clusters == home].sum() - second[clusters == home].sum()) for home in np.unique(clusters)]
    totals = [
        sum(sign * win for sign, win in zip(signs, wins, strict=True)) for signs in product((-1, 1), repeat=len(wins))
    ]
    discordant = int((first != second).sum())
    return float(np.var(totals)) / discordant if discordant else 0.0


@given(st.integers(0, 500), st.integers(1, 4))
def test_design_effect_counts_one_more_cluster_that_only_one_model_has_right(seed, size):
    """Oracle: the cluster is appended as images, of the mean size of clusters that all have this size."""
    correct, clusters = drawn(seed, models=2, clusters=8, size=size)
    first, second = correct
    with_another = [np.r_[model, np.full(size, value)] for model, value in ((first, True), (second, False))]
    expected = max(
        effect_by_signs(first, second, clusters), effect_by_signs(*with_another, np.r_[clusters, np.full(size, 99)]), 1
    )
    assert design_effect(first, second, clusters) == pytest.approx(expected)
    assert design_effect(second, first, clusters) == pytest.approx(expected)  # whichever of the two has it right


def test_added_cluster_has_the_size_of_the_cluster_of_a_random_image():
    """Clusters of 1 and 3 images: an image is in one of 1 with chance 1/4, of 3 with 3/4, so 2.5 on average."""
    first, second = np.array([True, False, False, False]), np.zeros(4, dtype=bool)
    assert design_effect(first, second, np.array([0, 1, 1, 1])) == pytest.approx((1 + 2.5**2) / (1 + 2.5))


@pytest.mark.parametrize("chance", [0.1, 0.3])
def test_mcnemar_test_with_design_effects_keeps_its_level(chance):
    """No effect: 60 households, in some of which one of two equally accurate models has most images right."""
    rng, clusters, plain, effective = np.random.default_rng(8), np.arange(240) // 4, [], []
    for _ in range(1000):
        wins = (rng.choice([-1, 1], 60) * (rng.random(60) < chance))[clusters] * (rng.random(240) < 0.9)
        b, c = int((wins > 0).sum()), int((wins < 0).sum())
        plain.append(float(mcnemar(b, c).exact) <= 0.05)
        effect = design_effect(wins > 0, wins < 0, clusters)
        effective.append(float(mcnemar_tests(np.array(b / effect), np.array(c / effect)).exact) <= 0.05)
    assert np.mean(effective) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)
    assert np.mean(plain) > 0.2  # the simulation can tell


def test_design_effects_of_independent_images_are_one():
    correct, _ = drawn(0)
    np.testing.assert_allclose(design_effects(correct, np.arange(correct.shape[1])), 1.0)


def test_design_effect_without_discordant_images_is_the_cluster_size():
    correct = np.tile([True, False, True, True], (2, 5))
    assert design_effect(*correct, np.arange(20) // 4) == 4


@given(st.integers(0, 1000))
def test_repeated_images_count_once(seed):
    """Every image twice in its cluster: the same tests as of the single images, up to the added cluster."""
    correct, _ = drawn(seed, models=2, clusters=200, size=1)
    twice, clusters = np.repeat(correct, 2, axis=1), np.repeat(np.arange(200), 2)
    effect = design_effect(*twice, clusters)
    assert effect == pytest.approx(2)
    counts = discordant_counts(twice) / effect
    single = discordant_counts(correct)
    exact = mcnemar(single[0, 1], single[1, 0]).exact
    assert float(mcnemar_exact(counts[:1, 1], counts[1:, 0])[0]) == pytest.approx(float(exact), abs=1e-9)


def test_effective_test_is_no_smaller_than_the_exact_sign_test_of_clusters():
    """Oracle: all signs of the clusters' wins are equally likely if the models are equally accurate."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 5, 12)
        clusters = np.repeat(np.arange(12), sizes)
        observed = rng.choice([-1, 1], 12)[clusters]
        effect = design_effect(observed > 0, observed < 0, clusters)
        signs = np.array(list(product((-1, 1), repeat=12)))
        wins = signs @ sizes
        b, c = (len(clusters) + wins) / 2 / effect, (len(clusters) - wins) / 2 / effect
        p_values = mcnemar_tests(b, c).exact
        for level in (0.05, 0.01):
            assert (p_values <= level).mean() <= level


def test_effective_counts_of_integers_agree_with_counts():
    b, c = np.array([38, 0, 7]), np.array([21, 0, 7])
    for kind in ("exact", "mid_p", "chi_square", "corrected"):
        np.testing.assert_allclose(getattr(mcnemar_tests(1.0 * b, 1.0 * c), kind), getattr(mcnemar(b, c), kind))
    bounds, plain = (
        score_bounds(1.0 * b, 1.0 * c, np.full(3, 100.0), confidence=0.9),
        paired_difference(b, c, 100, confidence=0.9),
    )
    np.testing.assert_allclose(bounds.low, plain.low)


@given(st.integers(0, 1000), st.sampled_from([0.8, 0.95, 0.99]))
def test_clustered_share_agrees_with_an_independent_computation(seed, confidence):
    correct, clusters = drawn(seed, models=2)
    for scores in (correct[0], correct.mean(axis=0)):
        share = clustered_share(scores, clusters, confidence=confidence)
        assert (share.value, share.low, share.high) == pytest.approx(korn_graubard(scores, clusters, confidence))


def test_clustered_share_of_equal_clusters_is_worth_their_number():
    """Hand-worked: ten clusters, all right: the lower bound is 0.025 to the power of one over the adjusted size."""
    share = clustered_share(np.ones(100), np.arange(100) // 10)
    size = 10 * (stats.t.ppf(0.975, 99) / stats.t.ppf(0.975, 9)) ** 2
    assert (share.low, share.high) == pytest.approx((0.025 ** (1 / size), 1))


@pytest.mark.parametrize("rate", [0.6, 0.9])
def test_clustered_shares_cover(rate):
    """A fixed seed: 40 households of one to nine images, with a correlation of 0.2."""
    rng, clusters = np.random.default_rng(3), np.repeat(np.arange(40), 1 + np.arange(40) % 9)
    chances = rng.beta(4 * rate, 4 * (1 - rate), size=(1000, 40))[:, clusters]
    right = rng.random(chances.shape) < chances
    shares = [clustered_share(row, clusters) for row in right]
    covered = np.mean([share.low <= rate <= share.high for share in shares])
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 1000)
    plain = [proportion(int(row.sum()), len(row)) for row in right]
    assert np.mean([share.low <= rate <= share.high for share in plain]) < 0.9  # the simulation can tell


def test_paired_share_difference_is_that_of_the_counts():
    first, second = np.arange(100) < 70, np.arange(100) >= 10
    plain, bounds = paired_share_difference(first, second), paired_difference(10, 30, 100)
    assert (plain.value, plain.low, plain.high) == pytest.approx((-0.2, float(bounds.low), float(bounds.high)))
    alone = paired_share_difference(first, second, np.arange(100))
    assert (alone.low, alone.high) == pytest.approx((plain.low, plain.high))
    twice = [np.repeat(model, 2) for model in (first, second)]
    clustered = paired_share_difference(*twice, np.arange(200) // 2)
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high), abs=0.002)
    assert (clustered.n, clustered.method) == (200, "clustered paired score 95%")
    with pytest.raises(UndefinedError, match="at least one image"):
        paired_share_difference(first[:0], second[:0])
    with pytest.raises(InputError, match="100 images but 3"):
        paired_share_difference(first, second[:3])


def test_paired_share_differences_over_clusters_cover():
    """A fixed seed: 50 households of one to eight images, which one of two models has right together."""
    rng, clusters = np.random.default_rng(2), np.repeat(np.arange(50), 1 + np.arange(50) % 8)
    covered = []
    for _ in range(600):
        drawn = rng.random(50)[clusters]
        own = rng.random(len(clusters)) < 0.9
        clustered, plain = (
            paired_share_difference((drawn > 0.8) & own, (drawn < 0.1) & own, numbers) for numbers in (clusters, None)
        )
        covered.append([interval.low <= 0.09 <= interval.high for interval in (clustered, plain)])
    shares = np.mean(covered, axis=0)
    assert shares[0] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 600) and shares[1] < 0.85


@given(st.lists(st.booleans(), min_size=2, max_size=60), st.randoms(use_true_random=False))
def test_clustered_share_of_single_images_is_a_proportion(right, random):
    order = random.sample(range(len(right)), len(right))
    share, plain = clustered_share(right, order), proportion(sum(right), len(right))
    assert (share.value, share.low, share.high) == pytest.approx((plain.value, plain.low, plain.high))


def test_single_cluster_says_nothing_of_others():
    share = clustered_share([1, 1, 0], [5, 5, 5])
    assert (share.low, share.high) == (0, 1)


def test_best_of_several_is_wider_than_one_alone():
    correct, clusters = drawn(3)
    best, place = clustered_best_share(correct, clusters), correct.mean(axis=1).argmax()
    alone = clustered_share(correct[place], clusters)
    assert best.value == alone.value and best.low < alone.low and best.high > alone.high
    assert best.method == "clustered korn-graubard for the best of 4 95%"
    assert clustered_best_share(correct[:1], clusters) == clustered_share(correct[0], clusters)


def test_bad_input_raises():
    with pytest.raises(InputError, match="3 images but 2 cluster entries"):
        design_effects(np.ones((2, 3)), [0, 1])
    with pytest.raises(UndefinedError, match="at least one image"):
        clustered_best_share(np.ones((2, 0), dtype=bool), np.zeros(0, dtype=np.int64))
    with pytest.raises(InputError, match="3 values but 2 cluster entries"):
        clustered_share([1, 0, 1], [0, 1])
    with pytest.raises(UndefinedError, match="at least one image"):
        clustered_share([], [])
