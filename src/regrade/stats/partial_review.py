"""Accuracy when only a random part of the novel predictions has been judged.

A novel prediction is one that no one has judged for its image. Counting it wrong gives a lower
bound and counting it right an upper one; judging a random sample of them, drawn stratum by stratum,
gives an estimate in between, unbiased if every stratum has a judgment. A proxy for the verdicts,
such as how many models agree, sharpens it without biasing it (the difference estimator; prediction-powered inference).

A judgment may also find that an image is problematic: it then leaves the accuracy, whoever predicted what. The
accuracy is a ratio of two estimates, the weight of right predictions and the weight of images that are not problematic;
its bias is of the second order, and its variance that of the linearized ratio (Cochran 1977, chapter 6).
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import Intervals, exact_bounds, method_name, tail_share
from regrade.stats.review_strata import Stratum

_FEW = 20  # judgments below which the proxy's weight cannot be told and is left at 0


@dataclass(frozen=True)
class PartialReview:
    """One model's images, some of whose predictions are novel and a random part of those judged.

    ``outcomes`` (n,) is 1 for right, 0 for wrong and not-a-number for a novel prediction that was not
    judged. ``novel`` (n,) says which were novel when the sample was drawn, ``strata`` (n,) from which
    stratum each of these was drawn (whatever stands there for the others). ``weights`` (n,) are each
    image's share of the accuracy and sum to 1; ``proxy`` (n,) guesses the verdicts, between 0 and 1.

    ``listed`` (n,) are the images that could be drawn for review, also those whose prediction by this model was
    settled: one prediction of each stands for the image, and its stratum is that of the image. ``problematic`` (n,)
    is 1 for an image that was found so, 0 for others, and not-a-number for a listed one that was not judged.
    ``turns`` (n,) are the places of listed images in the random order of the review (whatever stands there for others).
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
        """Shape (n,): the novel predictions that were judged."""
        return self.novel & ~np.isnan(self.outcomes)

    @property
    def left(self) -> int:
        """How many images that could be drawn are not judged."""
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
    """Check and complete the parts of a `PartialReview`: one stratum, equal weights, no proxy, nothing problematic.

    Until an image is found problematic only novel predictions are looked at, whatever else is ``listed``.
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
        raise UndefinedError("an accuracy over no images has no value")
    if any(len(part) != n for part in vars(review).values()):
        raise InputError(f"outcomes, novel, strata, weights and proxy must all speak of {n} images")
    if np.isnan(values[~review.novel]).any():
        raise InputError("a prediction that is not novel must have an outcome")
    if not ((values == 0) | (values == 1) | np.isnan(values)).all():
        raise InputError("outcomes must be 1 (right), 0 (wrong) or not a number (not judged)")
    if not (review.weights >= 0).all() or abs(float(review.weights.sum()) - 1) > 1e-9:
        raise InputError("weights must be shares of the accuracy: at least 0, and 1 together")
    if not ((review.proxy >= 0) & (review.proxy <= 1)).all():
        raise InputError("the proxy must guess verdicts between 0 and 1")
    unknown = np.isnan(review.problematic)
    if not ((review.problematic == 0) | (review.problematic == 1) | unknown).all():
        raise InputError("problematic must be 1, 0 or not a number (not judged)")
    if (review.novel & ~review.listed).any() or (review.problematic[~review.listed] != 0).any():
        raise InputError("only a listed image can be novel or problematic")
    if (unknown != np.isnan(values))[review.novel].any():
        raise InputError("a novel prediction is judged together with its image")


def reviewed_accuracy(review: PartialReview, *, confidence: float = 0.95) -> Estimate:
    """The accuracy, unbiased over the random choice of what was judged if every stratum has some, with its interval.

    The interval covers both the choice of images and the choice of judgments; it is exact at the
    sample size that the two together are worth, made smaller where few judgments tell how much they
    vary (Korn and Graubard 1998). A stratum without any judgment enters with its whole range, right
    or wrong, and with the middle of it. Without any judgment at all it raises, and where all images seem problematic.
    """
    if review.novel.any() and not review.judged.any():
        raise UndefinedError("none of the novel predictions has been judged: only bounds can be given")
    strata = _Strata(review)
    value = strata.accuracy
    bounds = _bounds(strata, value, strata.judgment_spread([s for s in strata.all if s.judged], value), confidence)
    unknown = sum(stratum.unknown for stratum in strata.all) / strata.weight
    low, high = max(float(bounds.low) - unknown, 0.0), min(float(bounds.high) + unknown, 1.0)
    images = int((review.problematic != 1).sum())
    return Estimate(value, low, high, images, method_name("stratified review", confidence))


def judgments_needed(review: PartialReview, half_width: float, *, confidence: float = 0.95) -> int | None:
    """How many more judgments bring the interval down to a wanted half-width.

    They are taken at random from all that are left, as the next ones of the same sample would be. ``None`` where not
    even judging every novel prediction would do: the images themselves are too few.
    """
    if half_width <= 0:
        raise InputError(f"the wanted half-width must be above 0, got {half_width}")
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
    """The variance that each stratum's choice of judgments adds, and the degrees of freedom it is known by."""

    variances: FloatArray
    freedom: FloatArray


