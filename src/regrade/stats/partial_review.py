"""Accuracy when only a random part of the novel predictions has been judged.

A novel prediction is one that no one has judged for its image. Counting it wrong gives a lower
bound and counting it right an upper one; judging a random sample of them, drawn stratum by stratum,
gives an estimate in between, unbiased if every stratum has a judgement. A proxy for the verdicts,
such as how many models agree, sharpens it without biasing it (the difference estimator; prediction-powered inference).
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError
from regrade.core.estimate import Estimate
from regrade.stats.intervals import Intervals, exact_bounds, method_name, tail_share

_FEW = 20  # judgements below which the proxy's weight cannot be told and is left at 0


@dataclass(frozen=True)
class PartialReview:
    """One model's images, some of whose predictions are novel and a random part of those judged.

    ``outcomes`` (n,) is 1 for right, 0 for wrong and not-a-number for a novel prediction that was not
    judged. ``novel`` (n,) says which were novel when the sample was drawn, ``strata`` (n,) from which
    stratum each of these was drawn (whatever stands there for the others). ``weights`` (n,) are each
    image's share of the accuracy and sum to 1; ``proxy`` (n,) guesses the verdicts, between 0 and 1.
    """

    outcomes: FloatArray
    novel: BoolArray
    strata: IntArray
    weights: FloatArray
    proxy: FloatArray

    @property
    def judged(self) -> BoolArray:
        """Shape (n,): the novel predictions that were judged."""
        return self.novel & ~np.isnan(self.outcomes)


def partial_review(
    outcomes: ArrayLike,
    novel: ArrayLike,
    *,
    strata: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    proxy: ArrayLike | None = None,
) -> PartialReview:
    """Check and complete the parts of a `PartialReview`: one stratum, equal weights, no proxy."""
    values = np.asarray(outcomes, dtype=np.float64)
    n = len(values)
    review = PartialReview(
        values,
        np.asarray(novel, dtype=bool),
        np.zeros(n, dtype=np.int64) if strata is None else np.asarray(strata),
        np.full(n, 1 / max(n, 1)) if weights is None else np.asarray(weights, dtype=np.float64),
        np.zeros(n) if proxy is None else np.asarray(proxy, dtype=np.float64),
    )
    if n == 0:
        raise UndefinedError("an accuracy over no images has no value")
    if any(len(part) != n for part in (review.novel, review.strata, review.weights, review.proxy)):
        raise InputError(f"outcomes, novel, strata, weights and proxy must all speak of {n} images")
    if np.isnan(values[~review.novel]).any():
        raise InputError("a prediction that is not novel must have an outcome")
    if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
        raise InputError("outcomes must be 1 (right), 0 (wrong) or not a number (not judged)")
    if not (review.weights >= 0).all() or abs(float(review.weights.sum()) - 1) > 1e-9:
        raise InputError("weights must be shares of the accuracy: at least 0, and 1 together")
    if not ((review.proxy >= 0) & (review.proxy <= 1)).all():
        raise InputError("the proxy must guess verdicts between 0 and 1")
    return review


def reviewed_accuracy(review: PartialReview, *, confidence: float = 0.95) -> Estimate:
    """The accuracy, unbiased over the random choice of what was judged if every stratum has some, with its interval.

    The interval covers both the choice of images and the choice of judgements; it is exact at the
    sample size that the two together are worth, made smaller where few judgements tell how much they
    vary (Korn and Graubard 1998). A stratum without any judgement enters with its whole range, right
    or wrong, and with the middle of it. Without any judgement at all it raises.
    """
    if review.novel.any() and not review.judged.any():
        raise UndefinedError("none of the novel predictions has been judged: only bounds can be given")
    known = ~review.novel
    value = float((review.weights * review.outcomes)[known].sum())
    slope = _proxy_weight(review)
    strata = _strata(review)
    value += sum(stratum.total(slope) for stratum in strata)
    value = min(max(value, 0.0), 1.0)
    bounds = _bounds(review, value, _judgement_spread([s for s in strata if s.judged], 0, slope), confidence)
    unknown = sum(stratum.unknown for stratum in strata)
    low, high = max(float(bounds.low) - unknown, 0.0), min(float(bounds.high) + unknown, 1.0)
    return Estimate(value, low, high, len(review.outcomes), method_name("stratified review", confidence))


def judgements_needed(review: PartialReview, half_width: float, *, confidence: float = 0.95) -> int | None:
    """How many more judgements bring the interval down to a wanted half-width.

    They are taken at random from all that are left, as the next ones of the same sample would be. ``None`` where not
    even judging every novel prediction would do: the images themselves are too few.
    """
    if half_width <= 0:
        raise InputError(f"the wanted half-width must be above 0, got {half_width}")
    strata = _strata(review)
    spare = sum(s.size - s.judged for s in strata)
    slope = _proxy_weight(review)
    value, least = 0.5, 0
    if review.judged.any() or not spare:
        now = reviewed_accuracy(review, confidence=confidence)
        value, least = now.value, 1
        if now.half_width <= half_width:
            return 0

    def enough(more: int) -> bool:
        bounds = _bounds(review, value, _judgement_spread(strata, more, slope), confidence)
        return float(bounds.high - bounds.low) / 2 <= half_width

    if not enough(spare):
        return None
    return bisect.bisect_left(range(spare), True, lo=least, key=enough)


@dataclass(frozen=True)
class _Stratum:
    """The novel predictions of one stratum: their weights, guesses, and the verdicts on some."""

    weights: FloatArray
    proxy: FloatArray
    outcomes: FloatArray

    @property
    def size(self) -> int:
        return len(self.weights)

    @property
    def judged(self) -> int:
        return int((~np.isnan(self.outcomes)).sum())

    @property
    def unknown(self) -> float:
        """Half the weight of a stratum that no judgement speaks for."""
        return 0.0 if self.judged else float(self.weights.sum()) / 2

    def total(self, slope: float) -> float:
        """The weight of right predictions in the stratum: guesses, corrected by what was judged."""
        if not self.judged:
            return self.unknown
        guessed = slope * float((self.weights * self.proxy).sum())
        return guessed + self.size * float(self.residuals(slope).mean())

    def residuals(self, slope: float) -> FloatArray:
        chosen = ~np.isnan(self.outcomes)
        return self.weights[chosen] * (self.outcomes[chosen] - slope * self.proxy[chosen])

    def spread(self, slope: float) -> float:
        """The variance of one residual; one right and one wrong are added, so that it is never 0."""
        typical = float((self.weights**2).mean())
        if not self.judged:
            return typical / 4
        residuals = self.residuals(slope)
        squares = float(((residuals - residuals.mean()) ** 2).sum())
        return (squares + typical / 2) / (self.judged + 1)


def _strata(review: PartialReview) -> list[_Stratum]:
    inside = review.novel
    names, members = np.unique(review.strata[inside], return_inverse=True)
    parts = (review.weights[inside], review.proxy[inside], review.outcomes[inside])
    return [_Stratum(*(part[members == h] for part in parts)) for h in range(len(names))]


def _proxy_weight(review: PartialReview) -> float:
    """How far to trust the proxy: the slope of verdicts on guesses, within [0, 1]."""
    guesses, verdicts = review.proxy[review.judged], review.outcomes[review.judged]
    if len(verdicts) < _FEW or np.ptp(guesses) == 0:
        return 0.0
    slope = np.cov(guesses, verdicts)[0, 1] / guesses.var(ddof=1)
    return float(np.clip(slope, 0.0, 1.0))


@dataclass(frozen=True)
class _Spread:
    """The variance that each stratum's choice of judgements adds, and the degrees of freedom it is known by."""

    variances: FloatArray
    freedom: FloatArray


