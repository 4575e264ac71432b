"""Models of annotators: which answers are right, and how accurate each person is, from votes alone.

In both models an item has one right answer, and people vote independently given it. A *one-coin* reviewer is right with
one probability, and errs to every other answer equally often. In the model of Dawid and Skene (1979) a reviewer has a
probability of every vote for every right answer. Both are fitted by expectation maximization, with priors as if every
reviewer had been right twice and wrong once before (for every right answer, with Dawid and Skene).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import exact_bounds, method_name

_RIGHT, _WRONG = 2.0, 1.0  # votes of each reviewer that the priors stand for
_STEPS, _REDRAWN_STEPS = 200, 25
_TOLERANCE = 1e-7
_DRAWS = 200
_CELLS = 1 << 21  # numbers in memory at a time


@dataclass(frozen=True, eq=False)
class VoteArrays:
    """One entry per vote (v,): the numbers of its item, of its reviewer and of its answer, each from 0."""

    items: IntArray
    reviewers: IntArray
    answers: IntArray

    def __post_init__(self) -> None:
        if not len(self.items) == len(self.reviewers) == len(self.answers):
            raise InputError("items, reviewers and answers of votes must have the same length")
        if not len(self.items):
            raise UndefinedError("there are no votes")

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of items, reviewers and answers."""
        return tuple(int(part.max()) + 1 for part in (self.items, self.reviewers, self.answers))  # type: ignore[return-value]

    def counts(self) -> IntArray:
        """Shape (items, answers): the votes for each answer."""
        items, _, answers = self.shape
        return np.bincount(self.items * answers + self.answers, minlength=items * answers).reshape(items, answers)


@dataclass(frozen=True, eq=False)
class AnnotatorModel:
    """``posterior`` (items, answers) are probabilities of being right, ``accuracies`` (reviewers,) are those of votes.

    ``confusion`` (reviewers, answers, answers) are those of every vote for every right answer.
    """

    posterior: FloatArray
    accuracies: FloatArray
    confusion: FloatArray


_Fit = Callable[[FloatArray], FloatArray]
"""From weighted counts (reviewers, right answers, votes) to probabilities of votes, which sum to 1."""


def one_coin(votes: VoteArrays) -> AnnotatorModel:
    """Fit one accuracy per reviewer.

    >>> votes = VoteArrays(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]]))
    >>> one_coin(votes).posterior.argmax(axis=1).tolist()
    [0, 1]
    """
    return _fitted(votes, _one_accuracy)


def dawid_skene(votes: VoteArrays) -> AnnotatorModel:
    """Fit a confusion matrix per reviewer (Dawid and Skene 1979).

    The accuracy of a reviewer is the mean over right answers, weighted by how often each of them occurs.
    """
    return _fitted(votes, _every_confusion)


def _one_accuracy(counts: FloatArray) -> FloatArray:
    right, size = np.trace(counts, axis1=1, axis2=2), counts.shape[1]
    accuracy = (right + _RIGHT) / (counts.sum(axis=(1, 2)) + _RIGHT + _WRONG)
    wrong = (1 - accuracy) / (size - 1)
    return np.where(np.eye(size, dtype=bool), accuracy[:, None, None], wrong[:, None, None])


def _every_confusion(counts: FloatArray) -> FloatArray:
    size = counts.shape[1]
    prior = np.where(np.eye(size, dtype=bool), _RIGHT, _WRONG / (size - 1))
    probabilities: FloatArray = (counts + prior) / (counts + prior).sum(axis=2, keepdims=True)
    return probabilities


def _fitted(votes: VoteArrays, fit: _Fit) -> AnnotatorModel:
    """Expectation maximization, from the shares of the votes."""
    items, reviewers, answers = votes.shape
    if answers < 2:
        raise UndefinedError("all votes are the same answer: they do not tell who is right")
    counts = votes.counts()
    posterior: FloatArray = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    places = votes.reviewers * answers + votes.answers
    for _ in range(_STEPS):
        columns = [np.bincount(places, row, reviewers * answers) for row in posterior[votes.items].T]
        table: FloatArray = np.array(columns, dtype=np.float64).reshape(answers, reviewers, answers).swapaxes(0, 1)
        confusion, shares = fit(table), (posterior.sum(axis=0) + 1) / (items + answers)
        logs = np.log(confusion)[votes.reviewers, :, votes.answers]
        summed = np.log(shares) + np.stack([np.bincount(votes.items, row, items) for row in logs.T], axis=1)
        updated = np.exp(summed - summed.max(axis=1, keepdims=True))
        updated /= updated.sum(axis=1, keepdims=True)
        change, posterior = np.abs(updated - posterior).max(), updated
        if change < _TOLERANCE:
            break
    return AnnotatorModel(posterior, np.einsum("rkk,k->r", confusion, shares), confusion)