class _Strata:
    """The strata of a review, and what they add up to."""

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
        self, inside: BoolArray, guesses: FloatArray, verdicts: FloatArray
    ) -> list[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Weights, guesses, verdicts and problems of each stratum of some of the images."""
        review = self._review
        if not inside.any():
            return []
        names, members = np.unique(review.strata[inside], return_inverse=True)
        columns = [part[inside] for part in (review.weights, guesses, verdicts, review.problematic)]
        chosen = [members == h for h in range(len(names))]
        return [(columns[0][own], columns[1][own], columns[2][own], columns[3][own]) for own in chosen]

    @cached_property
    def weight(self) -> float:
        """The weight of the images that are not problematic."""
        found = 1 - sum(stratum.lost for stratum in self.all)
        if found <= 1e-9:
            raise UndefinedError("all images that were judged are problematic: there is nothing left to be right on")
        return found

    @cached_property
    def images(self) -> float:
        """How many images of equal weight those that are not problematic are worth."""
        squares = float((self._review.weights**2).sum()) - sum(stratum.lost_squares for stratum in self.all)
        return self.weight**2 / max(squares, 1e-300)

    @cached_property
    def accuracy(self) -> float:
        """The weight of right predictions in that of all images, neither counting what is problematic."""
        outside = ~self._review.listed
        known = float((self._review.weights * self._review.outcomes)[outside].sum())
        return min(max((known + sum(stratum.total for stratum in self.all)) / self.weight, 0.0), 1.0)

    def judgment_spread(self, strata: list[Stratum], accuracy: float, more: int = 0) -> _Spread:
        """The spread after ``more`` judgments, taken evenly from what is left."""
        spare = np.array([s.size - s.judged for s in strata], dtype=np.float64)
        sizes = np.array([s.size for s in strata], dtype=np.float64)
        judged = sizes - spare + spare * (more / max(float(spare.sum()), 1.0))
        one = np.array([s.spread(accuracy) for s in strata])
        variances = sizes**2 * (1 - judged / sizes) * one / np.maximum(judged, 1.0) / self.weight**2
        telling = judged * np.array([s.problem_share if s.settled else 1.0 for s in strata])
        return _Spread(variances, np.maximum(telling - 1, 1.0))


def _proxy_weight(review: PartialReview) -> float:
    """How far to trust the proxy: the slope of verdicts on guesses, within [0, 1]."""
    guesses, verdicts = review.proxy[review.judged], review.outcomes[review.judged]
    if len(verdicts) < _FEW or np.ptp(guesses) == 0:
        return 0.0
    beyond = guesses - guesses.mean()
    slope = (beyond @ verdicts) / (beyond @ beyond)
    return float(np.clip(slope, 0.0, 1.0))


def _problem_share(review: PartialReview) -> float:
    """The share of problematic images to reckon with, one with a problem and one without added."""
    judged = review.problematic[review.listed & ~np.isnan(review.problematic)]
    return float((judged.sum() + 1) / (len(judged) + 2))


def _bounds(strata: _Strata, value: float, judgments: _Spread, confidence: float) -> Intervals:
    """Exact bounds at the sample size that images and judgments are worth.

    The two are weighed at a share with one right and one wrong added: at 0 or 1 itself the images
    would seem to vary not at all. Their degrees of freedom together are Satterthwaite's.
    """
    images = strata.images
    share = (value * images + 1) / (images + 2)
    per_image = share * (1 - share)
    spare = max(images - 1, 1.0)
    variance = per_image / images + float(judgments.variances.sum())
    parts = (per_image / images) ** 2 / spare + float((judgments.variances**2 / judgments.freedom).sum())
    upper = 1 - tail_share(confidence)
    known = special.stdtrit(spare, upper) / special.stdtrit(variance**2 / parts, upper)
    size = per_image / variance * known**2
    return exact_bounds(np.array(value * size), np.array(size), confidence=confidence)
