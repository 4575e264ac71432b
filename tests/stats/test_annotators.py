"""Models of annotators: by hand, against a restatement in plain loops, recovery of accuracies, degenerate votes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from regrade.core import InputError, UndefinedError
from regrade.stats import VoteArrays, dawid_skene, identified, one_coin, reviewer_accuracies


def votes_of(*items: str) -> VoteArrays:
    """VoteArrays by item, one letter per person; a dot is no vote."""
    rows = [
        (item, person, ord(letter) - ord("a"))
        for item, letters in enumerate(items)
        for person, letter in enumerate(letters)
        if letter != "."
    ]
    return VoteArrays(*np.array(rows).T)


def simulated(rng, items, accuracies, shares):
    truth = rng.choice(len(shares), items, p=shares)
    wrong = rng.random((len(accuracies), items)) > np.array(accuracies)[:, None]
    answers = (truth + wrong * rng.integers(1, len(shares), wrong.shape)) % len(shares)
    reviewers, numbers = np.indices(answers.shape)
    return truth, VoteArrays(numbers.ravel(), reviewers.ravel(), answers.ravel())


def oracle(votes: VoteArrays, *, full: bool, steps: int = 200):
    """Both models in plain loops over votes, with the priors written out."""
    items, reviewers, size = votes.shape
    rows = list(zip(votes.items.tolist(), votes.reviewers.tolist(), votes.answers.tolist(), strict=True))
    posterior = [[0.0] * size for _ in range(items)]
    for item, _, answer in rows:
        posterior[item][answer] += 1 / sum(row[0] == item for row in rows)
    for _ in range(steps):
        table = [[[0.0] * size for _ in range(size)] for _ in range(reviewers)]
        for item, reviewer, answer in rows:
            for right in range(size):
                table[reviewer][right][answer] += posterior[item][right]
        chances = []
        for of_reviewer in table:
            right, total = sum(of_reviewer[k][k] for k in range(size)), sum(map(sum, of_reviewer))
            p = (right + 2) / (total + 3)
            coin = [[p if k == answer else (1 - p) / (size - 1) for answer in range(size)] for k in range(size)]
            matrix = [
                [(row[answer] + (2 if k == answer else 1 / (size - 1))) / (sum(row) + 3) for answer in range(size)]
                for k, row in enumerate(of_reviewer)
            ]
            chances.append(matrix if full else coin)
        shares = [(sum(row[k] for row in posterior) + 1) / (items + size) for k in range(size)]
        for item in range(items):
            weights = [
                shares[k] * math.prod(chances[r][k][answer] for i, r, answer in rows if i == item) for k in range(size)
            ]
            posterior[item] = [weight / sum(weights) for weight in weights]
    return np.array(posterior)


@pytest.mark.parametrize(("model", "full"), [(one_coin, False), (dawid_skene, True)])
def test_model_agrees_with_plain_loops(model, full):
    votes = votes_of("aaa", "aab", "bbb", "bba", "cca", "cbc", "a.b", "bb.", "c..")
    np.testing.assert_allclose(model(votes).posterior, oracle(votes, full=full), atol=1e-5)


@pytest.mark.parametrize(("model", "full"), [(one_coin, False), (dawid_skene, True)])
def test_models_with_answers_that_most_items_do_not_have(model, full):
    """12 answers, of which an item has at most 3; the items numbered 1 and 6 have no votes."""
    votes = votes_of("aab", "...", "bbb", "cdd", "eef", "gfg", "...", "hhi", "jkk", "l.l", "aaa", "bb.")
    np.testing.assert_allclose(model(votes).posterior, oracle(votes, full=full), atol=1e-5)


@pytest.mark.parametrize("model", [one_coin, dawid_skene])
def test_many_votes_on_an_item_do_not_overflow(model):
    fitted = model(votes_of("a" * 400, "b" * 399 + "a", "c" * 400, "b" * 200 + "c" * 200))
    assert fitted.posterior[:3].argmax(axis=1).tolist() == [0, 1, 2]
    np.testing.assert_allclose(fitted.posterior.sum(axis=1), 1)


def test_one_step_by_hand():
    """Two reviewers agree on a and on b: three of three right votes each with the prior, shares one half."""
    model = one_coin(votes_of("aa", "bb"))
    accuracy = model.accuracies[0]
    assert accuracy == pytest.approx((2 * model.posterior[0, 0] + 2) / 5, abs=1e-5)
    odds = (accuracy / (1 - accuracy)) ** 2
    assert model.posterior[0, 0] == pytest.approx(odds / (1 + odds), abs=1e-5)


@pytest.mark.parametrize("model", [one_coin, dawid_skene])
def test_known_accuracies_are_recovered(model):
    accuracies = [0.95, 0.85, 0.6, 0.75]
    truth, votes = simulated(np.random.default_rng(2), 3000, accuracies, (0.5, 0.3, 0.2))
    fitted = model(votes)
    np.testing.assert_allclose(fitted.accuracies, accuracies, atol=0.03)
    majority = votes.counts().argmax(axis=1)
    assert (fitted.posterior.argmax(axis=1) == truth).mean() > (majority == truth).mean()


def test_dawid_skene_learns_who_answers_one_class_only():
    rng = np.random.default_rng(4)
    truth, votes = simulated(rng, 600, [0.85, 0.8, 0.8, 0.8], (0.5, 0.5))
    answers = np.where(votes.reviewers == 3, 0, votes.answers)
    fourth = dawid_skene(VoteArrays(votes.items, votes.reviewers, answers))
    three = votes.reviewers < 3
    without = dawid_skene(VoteArrays(votes.items[three], votes.reviewers[three], votes.answers[three]))
    np.testing.assert_allclose(fourth.posterior, without.posterior, atol=0.02)
    assert fourth.accuracies[3] == pytest.approx((truth == 0).mean(), abs=0.05)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_names_of_items_people_and_answers_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    _, votes = simulated(rng, 12, [0.9, 0.7, 0.8], (0.5, 0.3, 0.2))
    items, people, answers = rng.permutation(12), rng.permutation(3), np.array([2, 0, 1])
    if votes.shape[2] < 3:
        return
    renamed = VoteArrays(items[votes.items], people[votes.reviewers], answers[votes.answers])
    for model in (one_coin, dawid_skene):
        plain, other_names = model(votes), model(renamed)
        np.testing.assert_allclose(other_names.posterior[items][:, answers], plain.posterior, atol=1e-5)
        np.testing.assert_allclose(plain.posterior.sum(axis=1), 1)


class TestIdentified:
    def test_three_people_who_share_items_two_by_two(self):
        assert identified(votes_of("aa.", ".ab", "a.b")).tolist() == [True, True, True]

    def test_two_people_or_a_chain_are_not(self):
        assert not identified(votes_of("aa", "ab")).any()
        assert not identified(votes_of("aa.", ".ab")).any()

    def test_person_who_votes_alone(self):
        assert identified(votes_of("aaa.", "aba.", "...b")).tolist() == [True, True, True, False]


class TestAccuracies:
    def test_interval_contains_the_value_and_is_reproducible(self):
        _, votes = simulated(np.random.default_rng(1), 80, [0.9, 0.8, 0.7], (0.5, 0.3, 0.2))
        first, again = (reviewer_accuracies(votes, rng=np.random.default_rng(3)) for _ in range(2))
        assert first == again
        for estimate, value in zip(first, one_coin(votes).accuracies, strict=True):
            assert estimate.low < estimate.value < estimate.high and estimate.n == 80
            assert estimate.value == pytest.approx(value)

    def test_interval_agrees_with_refitted_items(self):
        """The bootstrap restated: items are repeated as often as they are drawn, and the beta quantiles are scipy's."""
        _, votes = simulated(np.random.default_rng(8), 40, [0.9, 0.8, 0.7], (0.5, 0.3, 0.2))
        drawn = np.random.default_rng(3).multinomial(40, np.full(40, 1 / 40), size=200)
        by_item = [np.flatnonzero(votes.items == item) for item in range(40)]
        refitted = []
        for counts in drawn:
            chosen = [by_item[item] for item in np.repeat(np.arange(40), counts)]
            places, numbers = np.concatenate(chosen), np.repeat(np.arange(40), 3)
            refitted.append(one_coin(VoteArrays(numbers, votes.reviewers[places], votes.answers[places])).accuracies)
        variances = np.var(refitted, axis=0, ddof=1)
        estimates = reviewer_accuracies(votes, rng=np.random.default_rng(3))
        for estimate, value, variance in zip(estimates, one_coin(votes).accuracies, variances, strict=True):
            size = min(value * (1 - value) / variance, 40)
            low = beta.ppf(0.025, value * size, (1 - value) * size + 1)
            high = beta.ppf(0.975, value * size + 1, (1 - value) * size)
            assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.01)

    def test_perfect_agreement_is_not_certain(self):
        estimates = reviewer_accuracies(votes_of(*["aaa", "bbb"] * 10), rng=np.random.default_rng(0))
        assert all(0.75 < estimate.low < estimate.value < 1 for estimate in estimates)


def test_votes_that_tell_nothing_raise():
    with pytest.raises(UndefinedError, match="all votes are the same answer"):
        one_coin(votes_of("aaa", "aa."))
    with pytest.raises(UndefinedError, match="no votes"):
        VoteArrays(*np.zeros((3, 0), dtype=np.int64))
    with pytest.raises(InputError, match="same length"):
        VoteArrays(np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64))
