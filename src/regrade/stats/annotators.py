"""Models of annotators: which answers are right, and how accurate each person is, from votes alone.

In both models an item has one right answer, and people vote independently given it. A *one-coin* reviewer is right with
one probability, and errs to every other answer equally often. In the model of Dawid and Skene (1979) a reviewer has a
probability of every vote for every right answer. Both are fitted by expectation maximization, with priors as if every
reviewer had been right twice and wrong once before (for every right answer, with Dawid and Skene).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import exact_bounds, method_name

if TYPE_CHECKING:
    from scipy import sparse

_RIGHT, _WRONG = 2.0, 1.0  # votes of each reviewer that the priors stand for
_STEPS, _REDRAWN_STEPS = 200, 25
_TOLERANCE = 1e-7
_DRAWS = 200
_NUMBERS = 1 << 18  # in one array of resampled items
_ALL_THE_SAME = "all votes are the same answer: they do not tell who is right"


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
    """``posterior`` (items, answers) has probabilities of being right, ``accuracies`` (reviewers,) those of votes."""

    posterior: FloatArray
    accuracies: FloatArray


def one_coin(votes: VoteArrays) -> AnnotatorModel:
    """Fit one accuracy per reviewer.

    >>> votes = VoteArrays(*np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]]))
    >>> one_coin(votes).posterior.argmax(axis=1).tolist()
    [0, 1]
    """
    cells = _Cells.of(votes)
    fitted, accuracies = _fitted_coins(cells)
    posterior = fitted.rest * fitted.shares[:, 0]
    posterior[cells.items, cells.answers] = fitted.voted[:, 0]
    return AnnotatorModel(posterior, accuracies)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The c pairs of an item and an answer that have votes, sorted by item.

    In the one-coin model all other answers to an item are alike, but for how frequent they are: the fit needs their
    factor only. ``of_reviewer`` (c, reviewers) are votes, ``of_item`` (items, c) and ``of_answer`` (answers, c) sums.
    """

    items: IntArray
    answers: IntArray
    of_reviewer: sparse.csr_array
    of_item: sparse.csr_array
    of_answer: sparse.csr_array

    @classmethod
    def of(cls, votes: VoteArrays) -> _Cells:
        items, reviewers, answers = votes.shape
        if answers < 2:
            raise UndefinedError(_ALL_THE_SAME)
        pairs, cell_of_vote = np.unique(votes.items * answers + votes.answers, return_inverse=True)
        of_items, of_answers = np.divmod(pairs, answers)
        return cls(
            of_items,
            of_answers,
            _incidence(cell_of_vote, votes.reviewers, (len(pairs), reviewers)),
            _incidence(of_items, np.arange(len(pairs)), (items, len(pairs))),
            _incidence(of_answers, np.arange(len(pairs)), (answers, len(pairs))),
        )


