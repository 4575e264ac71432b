"""Design effects of pairs of models on clustered images, and accuracies over clusters."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import InputError, UndefinedError
from regrade.stats import (
    clustered_best_share,
    clustered_proportion,
    clustered_share,
    design_effect,
    design_effects,
    discordant_counts,
    mcnemar,
)
from regrade.stats.paired import mcnemar_exact, mcnemar_tests, paired_difference, score_bounds


def drawn(seed: int, *, models: int = 4, clusters: int = 30, size: int = 4):
    rng = np.random.default_rng(seed)
    members = np.repeat(np.arange(clusters), size)
    common = rng.normal(size=(models, clusters))[:, members]
    return common + rng.normal(size=(models, len(members))) < 0.5, members


def test_design_effect_by_hand():
    # wins of the first model by household: 2, -1, 0 (one each), 1
    first = np.array([1, 1, 0, 1, 0, 1], dtype=bool)
    second = np.array([0, 0, 1, 0, 1, 0], dtype=bool)
    clusters = np.array([0, 0, 1, 2, 2, 3])
    plain, size = (4 + 1 + 0 + 1) / 6, (4 + 1 + 4 + 1) / 6
    assert design_effect(first, second, clusters) == pytest.approx((6 * plain + size**2) / (6 + size))


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


@given(st.integers(0, 1000))
def test_clustered_share_agrees_with_clustered_proportion(seed):
    correct, clusters = drawn(seed, models=1)
    share, oracle = clustered_share(correct[0], clusters), clustered_proportion(correct[0], clusters)[0]
    assert (share.value, share.n) == pytest.approx((oracle.value, oracle.n))
    assert (share.low, share.high) == pytest.approx((oracle.low, oracle.high))


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
