"""Confidence sequences: intervals for a review in random order that stay valid at any stopping point.

A finite list of predictions is judged in random order. An interval for a fixed sample size, inspected after every
batch, misses the truth far more often than its level; a confidence sequence contains the truth at all looks at once
with the stated confidence, under any stopping rule. The truth is the result of a complete review of the same list.

It inverts the prior-posterior ratio of Waudby-Smith and Ramdas (2020, section 2): for each possible number of right
predictions, the probability of the decisions so far under a mixture over all numbers, divided by that under this
number, is a martingale under sampling without replacement. Strata are sampled independently, so the product of their
ratios is a martingale too; a total is rejected when every split of it over the strata is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import Intervals, method_name, tail_share
from regrade.stats.partial_reviews import PartialReview

_PRIOR = 0.5  # both parameters of the beta mixture (Krichevsky and Trofimov 1981), which is efficient at any share
_GROWTH = 1.5  # growth of the sample between looks whose intervals are intersected


def confidence_sequence(
    successes: ArrayLike, judged: ArrayLike, sizes: ArrayLike, *, confidence: float = 0.95
) -> Intervals:
    """Return bounds (looks,) for the number of successes in the whole list, valid at all looks simultaneously.

    ``successes`` and ``judged`` (looks, strata) are cumulative counts, in the order of judging, and ``sizes`` (strata,)
    the lengths of the whole list; a single stratum may be passed as (looks,) and an integer. Each interval is
    intersected with the earlier ones.

    >>> bounds = confidence_sequence([3, 5], [3, 5], 10)
    >>> bounds.low.tolist(), bounds.high.tolist()
    ([4.0, 6.0], [10.0, 10.0])
    """
    totals = np.atleast_1d(np.asarray(sizes, dtype=np.int64))
    right, seen = (np.asarray(counts, dtype=np.int64).reshape(-1, len(totals)) for counts in (successes, judged))
    if (right < 0).any() or (right > seen).any() or (seen > totals).any():
        raise InputError("at every look a stratum needs 0 <= successes <= judged <= size")
    level = 2 * tail_share(confidence)
    bounds = np.array([_plausible_totals(*look, totals, level) for look in zip(right, seen, strict=True)], dtype=float)
    low, high = bounds.reshape(-1, 2).T
    return Intervals(np.maximum.accumulate(low), np.minimum.accumulate(high))


@dataclass(frozen=True)
class RandomOrder:
    """Predictions in the random order in which they are judged.

    ``outcomes`` (f,) is 1 for right, 0 for wrong and NaN for not judged yet. The order is random within each of the
    ``strata`` (f,); ``weights`` (f,) is what a right prediction adds to the reported number.
    """

    outcomes: FloatArray
    strata: IntArray
    weights: FloatArray

    @property
    def judged(self) -> BoolArray:
        """Shape (f,): whether each prediction has been judged."""
        return ~np.isnan(self.outcomes)

    @property
    def prefix(self) -> int:
        """Number of predictions before the first one that is not judged."""
        return int(np.argmin(np.append(self.judged, False)))


def anytime_estimate(order: RandomOrder, *, start: float, images: int, confidence: float = 0.95) -> Estimate:
    """Estimate the result of a complete review, with an interval valid at any stopping point.

    The result is ``start`` plus the weights of all right predictions. Only the fully judged prefix of the order is used
    as a random sample, because hard predictions may be decided later than easy ones. Judgments after the prefix count
    as known values but do not inform about the rest. If everything is judged, the interval has width 0.
    """
    judged = order.judged
    right = order.outcomes == 1
    settled = start + float(order.weights[right].sum())
    bounds = _prefix_bounds(order, confidence)
    spare = np.sort(order.weights[~judged])
    least, most = (int(np.clip(bound - right.sum(), 0, len(spare))) for bound in bounds)
    low, high = settled + float(spare[:least].sum()), settled + float(spare[len(spare) - most :].sum())
    value = settled + float((order.weights * _shares(order))[~judged].sum())
    return Estimate(min(max(value, low), high), low, high, images, method_name("confidence sequence", confidence))


def anytime_accuracy(review: PartialReview, *, confidence: float = 0.95) -> Estimate:
    """Estimate the accuracy on these images after a complete review, with an interval valid at any stopping point.

    Once an image is judged problematic, the weights of right and of wrong predictions are both unknown, and each gets
    half of the error level. With unequal weights the accuracy is then undefined, because the weights depend on which
    images remain.
    """
    if not (review.problematic == 1).any():
        start = float(review.weights[~review.novel & (review.outcomes == 1)].sum())
        order = _order(review, review.novel, review.outcomes, review.weights)
        return anytime_estimate(order, start=start, images=len(review.outcomes), confidence=confidence)
    if np.ptp(review.weights) > 1e-12:
        raise UndefinedError("a confidence sequence with problematic images needs equal weights")
    right, wrong = (_remaining(review, outcome, (1 + confidence) / 2) for outcome in (1, 0))
    if right.value + wrong.value <= 0:
        raise UndefinedError("all judged images are problematic: the accuracy is undefined")
    low, high = _ratio(right.low, wrong.high, 0.0), _ratio(right.high, wrong.low, 1.0)
    value = right.value / (right.value + wrong.value)
    images = int((review.problematic != 1).sum())
    return Estimate(value, low, high, images, method_name("confidence sequence", confidence))


def _ratio(right: float, wrong: float, undefined: float) -> float:
    return right / (right + wrong) if right + wrong > 0 else undefined


def _remaining(review: PartialReview, outcome: int, confidence: float) -> Estimate:
    """Estimate how many images have this outcome and are not problematic once all are judged."""
    undecided = review.listed & (review.novel | (review.outcomes == outcome))
    same = (review.outcomes == outcome) & (review.problematic == 0)
    outcomes = np.where(np.isnan(review.problematic), np.nan, same)
    start = float((same & ~review.listed).sum())
    order = _order(review, undecided, outcomes, np.ones(len(outcomes)))
    return anytime_estimate(order, start=start, images=len(outcomes), confidence=confidence)


def _order(review: PartialReview, members: BoolArray, outcomes: FloatArray, weights: FloatArray) -> RandomOrder:
    """Images in the random order of their review; novel and settled predictions form separate strata."""
    rows = np.flatnonzero(members)[np.argsort(review.turns[members], kind="stable")]
    strata = 2 * np.unique(review.strata, return_inverse=True)[1] + review.novel
    return RandomOrder(outcomes[rows], strata[rows], weights[rows])


def _prefix_bounds(order: RandomOrder, confidence: float) -> tuple[float, float]:
    """Bounds for the number of right predictions, from a fixed schedule of looks and the current one.

    The looks may contradict each other, with at most probability 1 - confidence; then only the current one is used.
    """
    if not len(order.outcomes):
        return 0.0, 0.0
    _, members = np.unique(order.strata, return_inverse=True)
    belongs = members[:, None] == np.arange(members.max() + 1)
    looks = _looks(order.prefix)
    right = np.cumsum(belongs & (order.outcomes == 1)[:, None], axis=0)[looks - 1]
    seen, sizes = np.cumsum(belongs, axis=0)[looks - 1], belongs.sum(axis=0)
    if not len(looks):
        return 0.0, float(sizes.sum())
    bounds = confidence_sequence(right, seen, sizes, confidence=confidence)
    if bounds.low[-1] > bounds.high[-1]:
        bounds = confidence_sequence(right[-1], seen[-1], sizes, confidence=confidence)
    return float(bounds.low[-1]), float(bounds.high[-1])


def _looks(judged: int) -> IntArray:
    """Sample sizes of the looks, ascending: a fixed schedule up to ``judged``, and ``judged`` itself."""
    steps = int(np.log(max(judged, 1)) / np.log(_GROWTH)) + 1
    schedule = np.ceil(_GROWTH ** np.arange(steps)).astype(np.int64)
    return np.unique([*schedule[schedule < judged], *([judged] if judged else [])]).astype(np.int64)


def _shares(order: RandomOrder) -> FloatArray:
    """Shape (f,): the share of right predictions in the sample of the same stratum; 0.5 without a sample."""
    _, members = np.unique(order.strata, return_inverse=True)
    sample, strata = slice(order.prefix), int(members.max(initial=-1)) + 1
    right = np.bincount(members[sample], weights=order.outcomes[sample], minlength=strata)
    seen = np.bincount(members[sample], minlength=strata)
    return np.where(seen > 0, right / np.maximum(seen, 1), 0.5)[members]


def _plausible_totals(right: IntArray, seen: IntArray, sizes: IntArray, level: float) -> tuple[int, int]:
    """The smallest and the largest total that the judgments up to one look do not reject."""
    wrong = seen - right
    mixture = scipy.special.betaln(right + _PRIOR, wrong + _PRIOR).sum() - len(sizes) * scipy.special.betaln(
        _PRIOR, _PRIOR
    )
    likely = _best_likelihoods(right, wrong, sizes)
    plausible = np.flatnonzero(likely > mixture + np.log(level))
    first = int(right.sum())
    return first + int(plausible[0]), first + int(plausible[-1])


def _best_likelihoods(right: IntArray, wrong: IntArray, sizes: IntArray) -> FloatArray:
    """Log-likelihoods of all possible totals, ascending, each maximized over the splits over strata.

    The log-likelihood of each stratum is concave, so the best split takes the largest increments first.
    """
    parts = [_likelihoods(*stratum) for stratum in zip(right.tolist(), wrong.tolist(), sizes.tolist(), strict=True)]
    steps = np.concatenate([np.diff(part) for part in parts])
    if len(parts) > 1:
        steps = np.sort(steps)[::-1]
    return sum(float(part[0]) for part in parts) + np.concatenate([[0.0], np.cumsum(steps)])


def _likelihoods(right: int, wrong: int, size: int) -> FloatArray:
    """Log-probabilities of the judgments, sampled without replacement, for each possible number of right ones."""
    logs = _log_factorials(size)
    totals = slice(right, size - wrong + 1)
    rest = size - right - wrong
    drawn = logs[totals] - logs[: rest + 1] + (logs[::-1][totals] - logs[rest::-1])
    likely: FloatArray = drawn - (logs[size] - logs[rest])
    return likely


@lru_cache(maxsize=64)
def _log_factorials(size: int) -> FloatArray:
    logs: FloatArray = scipy.special.gammaln(np.arange(size + 1) + 1.0)
    return logs