def _incidence(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> sparse.csr_array:
    """A sparse matrix (rows, columns) of counts."""
    from scipy import sparse  # slow to import

    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


@dataclass(frozen=True, eq=False)
class _Posteriors:
    """Of d fits: ``voted`` (c, d) for answers with votes; others have ``rest`` (items, d) * ``shares`` (answers, d)."""

    voted: FloatArray
    rest: FloatArray
    shares: FloatArray


def _fitted_coins(cells: _Cells) -> tuple[_Posteriors, FloatArray]:
    """One posterior, and accuracies (reviewers,), from the shares of the votes."""
    items, answers = cells.of_item.shape[0], cells.of_answer.shape[0]
    counts = cells.of_reviewer.sum(axis=1)
    first = counts / (cells.of_item @ counts)[cells.items]
    fitted, weights = _Posteriors(first[:, None], np.zeros((items, 1)), np.ones((answers, 1))), np.ones((items, 1))
    for _ in range(_STEPS):
        before = fitted.voted
        accuracies, fitted = _step(cells, weights, fitted)
        if np.abs(fitted.voted - before).max() < _TOLERANCE:
            break
    return fitted, accuracies[:, 0]


def _step(cells: _Cells, weights: FloatArray, posteriors: _Posteriors) -> tuple[FloatArray, _Posteriors]:
    """Accuracies (reviewers, d) from d posteriors with ``weights`` (items, d), and the posteriors that follow."""
    voted, rest = weights[cells.items] * posteriors.voted, weights * posteriors.rest
    votes = cells.of_reviewer.T @ weights[cells.items]
    accuracies = (cells.of_reviewer.T @ voted + _RIGHT) / (votes + _RIGHT + _WRONG)
    as_if_others = rest[cells.items] * posteriors.shares[cells.answers]
    right = posteriors.shares * rest.sum(axis=0) + cells.of_answer @ (voted - as_if_others)
    shares = (np.maximum(right, 0.0) + 1) / (weights.sum(axis=0) + len(right))
    return accuracies, _posteriors(cells, accuracies, shares)


def _posteriors(cells: _Cells, accuracies: FloatArray, shares: FloatArray) -> _Posteriors:
    """Posteriors by Bayes' rule, from accuracies (reviewers, d) and shares of right answers (answers, d)."""
    logs = cells.of_reviewer @ (np.log(accuracies) - np.log((1 - accuracies) / (len(shares) - 1)))
    first_cells = np.flatnonzero(np.diff(cells.items, prepend=-1))
    largest = np.zeros((cells.of_item.shape[0], logs.shape[1]))
    largest[cells.items[first_cells]] = np.maximum(np.maximum.reduceat(logs, first_cells), 0.0)
    of_cells = shares[cells.answers]
    voted, rest = np.exp(logs - largest[cells.items]) * of_cells, np.exp(-largest)
    total = cells.of_item @ voted + rest * np.maximum(1 - cells.of_item @ of_cells, 0.0)
    return _Posteriors(voted / total[cells.items], rest / total, shares)


def dawid_skene(votes: VoteArrays) -> AnnotatorModel:
    """Fit a confusion matrix per reviewer (Dawid and Skene 1979).

    The accuracy of a reviewer is the mean over right answers, weighted by how often each of them occurs.
    """
    items, reviewers, answers = votes.shape
    if answers < 2:
        raise UndefinedError(_ALL_THE_SAME)
    # only columns of confusion matrices that have votes are kept
    columns, column_of_vote = np.unique(votes.reviewers * answers + votes.answers, return_inverse=True)
    reviewer, answer = np.divmod(columns, answers)
    summed = _incidence(votes.items, column_of_vote, (items, len(columns)))
    by_reviewer = _incidence(reviewer, np.arange(len(columns)), (reviewers, len(columns)))
    prior = np.where(np.arange(answers) == answer[:, None], _RIGHT, _WRONG / (answers - 1))
    counts = votes.counts()
    posterior: FloatArray = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    for _ in range(_STEPS):
        table, shares = summed.T @ posterior, (posterior.sum(axis=0) + 1) / (items + answers)
        totals = by_reviewer @ table + _RIGHT + _WRONG
        logs = summed @ np.log((table + prior) / totals[reviewer])
        logs += np.log(shares)
        updated = np.exp(logs - logs.max(axis=1, keepdims=True))
        updated /= updated.sum(axis=1, keepdims=True)
        change, posterior = np.abs(updated - posterior).max(), updated
        if change < _TOLERANCE:
            break
    right = np.zeros((reviewers, answers))
    right[reviewer, answer] = table[np.arange(len(columns)), answer]
    return AnnotatorModel(posterior, ((right + _RIGHT) / totals) @ shares)


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


def reviewer_accuracies(votes: VoteArrays, *, rng: np.random.Generator, confidence: float = 0.95) -> list[Estimate]:
    """Return the accuracy of every reviewer in the one-coin model, with intervals over items.

    The variance is that over resampled items, which are fitted anew; the interval is that of Clopper and Pearson at the
    sample size it is worth, at most the number of votes. It assumes that the model holds and that items with the same
    right answer are equally hard. With two answers, that of one good reviewer among weak ones lies too low, since the
    prior decides what little agreement leaves open: it covered 90 to 94 % of the time, and 78 % for an accuracy of 95 %
    next to two of 70 %. There is none for Dawid and Skene's model: its accuracies of good reviewers are too
    small with few items, and such intervals covered only 83 to 88 % of the time for the best reviewer (93 to 97 % for
    the others).
    """
    cells, items = _Cells.of(votes), votes.shape[0]
    fitted, accuracies = _fitted_coins(cells)
    weights = rng.multinomial(items, np.full(items, 1 / items), size=_DRAWS).astype(np.float64).T
    size = max(_NUMBERS // len(cells.items), 1)
    draws = [_redrawn(cells, fitted, weights[:, start : start + size]) for start in range(0, _DRAWS, size)]
    own = np.bincount(votes.reviewers)
    spread = accuracies * (1 - accuracies)
    variances = np.var(np.concatenate(draws, axis=1), axis=1, ddof=1)
    sizes = np.minimum(spread / np.maximum(variances, 1e-12), own)
    bounds = exact_bounds(accuracies * sizes, sizes, confidence=confidence)
    name = method_name("bootstrap korn-graubard", confidence)
    rows = zip(accuracies, bounds.low, bounds.high, own, strict=True)
    return [Estimate(float(value), float(low), float(high), int(n), name) for value, low, high, n in rows]


def _redrawn(cells: _Cells, fitted: _Posteriors, weights: FloatArray) -> FloatArray:
    """Shape (reviewers, d): accuracies with d ``weights`` (items, d), from the posterior of all items."""
    posteriors = fitted
    for _ in range(_REDRAWN_STEPS):
        accuracies, posteriors = _step(cells, weights, posteriors)
    return accuracies
