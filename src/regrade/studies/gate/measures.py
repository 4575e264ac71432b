"""What the rules of a gate measure: shares of images, differences on the same images, and metrics.

Predictions that no one has judged may be right or wrong: the lower bound is that of the worst case, the upper bound
that of the best case.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regrade.core import Estimate, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import (
    corrected_difference,
    design_effect,
    group_shares,
    images_for_margin,
    images_for_share,
    proportion,
)
from regrade.stats.intervals import Intervals, method_name
from regrade.stats.paired import corrected_score_bounds
from regrade.studies.grade.metrics import GradedImages, GradeMetric
from regrade.studies.grade.replicates import mean_share
from regrade.studies.image_clusters import mean_credit
from regrade.studies.paired_groups import contrast, paired_groups


@dataclass(frozen=True)
class Advice:
    """Why a rule is inconclusive, and the images needed for 80 % power to PASS if the measured values are true."""

    reason: str
    images: int | None = None


UNCLEAR = Advice("the data do not decide")
_OVER_SEEDS = Advice("these seeds and images do not decide")
_NOT_JUDGED = Advice("predictions that no one has judged widen the bounds: list them with regrade labels novel")


def advice_of(images: int, needed: int | None, *, can_pass: bool, best_case: str) -> Advice:
    """The advice from the number of images needed, None if the measured value does not meet the requirement."""
    if not can_pass:
        few = f"{amount(images, 'image')} cannot show it, even if {best_case}"
        return Advice(few if needed is None else f"{few}; about {amount(needed, 'image')} give 80 % power", needed)
    if needed is None:
        return Advice("the measured value does not meet the requirement, but not significantly")
    return Advice(f"about {amount(needed, 'image')} give 80 % power, if the measured value is the true one", needed)


class Measure(ABC):
    """A number with intervals; what is undefined raises `UndefinedError`."""

    @property
    @abstractmethod
    def images(self) -> int:
        """The number of images."""

    @abstractmethod
    def estimate(self, confidence: float) -> Estimate:
        """The value with its two-sided interval."""

    def advice(self, threshold: float, alpha: float, *, at_most: bool) -> Advice:  # noqa: ARG002
        """Why the rule is inconclusive."""
        return UNCLEAR


def _bounded(cases: tuple[Any, Any, Any], estimate: Callable[[Any], Estimate]) -> Estimate:
    """The estimate of the first case, with the lower bound of the second and the upper bound of the third."""
    middle, least, most = cases
    if np.array_equal(middle, least) and np.array_equal(middle, most):
        return estimate(middle)
    return replace(estimate(middle), low=estimate(least).low, high=estimate(most).high)


@dataclass(frozen=True, eq=False)
class ShareMeasure(Measure):
    """A share of images, or its mean over k seeds: (k, n) of which ``right`` count, and ``counted`` in all.

    ``least`` and ``most`` (k, n) are the worst and the best case of what no one has judged. Images that are right with
    a probability, since their ties are drawn at random, are numbers from 0 to 1. Images of one of the ``clusters`` (n,)
    are dependent.
    """

    right: BoolArray | FloatArray
    least: BoolArray | FloatArray
    most: BoolArray | FloatArray
    counted: BoolArray
    clusters: IntArray | None = None

    @property
    def images(self) -> int:
        """The images that count for any seed."""
        return int(self.counted.any(axis=0).sum())

    def estimate(self, confidence: float) -> Estimate:
        """The share; its bounds are those of the worst and of the best case."""
        if not self.images:
            raise UndefinedError("no image counts")
        return _bounded((self.right, self.least, self.most), lambda rows: self._share(rows, confidence))

    def _share(self, rows: BoolArray | FloatArray, confidence: float) -> Estimate:
        if len(rows) > 1:
            return mean_share(rows, self.counted, self.clusters, confidence=confidence)
        clusters = None if self.clusters is None else self.clusters[self.counted[0]]
        return mean_credit(rows[self.counted], clusters, confidence=confidence)

    def advice(self, threshold: float, alpha: float, *, at_most: bool) -> Advice:
        """Whether the images are too few even without an error, and how many are needed."""
        if len(self.right) > 1:
            return _OVER_SEEDS
        if (self.least != self.most).any():
            return _NOT_JUDGED
        share, (units, effect) = float(self.right[self.counted].sum() / self.images), self._clustering()
        best = proportion(units, units, confidence=1 - 2 * alpha).low
        if at_most:
            needed = _scaled(images_for_share(1 - share, 1 - threshold, alpha=alpha), effect)
            return advice_of(self.images, needed, can_pass=1 - best <= threshold, best_case="there were none")
        needed = _scaled(images_for_share(share, threshold, alpha=alpha), effect)
        return advice_of(self.images, needed, can_pass=best >= threshold, best_case="all were right")

    def _clustering(self) -> tuple[int, float]:
        """The number of images or clusters, and by how much clusters raise the variance of the share."""
        if self.clusters is None:
            return self.images, 1.0
        values, clusters = self.right[self.counted], self.clusters[self.counted[0]]
        shares = group_shares(values, np.zeros(len(values), dtype=np.int64), clusters)
        return len(np.unique(clusters)), max(self.images / float(shares.effective_sizes[0]), 1.0)


def _scaled(images: int | None, effect: float) -> int | None:
    """The images needed if clusters raise the variance."""
    return None if images is None else math.ceil(images * effect)


@dataclass(frozen=True, eq=False)
class DifferenceMeasure(Measure):
    """Candidate minus baseline on the same images, for k pairs of seeds: (2, k, n) of which are right.

    ``least`` and ``most`` are the worst and the best case of what no one has judged. Images of one of the ``clusters``
    (n,) are dependent.
    """

    right: BoolArray
    least: BoolArray
    most: BoolArray
    clusters: IntArray | None = None

    @property
    def images(self) -> int:
        """The images that count for all models."""
        return int(self.right.shape[2])

    def estimate(self, confidence: float) -> Estimate:
        """The difference; its bounds are those of the worst and of the best case."""
        if not self.images:
            raise UndefinedError("no image counts for both models")
        return _bounded((self.right, self.least, self.most), lambda pair: _difference(pair, self.clusters, confidence))

    def advice(self, threshold: float, alpha: float, *, at_most: bool) -> Advice:  # noqa: ARG002
        """Whether the images are too few even for equal predictions, and how many are needed."""
        if self.right.shape[1] > 1:
            return _OVER_SEEDS
        if (self.least != self.most).any():
            return _NOT_JUDGED
        gained, lost = _discordant(self.right)
        difference, disagreement = (gained - lost) / self.images, (gained + lost) / self.images
        needed = _scaled(
            images_for_margin(difference, disagreement, -threshold, alpha=alpha), _effect(self.right, self.clusters)
        )
        equal = _corrected(np.zeros_like(self.right), self.clusters, 1 - 2 * alpha)
        can_pass = bool(equal.low > threshold) or threshold == 0
        return advice_of(self.images, needed, can_pass=can_pass, best_case="both models were right on the same images")


def _discordant(pair: BoolArray) -> tuple[int, int]:
    """The images that only the candidate, and only the baseline has right, from (2, 1, n)."""
    candidate, baseline = pair[0, 0], pair[1, 0]
    return int((candidate & ~baseline).sum()), int((baseline & ~candidate).sum())


def _effect(pair: BoolArray, clusters: IntArray | None) -> float:
    """The design effect of clusters on the difference of one pair (2, 1, n)."""
    return 1.0 if clusters is None else design_effect(pair[0, 0], pair[1, 0], clusters)


def _corrected(pair: BoolArray, clusters: IntArray | None, confidence: float) -> Intervals:
    """The corrected interval of the difference of one pair (2, 1, n), over images or clusters."""
    gained, lost = _discordant(pair)
    if clusters is None:
        return corrected_difference(gained, lost, pair.shape[2], confidence=confidence)
    counts = np.array([gained, lost, pair.shape[2]]) / _effect(pair, clusters)
    return corrected_score_bounds(*counts[:, None], confidence=confidence)


def _difference(pair: BoolArray, clusters: IntArray | None, confidence: float) -> Estimate:
    _, seeds, images = pair.shape
    if seeds > 1:
        paired = paired_groups(pair, np.zeros(images, dtype=np.int64), clusters)
        return contrast(paired, np.array([1.0, -1.0]), images, confidence=confidence)
    gained, lost = _discordant(pair)
    bounds = _corrected(pair, clusters, confidence)
    method = method_name(f"{'' if clusters is None else 'clustered '}paired score, corrected", confidence)
    return Estimate((gained - lost) / images, bounds.low.item(), bounds.high.item(), images, method)


@dataclass(frozen=True, eq=False)
class MetricMeasure(Measure):
    """A metric of `grade` on the images of a model."""

    metric: GradeMetric
    graded: GradedImages
    through_map: bool = False

    @property
    def images(self) -> int:
        """The images that count."""
        return len(self.graded.positions)

    def estimate(self, confidence: float) -> Estimate:
        """The value of the metric."""
        if self.metric.uses_scores and self.through_map:
            raise UndefinedError("the scores are those of other classes than the labels")
        images = self.graded.answered() if self.metric.uses_scores else self.graded
        if not len(images.positions):
            raise UndefinedError("no image counts")
        return self.metric.function(images, confidence=confidence)


@dataclass(frozen=True, eq=False)
class CoverageMeasure(Measure):
    """The share of the labeled images on which all models have predictions; it is known, without an interval."""

    covered: int
    images_in_all: int

    @property
    def images(self) -> int:
        """The labeled images."""
        return self.images_in_all

    def estimate(self, confidence: float) -> Estimate:  # noqa: ARG002
        """The share."""
        share = self.covered / self.images_in_all
        return Estimate(share, share, share, self.images_in_all, "count")


def flip_share(flips: BoolArray, clusters: IntArray | None = None, *, confidence: float) -> Estimate:
    """The share of images that are flips, from (k, n); images of one of the ``clusters`` (n,) are dependent."""
    return ShareMeasure(flips, flips, flips, np.ones_like(flips), clusters).estimate(confidence)


def stacked(rows: Sequence[BoolArray]) -> BoolArray:
    """Rows (n,) as (k, n)."""
    return np.stack(rows)