def _judgement_spread(strata: list[_Stratum], more: int, slope: float) -> _Spread:
    """The spread after ``more`` judgements, taken evenly from what is left."""
    spare = np.array([s.size - s.judged for s in strata], dtype=np.float64)
    sizes = np.array([s.size for s in strata], dtype=np.float64)
    judged = sizes - spare + spare * (more / max(float(spare.sum()), 1.0))
    one = np.array([s.spread(slope) for s in strata])
    variances = sizes**2 * (1 - judged / sizes) * one / np.maximum(judged, 1.0)
    return _Spread(variances, np.maximum(judged - 1, 1.0))


def _bounds(review: PartialReview, value: float, judgements: _Spread, confidence: float) -> Intervals:
    """Exact bounds at the sample size that images and judgements are worth.

    The two are weighed at a share with one right and one wrong added: at 0 or 1 itself the images
    would seem to vary not at all. Their degrees of freedom together are Satterthwaite's.
    """
    images = 1 / float((review.weights**2).sum())
    share = (value * images + 1) / (images + 2)
    per_image = share * (1 - share)
    spare = max(images - 1, 1.0)
    variance = per_image / images + float(judgements.variances.sum())
    parts = (per_image / images) ** 2 / spare + float((judgements.variances**2 / judgements.freedom).sum())
    upper = 1 - tail_share(confidence)
    known = special.stdtrit(spare, upper) / special.stdtrit(variance**2 / parts, upper)
    size = per_image / variance * known**2
    return exact_bounds(np.array(value * size), np.array(size), confidence=confidence)
