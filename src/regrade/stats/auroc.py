"""How well a score ranks errors above correct predictions: AUROC over models, with intervals over images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.influence import influence_effects
from regrade.stats.intervals import method_name, tail_share

_CERTAIN = 1e-12  # a standard error below this is 0 up to rounding


@dataclass(frozen=True)
class ErrorRanking:
    """The mean AUROC of a score over ``models``, and the influence (n,) of each image on it.

    ``rarer`` is the number of images with an error of any model, or of those with a correct prediction if smaller; of
    clusters of them, if images of one of the ``clusters`` (n,) are dependent.
    """

    value: float
    influence: FloatArray
    models: int
    images: int
    rarer: int
    clusters: IntArray | None = None

    @property
    def method(self) -> str:
        """The method of intervals."""
        return "auroc, delong" if self.clusters is None else "clustered auroc, delong"


def rank_errors(
    scores: ArrayLike, wrong: ArrayLike, counted: ArrayLike | None = None, clusters: IntArray | None = None
) -> ErrorRanking:
    """Return the probability that an error has a higher score than a correct prediction, mean over models.

    ``scores`` (n,) are of images, high where errors are expected; equal scores count as half. ``wrong`` (m, n) and
    ``counted`` (m, n, default: all) are of models. A model without errors or without correct predictions is left out;
    raises if none remains. The influences are those of DeLong et al. (1988), for all models together; images of one of
    the ``clusters`` (n,) are dependent (Obuchowski 1997).
    """
    values, errors = np.asarray(scores, dtype=np.float64), np.atleast_2d(np.asarray(wrong, dtype=bool))
    inside: BoolArray = np.ones_like(errors) if counted is None else np.atleast_2d(np.asarray(counted, dtype=bool))
    if values.ndim != 1 or errors.shape != inside.shape or errors.shape[1] != len(values):
        raise InputError(f"scores {values.shape}, wrong {errors.shape} and counted {inside.shape} do not match")
    used = [(row & own, ~row & own) for row, own in zip(errors, inside, strict=True)]
    used = [(bad, good) for bad, good in used if bad.any() and good.any()]
    if not used:
        raise UndefinedError("no model has both errors and correct predictions: its AUROC is undefined")
    if not np.isfinite(values[inside.any(axis=0)]).all():
        raise InputError("an AUROC needs finite scores")
    order = np.argsort(values, kind="stable")
    ties = _Ties.of(values[order])
    areas, influence = np.zeros(len(used)), np.zeros(len(values))
    for place, (bad, good) in enumerate(used):
        areas[place], own = _area(bad[order], good[order], ties)
        influence[order] += own / len(used)
    sides = [np.logical_or.reduce(rows) for rows in zip(*used, strict=True)]
    rarer = min(int(side.sum()) if clusters is None else len(np.unique(clusters[side])) for side in sides)
    images = int(inside.any(axis=0).sum())
    return ErrorRanking(float(areas.mean()), influence, len(used), images, rarer, clusters)


@dataclass(frozen=True)
class _Ties:
    """Where the run of equal scores around each sorted score begins and ends, both (n,)."""

    begin: IntArray
    end: IntArray

    @classmethod
    def of(cls, values: FloatArray) -> _Ties:
        begins = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        sizes = np.diff(np.append(begins, len(values)))
        return cls(np.repeat(begins, sizes), np.repeat(begins + sizes, sizes))

    def below(self, marked: BoolArray) -> FloatArray:
        """Shape (n,): how many marked images have a lower score, with half of those that have the same."""
        counts = np.append(0, np.cumsum(marked))
        return (counts[self.begin] + counts[self.end]) / 2


def _area(bad: BoolArray, good: BoolArray, ties: _Ties) -> tuple[float, FloatArray]:
    """One model's AUROC and the influence (n,) of each image, in the order of the scores."""
    errors, correct = int(bad.sum()), int(good.sum())
    above = ties.below(good) / correct  # an error's share of correct predictions below it
    below = 1 - ties.below(bad) / errors  # a correct prediction's share of errors above it
    area = float(above[bad].sum()) / errors  # not a matrix product: its threads cost more than they save
    influence = np.where(bad, (above - area) * _scale(errors), 0.0)
    return area, np.where(good, (below - area) * _scale(correct), influence)


def _scale(count: int) -> float:
    """Factor of the residuals of so many images, so that their sum of squares is the sample variance of their mean."""
    return float(1 / np.sqrt(count * max(count - 1, 1)))


def mean_auroc(ranking: ErrorRanking, *, confidence: float = 0.95) -> Estimate:
    """Return the mean AUROC over these models with an interval over images, symmetric on the logit scale.

    The interval is DeLong's with a t quantile; the degrees of freedom are one less than ``ranking.rarer``. That of a
    perfect ranking is one-sided and as wide as the exact interval for as many images without a failure. In simulations
    the coverage is 0.95 with 50 errors per model or more, and 0.93 with 5.

    >>> ranking = rank_errors([0.1, 0.4, 0.35, 0.8], [False, False, True, True])
    >>> round(mean_auroc(ranking).value, 2)
    0.75
    """
    value, error = ranking.value, _standard_error(ranking.influence, ranking.clusters)
    method = method_name(ranking.method, confidence)
    if error < _CERTAIN or not 0 < value < 1:
        reach = _least_reach(ranking.rarer, confidence)
        return Estimate(value, max(value - reach, 0.0), min(value + reach, 1.0), ranking.images, method)
    half_width = _t_quantile(ranking.rarer, confidence) * error / (value * (1 - value))
    low, high = scipy.special.expit(scipy.special.logit(value) + np.array([-half_width, half_width]))
    return Estimate(value, float(low), float(high), ranking.images, method)


def auroc_difference(first: ErrorRanking, second: ErrorRanking, *, confidence: float = 0.95) -> Estimate:
    """Return the first mean AUROC minus the second, of two scores of the same images and the same models.

    The paired interval is DeLong's with a t quantile, as in `mean_auroc`; it is never of zero width, also if both
    scores have the same order.
    """
    if first.influence.shape != second.influence.shape or first.models != second.models:
        raise InputError("a difference needs two scores of the same images and models")
    rarer = min(first.rarer, second.rarer)
    error = _standard_error(first.influence - second.influence, first.clusters)
    reach = _t_quantile(rarer, confidence) * error if error >= _CERTAIN else _least_reach(rarer, confidence)
    value = first.value - second.value
    method = method_name(f"paired {first.method}", confidence)
    return Estimate(value, max(value - reach, -1.0), min(value + reach, 1.0), first.images, method)


def _standard_error(influence: FloatArray, clusters: IntArray | None) -> float:
    effect = 1.0 if clusters is None else float(influence_effects(influence, clusters)[0])
    return float(np.sqrt((influence**2).sum() * effect))


def _t_quantile(rarer: int, confidence: float) -> float:
    return float(scipy.special.stdtrit(max(rarer - 1, 1), 1 - tail_share(confidence)))


def _least_reach(rarer: int, confidence: float) -> float:
    """The upper Clopper-Pearson bound for 0 of so many images."""
    return float(1 - tail_share(confidence) ** (1 / max(rarer, 1)))
