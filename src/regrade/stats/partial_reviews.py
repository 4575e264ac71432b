"""Accuracy estimated from a random sample of judged novel predictions.

A novel prediction is one that nobody has judged for its image. Counting it wrong gives a lower bound and counting it
right an upper bound; judging a stratified random sample gives an estimate in between, unbiased if every stratum has a
judgment. A proxy for the judgments, such as how many models agree, reduces the variance without adding bias (difference
estimator; prediction-powered inference).

A judgment may also find an image problematic; such an image is excluded from the accuracy. The accuracy is then the
ratio of two estimates, the weight of right predictions and the weight of images that are not problematic. Its bias is
of second order, and its variance is that of the linearized ratio (Cochran 1977, chapter 6).
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import Intervals, exact_bounds, method_name, tail_share

_MIN_FOR_PROXY = 20  # with fewer judgments the proxy's weight is 0


@dataclass(frozen=True)
class Stratum:
    """Images of one stratum with their weights, a guess at each judgment, and the judgments on some.

    ``judgments`` are 1 for right and 0 for wrong or problematic, ``problems`` 1 for problematic, both NaN where nobody
    has judged yet. ``slope`` is the weight of the guesses. If the outcomes are ``settled`` and only problems are
    reviewed, the guesses are the known outcomes and ``problem_share`` is the expected share of problems.
    """

    weights: FloatArray
    guesses: FloatArray
    judgments: FloatArray
    problems: FloatArray
    slope: float
    settled: bool = False
    problem_share: float = 0.0

    @property
    def size(self) -> int:
        """Number of images."""
        return len(self.weights)

    @cached_property
    def judged(self) -> int:
        """Number of judged images."""
        return int(np.count_nonzero(self._chosen))

    @property
    def unknown(self) -> float:
        """Half the weight of a stratum without judgments; 0 otherwise."""
        return 0.0 if self.judged or self.settled else float(self.weights.sum()) / 2

    @property
    def total(self) -> float:
        """The weight of right predictions: the guesses, corrected by the judgments."""
        if not self.judged and not self.settled:
            return self.unknown
        guessed = self.slope * float((self.weights * self.guesses).sum())
        beyond = float(self.residuals(0.0).sum())
        return guessed + beyond * (_ratio(self.weights, self._chosen) if self.settled else self.size / self.judged)

    @property
    def lost(self) -> float:
        """Estimated weight of problematic images, scaled up from the judged ones."""
        return _lost(self.weights, self.problems)

    @property
    def lost_squares(self) -> float:
        """Estimated sum of squared weights of problematic images."""
        return _lost(self.weights**2, self.problems)

    def residuals(self, accuracy: float) -> FloatArray:
        """Residuals of the judgments from their guesses, for (weight of right ones) - accuracy * (all weight)."""
        chosen = self._chosen
        differences = self.judgments[chosen] - self.slope * self.guesses[chosen] + accuracy * self.problems[chosen]
        return self.weights[chosen] * differences

    def spread(self, accuracy: float) -> float:
        """The variance of one residual.

        One right and one wrong judgment are added, so that it is never 0. If only problems are reviewed, which are
        rare, it is at least the variance at the share of problems over all strata.
        """
        residuals = self.residuals(accuracy)
        squares = float(((residuals - residuals.mean()) ** 2).sum()) if residuals.size else 0.0
        if self.settled:
            expected = self.problem_share * float(((self.weights * (accuracy - self.guesses)) ** 2).mean())
            return max(squares / max(self.judged - 1, 1), expected)
        typical = float((self.weights**2).mean())
        return (squares + typical / 2) / (self.judged + 1) if self.judged else typical / 4

    @cached_property
    def _chosen(self) -> BoolArray:
        return ~np.isnan(self.judgments)


def _lost(weights: FloatArray, problems: FloatArray) -> float:
    if not np.count_nonzero(problems == 1):
        return 0.0
    chosen = ~np.isnan(problems)
    return float((weights * problems)[chosen].sum()) * _ratio(weights, chosen)


def _ratio(weights: FloatArray, chosen: BoolArray) -> float:
    """Total weight divided by the weight of the chosen images; 0 if that is 0."""
    chosen_weight = float(weights[chosen].sum())
    return float(weights.sum()) / chosen_weight if chosen_weight else 0.0


@dataclass(frozen=True)
class PartialReview:
    """One model's predictions on n images, a random sample of the novel ones judged.

    ``outcomes`` (n,) is 1 for right, 0 for wrong and NaN for a novel prediction that is not judged. ``novel`` (n,)
    marks the predictions that were novel when the sample was drawn, and ``strata`` (n,) are their strata (ignored
    elsewhere). ``weights`` (n,) are the images' shares of the accuracy and sum to 1; ``proxy`` (n,) predicts the
    judgments, in [0, 1].

    ``listed`` (n,) marks the images that could be drawn for review, including those where this model's prediction was
    already settled: one prediction represents the image, and its stratum is the image's. ``problematic`` (n,) is 1 for
    an image judged problematic, 0 for others and NaN for a listed one that is not judged. ``turns`` (n,) are the
    positions of listed images in the random order of the review (ignored elsewhere).
    """

    outcomes: FloatArray
    novel: BoolArray
    strata: IntArray
    weights: FloatArray
    proxy: FloatArray
    listed: BoolArray
    problematic: FloatArray
    turns: IntArray

    @cached_property
    def judged(self) -> BoolArray:
        """Shape (n,): whether each prediction is novel and judged."""
        return self.novel & ~np.isnan(self.outcomes)

    @property
    def left(self) -> int:
        """Number of listed images that are not judged."""
        return int(np.isnan(self.problematic).sum())


def partial_review(
    outcomes: ArrayLike,
    novel: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    proxy: ArrayLike | None = None,
    listed: ArrayLike | None = None,
    problematic: ArrayLike | None = None,
    turns: ArrayLike | None = None,
) -> PartialReview:
    """Return a validated `PartialReview`; default: one stratum, equal weights, no proxy, nothing problematic.

    As long as no image is problematic, only novel predictions matter and ``listed`` is ignored.
    """
    values = np.asarray(outcomes, dtype=np.float64)
    n = len(values)
    own = np.asarray(novel, dtype=bool)
    if problematic is None or not (np.asarray(problematic) == 1).any():
        listed, problematic = own, np.where(np.isnan(values), np.nan, 0.0)
    review = PartialReview(
        values,
        own,
        np.zeros(n, dtype=np.int64) if strata is None else np.asarray(strata),
        np.full(n, 1 / max(n, 1)) if weights is None else np.asarray(weights, dtype=np.float64),
        np.zeros(n) if proxy is None else np.asarray(proxy, dtype=np.float64),
        own if listed is None else np.asarray(listed, dtype=bool),
        np.asarray(problematic, dtype=np.float64),
        np.arange(n) if turns is None else np.asarray(turns),
    )
    _check(review)
    return review


def _check(review: PartialReview) -> None:
    values, n = review.outcomes, len(review.outcomes)
    if n == 0:
        raise UndefinedError("an accuracy needs at least one image, got 0")
    if any(len(part) != n for part in vars(review).values()):
        raise InputError(f"outcomes, novel, strata, weights and proxy must all have length {n}")
    if np.isnan(values[~review.novel]).any():
        raise InputError("a prediction that is not novel must have an outcome")
    if not ((values == 0) | (values == 1) | np.isnan(values)).all():
        raise InputError("outcomes must be 1 (right), 0 (wrong) or NaN (not judged)")
    if not (review.weights >= 0).all() or abs(float(review.weights.sum()) - 1) > 1e-9:
        raise InputError("weights must be at least 0 and sum to 1")
    if not ((review.proxy >= 0) & (review.proxy <= 1)).all():
        raise InputError("proxy values must lie between 0 and 1")
    unknown = np.isnan(review.problematic)
    if not ((review.problematic == 0) | (review.problematic == 1) | unknown).all():
        raise InputError("problematic must be 1, 0 or NaN (not judged)")
    if (review.novel & ~review.listed).any() or (review.problematic[~review.listed] != 0).any():
        raise InputError("only a listed image can be novel or problematic")
    if (unknown != np.isnan(values))[review.novel].any():
        raise InputError("outcomes and problematic must be NaN for the same novel predictions")


def reviewed_accuracy(review: PartialReview, *, confidence: float = 0.95) -> Estimate:
    """Estimate the accuracy with its interval; unbiased over the sample of judgments if every stratum has one.

    The interval covers the sampling of both images and judgments: a Clopper-Pearson interval at the effective sample
    size of the two, reduced where few judgments determine the variance (Korn and Graubard 1998). A stratum without
    judgments contributes its midpoint and widens the interval by its whole range. Raises if there are no judgments or
    if all images seem problematic.
    """
    if review.novel.any() and not review.judged.any():
        raise UndefinedError("none of the novel predictions has been judged: only bounds are known")
    strata = _Strata(review)
    value = strata.accuracy
    bounds = _bounds(strata, value, strata.judgment_spread([s for s in strata.all if s.judged], value), confidence)
    unknown = sum(stratum.unknown for stratum in strata.all) / strata.weight
    low, high = max(float(bounds.low) - unknown, 0.0), min(float(bounds.high) + unknown, 1.0)
    images = int((review.problematic != 1).sum())
    return Estimate(value, low, high, images, method_name("stratified review", confidence))


def judgments_needed(review: PartialReview, half_width: float, *, confidence: float = 0.95) -> int | None:
    """Return how many more judgments shrink the interval to ``half_width``.

    They are drawn at random from all unjudged predictions, as a continuation of the same sample. None if judging every
    novel prediction would not suffice, because there are too few images.
    """
    if not 0 < half_width < math.inf:
        raise InputError(f"the half-width must be a finite number above 0, got {half_width}")
    strata = _Strata(review)
    spare = sum(s.size - s.judged for s in strata.all)
    value, least = 0.5, 0
    if review.judged.any() or not spare:
        now = reviewed_accuracy(review, confidence=confidence)
        value, least = now.value, 1
        if now.half_width <= half_width:
            return 0

    def enough(more: int) -> bool:
        bounds = _bounds(strata, value, strata.judgment_spread(strata.all, value, more), confidence)
        return float(bounds.high - bounds.low) / 2 <= half_width

    if not enough(spare):
        return None
    return bisect.bisect_left(range(spare), True, lo=least, key=enough)


@dataclass(frozen=True)
class _Spread:
    """The variance added by each stratum's sample of judgments, and its degrees of freedom."""

    variances: FloatArray
    freedom: FloatArray