def identified(votes: VoteArrays) -> BoolArray:
    """Shape (reviewers,): the accuracies that the votes determine: of three people who share items two by two.

    From the agreement of two people alone, it does not follow which of them is right more often (Dawid and Skene's
    model needs three independent votes; Allman et al. 2009); the priors would decide.
    """
    items, reviewers, _ = votes.shape
    voted = np.zeros((reviewers, items))
    voted[votes.reviewers, votes.items] = 1
    shares = (voted @ voted.T > 0) & ~np.eye(reviewers, dtype=bool)
    common = shares.astype(np.float64) @ shares
    return np.asarray((shares & (common > 0)).any(axis=1))


def _redrawn(votes: VoteArrays, posterior: FloatArray, weights: FloatArray) -> FloatArray:
    """Shape (d, reviewers): one-coin accuracies with d ``weights`` (d, items) at a time, from a first posterior."""
    items, reviewers, answers = votes.shape
    matches = np.zeros((items, answers, reviewers))
    matches[votes.items, votes.answers, votes.reviewers] = 1.0
    voted, matched = matches.sum(axis=1), matches.reshape(-1, reviewers)
    totals = weights @ voted
    current = np.broadcast_to(posterior, (len(weights), items, answers))
    for _ in range(_REDRAWN_STEPS):
        weighted = current * weights[:, :, None]
        accuracy = (weighted.reshape(len(weights), -1) @ matched + _RIGHT) / (totals + _RIGHT + _WRONG)
        wrong = np.log((1 - accuracy) / (answers - 1))
        logs = ((np.log(accuracy) - wrong) @ matched.T).reshape(len(weights), items, answers)
        logs += np.log((weighted.sum(axis=1) + 1) / (weights.sum(axis=1, keepdims=True) + answers))[:, None]
        current = np.exp(logs - logs.max(axis=2, keepdims=True))
        current /= current.sum(axis=2, keepdims=True)
    return accuracy


def reviewer_accuracies(votes: VoteArrays, *, rng: np.random.Generator, confidence: float = 0.95) -> list[Estimate]:
    """Return the accuracy of every reviewer in the one-coin model, with intervals over items.

    The variance is that over resampled items, which are fitted anew; the interval is that of Clopper and Pearson at the
    sample size it is worth, at most the number of votes. It assumes that the model holds and that items with the same
    right answer are equally hard. There is none for Dawid and Skene's model: its accuracies of good reviewers are too
    small with few items, and such intervals covered only 83 to 88 % of the time for the best reviewer (93 to 97 % for
    the others).
    """
    fitted, items = one_coin(votes), votes.shape[0]
    weights = rng.multinomial(items, np.full(items, 1 / items), size=_DRAWS).astype(np.float64)
    step = max(_CELLS // fitted.posterior.size, 1)
    blocks = [weights[start : start + step] for start in range(0, _DRAWS, step)]
    draws = np.concatenate([_redrawn(votes, fitted.posterior, block) for block in blocks])
    own = np.bincount(votes.reviewers)
    spread = fitted.accuracies * (1 - fitted.accuracies)
    sizes = np.minimum(spread / np.maximum(np.var(draws, axis=0, ddof=1), 1e-12), own)
    bounds = exact_bounds(fitted.accuracies * sizes, sizes, confidence=confidence)
    name = method_name("bootstrap korn-graubard", confidence)
    rows = zip(fitted.accuracies, bounds.low, bounds.high, own, strict=True)
    return [Estimate(float(value), float(low), float(high), int(n), name) for value, low, high, n in rows]
