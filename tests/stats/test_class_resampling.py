import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core.errors import InputError, UndefinedError
from regrade.stats import class_bootstrap

quick = settings(deadline=None, max_examples=40, derandomize=True)


def grid(seed=0, models=3, images=200, classes=12):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=images)
    rates = rng.random(classes)
    return rng.random((models, images)) < rates[labels], labels


def test_the_change_by_hand():
    # 4 of 6 right overall; on class 2 both of 2: the change is 1 - 2/3
    correct = np.array([[1, 0, 1, 0, 1, 1]], dtype=bool)
    labels = np.array([0, 0, 1, 1, 2, 2])
    result = class_bootstrap(correct, labels, np.array([2]), class_count=3, rng=np.random.default_rng(0), trials=3000)
    assert result.change.tolist() == pytest.approx([1 / 3])
    # one class of three is drawn: a third of the draws reach the change, ties included, and all are at most that
    assert result.p_value[0] == pytest.approx(2 / 3, abs=8 * np.sqrt(2 / 9 / 3000))
    assert result.p_value[0] * 3001 == pytest.approx(round(result.p_value[0] * 3001))
    assert (result.low[0], result.high[0]) == pytest.approx((1 / 2 - 2 / 3, 1 - 2 / 3))
    assert result.trials == 3000


def slow_changes(correct, labels, size):
    """The change of every model for every set of as many classes: (m, sets)."""
    present = sorted(set(labels.tolist()))
    sets = [np.isin(labels, chosen) for chosen in itertools.combinations(present, size)]
    return np.array([[row[inside].mean() - row.mean() for inside in sets] for row in correct])


def test_agrees_with_all_sets_of_classes():
    correct, labels = grid(classes=8)
    chosen = np.array([1, 4, 6])
    trials = 4000
    result = class_bootstrap(correct, labels, chosen, class_count=8, rng=np.random.default_rng(0), trials=trials)
    everything = slow_changes(correct, labels, 3)
    inside = np.isin(labels, chosen)
    change = [row[inside].mean() - row.mean() for row in correct]
    np.testing.assert_allclose(result.change, change, atol=1e-12)
    at_least, at_most = ((sign * (everything - np.array(change)[:, None]) >= -1e-12).mean(axis=1) for sign in (1, -1))
    expected = np.minimum(2 * np.minimum(at_least, at_most), 1)
    np.testing.assert_allclose(result.p_value, expected, atol=8 * np.sqrt(0.25 / trials))
    low, high = np.quantile(everything, [0.025, 0.975], axis=1)
    np.testing.assert_allclose(result.low, low, atol=0.03)
    np.testing.assert_allclose(result.high, high, atol=0.03)


def test_agrees_with_a_loop_over_the_same_draws():
    correct, labels = grid(classes=8)
    draws = np.argsort(np.random.default_rng(4).random((500, 8)), axis=1)[:, :3]
    drawn = np.array([[row[np.isin(labels, chosen)].mean() - row.mean() for chosen in draws] for row in correct])
    result = class_bootstrap(
        correct, labels, np.array([0, 3, 5]), class_count=8, rng=np.random.default_rng(4), trials=500
    )
    np.testing.assert_allclose([result.low, result.high], np.quantile(drawn, [0.025, 0.975], axis=1))
    beyond = drawn - result.change[:, None]
    smaller = np.minimum((beyond >= -1e-12).sum(axis=1), (beyond <= 1e-12).sum(axis=1))
    np.testing.assert_allclose(result.p_value, np.minimum(2 * (1 + smaller) / 501, 1))


@given(seed=st.integers(0, 10**6), size=st.integers(1, 12))
@quick
def test_bounds_and_probabilities(seed, size):
    correct, labels = grid(seed)
    chosen = np.random.default_rng(seed).permutation(12)[:size]
    result = class_bootstrap(correct, labels, chosen, class_count=12, rng=np.random.default_rng(seed), trials=99)
    assert ((result.p_value >= 1 / 100) & (result.p_value <= 1)).all()
    assert (result.low <= result.high).all()
    flipped = class_bootstrap(~correct, labels, chosen, class_count=12, rng=np.random.default_rng(seed), trials=99)
    np.testing.assert_allclose(flipped.change, -result.change, atol=1e-12)
    np.testing.assert_allclose(flipped.low, -result.high, atol=1e-12)
    np.testing.assert_allclose(flipped.p_value, result.p_value)  # a fall is as rare as a rise


def test_choosing_all_classes_has_change_0_and_p_value_1():
    correct, labels = grid()
    result = class_bootstrap(correct, labels, np.arange(12), class_count=12, rng=np.random.default_rng(0))
    np.testing.assert_allclose(result.change, 0, atol=1e-12)
    assert result.p_value.tolist() == [1, 1, 1]
    np.testing.assert_allclose([result.low, result.high], 0, atol=1e-12)


def test_classes_without_images_are_neither_drawn_nor_counted():
    correct, labels = grid(classes=6)
    spread = np.array([3, 10, 11, 50, 51, 99])[labels]
    dense = class_bootstrap(correct, labels, np.array([1, 2]), class_count=6, rng=np.random.default_rng(1))
    sparse = class_bootstrap(correct, spread, np.array([10, 11, 70]), class_count=100, rng=np.random.default_rng(1))
    for name in ("change", "p_value", "low", "high"):
        np.testing.assert_allclose(getattr(dense, name), getattr(sparse, name))


def test_random_choices_have_nominal_rejection_rate():
    rng = np.random.default_rng(5)
    correct, labels = grid(models=1, images=600, classes=40)
    p = [
        class_bootstrap(correct, labels, rng.permutation(40)[:25], class_count=40, rng=rng, trials=199).p_value[0]
        for _ in range(800)
    ]
    assert np.mean(np.array(p) <= 0.1) == pytest.approx(0.1, abs=3 * np.sqrt(0.09 / 800))


def test_the_same_generator_gives_the_same_result():
    correct, labels = grid()
    first, second = (
        class_bootstrap(correct, labels, np.array([0, 1]), class_count=12, rng=np.random.default_rng(9))
        for _ in range(2)
    )
    assert first.p_value.tolist() == second.p_value.tolist()


def test_class_bootstrap_raises_if_undefined():
    correct, labels = grid()
    rng = np.random.default_rng(0)
    with pytest.raises(UndefinedError, match="none of the chosen"):
        class_bootstrap(correct, labels, np.array([77]), class_count=100, rng=rng)
    with pytest.raises(InputError, match="shape"):
        class_bootstrap(correct[0], labels, np.array([1]), class_count=12, rng=rng)
    with pytest.raises(InputError, match="shape"):
        class_bootstrap(correct[:, :-1], labels, np.array([1]), class_count=12, rng=rng)