class _Strata:
    """The strata of a review and their totals."""

    def __init__(self, review: PartialReview) -> None:
        self._review = review
        slope = _proxy_weight(review)
        right = np.where(review.problematic == 1, 0.0, review.outcomes)
        share = _problem_share(review)
        settled = np.where(np.isnan(review.problematic), np.nan, right)
        self.all = [
            *(Stratum(*parts, slope) for parts in self._parts(review.novel, review.proxy, right)),
            *(
                Stratum(*parts, 1.0, settled=True, problem_share=share)
                for parts in self._parts(review.listed & ~review.novel, review.outcomes, settled)
            ),
        ]

    def _parts(
        self, inside: BoolArray, guesses: FloatArray, judgments: FloatArray
    ) -> list[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Weights, guesses, judgments and problems of each stratum of the images ``inside``."""
        review = self._review
        if not inside.any():
            return []
        names, members = np.unique(review.strata[inside], return_inverse=True)
        columns = [part[inside] for part in (review.weights, guesses, judgments, review.problematic)]
        chosen = [members == h for h in range(len(names))]
        return [(columns[0][own], columns[1][own], columns[2][own], columns[3][own]) for own in chosen]

    @cached_property
    def weight(self) -> float:
        """The weight of the images that are not problematic."""
        weight = 1 - sum(stratum.lost for stratum in self.all)
        if weight <= 1e-9:
            raise UndefinedError("all judged images are problematic: the accuracy is undefined")
        return weight

    @cached_property
    def images(self) -> float:
        """Effective number of images that are not problematic."""
        squares = float((self._review.weights**2).sum()) - sum(stratum.lost_squares for stratum in self.all)
        return self.weight**2 / max(squares, 1e-300)

    @cached_property
    def accuracy(self) -> float:
        """The weight of right predictions divided by that of all images, both without problematic ones."""
        outside = ~self._review.listed
        unlisted = float((self._review.weights * self._review.outcomes)[outside].sum())
        return min(max((unlisted + sum(stratum.total for stratum in self.all)) / self.weight, 0.0), 1.0)

    def judgment_spread(self, strata: list[Stratum], accuracy: float, more: int = 0) -> _Spread:
        """The spread after ``more`` judgments, taken evenly from those left."""
        spare = np.array([s.size - s.judged for s in strata], dtype=np.float64)
        sizes = np.array([s.size for s in strata], dtype=np.float64)
        judged = sizes - spare + spare * (more / max(float(spare.sum()), 1.0))
        residual_variance = np.array([s.spread(accuracy) for s in strata])
        variances = sizes**2 * (1 - judged / sizes) * residual_variance / np.maximum(judged, 1.0) / self.weight**2
        informative = judged * np.array([s.problem_share if s.settled else 1.0 for s in strata])
        return _Spread(variances, np.maximum(informative - 1, 1.0))


def _proxy_weight(review: PartialReview) -> float:
    """The weight of the proxy: the slope of judgments on guesses, clipped to [0, 1]."""
    guesses, judgments = review.proxy[review.judged], review.outcomes[review.judged]
    if len(judgments) < _MIN_FOR_PROXY or np.ptp(guesses) == 0:
        return 0.0
    centered = guesses - guesses.mean()
    slope = (centered @ judgments) / (centered @ centered)
    return float(np.clip(slope, 0.0, 1.0))


def _problem_share(review: PartialReview) -> float:
    """The expected share of problematic images, with one problematic and one other image added."""
    judged = review.problematic[review.listed & ~np.isnan(review.problematic)]
    return float((judged.sum() + 1) / (len(judged) + 2))


def _bounds(strata: _Strata, value: float, judgments: _Spread, confidence: float) -> Intervals:
    """Exact bounds at the effective sample size of images and judgments.

    The image variance is computed with one right and one wrong image added, because it would be 0 at an accuracy of 0
    or 1. The degrees of freedom are Satterthwaite's.
    """
    images = strata.images
    share = (value * images + 1) / (images + 2)
    per_image = share * (1 - share)
    spare = max(images - 1, 1.0)
    variance = per_image / images + float(judgments.variances.sum())
    parts = (per_image / images) ** 2 / spare + float((judgments.variances**2 / judgments.freedom).sum())
    upper = 1 - tail_share(confidence)
    freedom_ratio = scipy.special.stdtrit(spare, upper) / scipy.special.stdtrit(variance**2 / parts, upper)
    size = per_image / variance * freedom_ratio**2
    return exact_bounds(np.array(value * size), np.array(size), confidence=confidence)
