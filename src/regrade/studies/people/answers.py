"""How people answer: their agreement with each other, and the time they take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from regrade.core import Estimate, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import fleiss_kappa, krippendorff_alpha, pairwise_agreement, quantile
from regrade.studies.image_clusters import ImageClusters, mean_credit, numbers_of


@dataclass(frozen=True)
class EqualPair:
    """How often two people gave the same answer."""

    first: str
    second: str
    share: Estimate


@dataclass(frozen=True)
class Agreement:
    """Agreement of people: share of equal answers, Fleiss' kappa and Krippendorff's alpha; None where undefined.

    The first two are over the images of the study (kappa over those that everyone answered), alpha over all images
    that two or more people answered.
    """

    equal: Estimate | None
    fleiss: Estimate | None
    krippendorff: Estimate | None
    pairs: tuple[EqualPair, ...]


def agreement(
    names: Sequence[str],
    classes: IntArray,
    images: BoolArray,
    clusters: ImageClusters | None = None,
    *,
    confidence: float,
) -> Agreement | None:
    """Measure agreement from the classes that people answered (people, n), -1 for none; None for a single person.

    ``images`` (n,) marks the images of the study. Shares of equal answers are over ``clusters``, if there are any.
    """
    if len(names) < 2:
        return None
    shared, numbers = classes[:, images], numbers_of(clusters, images)
    equal = partial(pairwise_agreement, clusters=numbers)
    complete = shared[:, (shared >= 0).all(axis=0)]
    pairs = []
    for i, j in combinations(range(len(names)), 2):
        share = _defined(equal, shared[[i, j]], confidence)
        pairs += [EqualPair(names[i], names[j], share)] if share else []
    return Agreement(
        _defined(equal, shared, confidence),
        _defined(fleiss_kappa, complete, confidence),
        _defined(krippendorff_alpha, classes, confidence),
        tuple(pairs),
    )


def _defined(measure: Callable[..., Estimate], answers: IntArray, confidence: float) -> Estimate | None:
    try:
        return measure(answers, confidence=confidence)
    except UndefinedError:
        return None


_BANDS = 4


@dataclass(frozen=True)
class TimeSpent:
    """One person's time on the timed images, in seconds; quantiles are None if there are too few images."""

    person: str
    images: int
    median: Estimate | None
    lower_quartile: Estimate | None
    upper_quartile: Estimate | None
    hours: float


@dataclass(frozen=True)
class SpeedBand:
    """One person's accuracy on a quarter of the images, those that took from ``shortest`` to ``longest`` seconds."""

    person: str
    quarter: int
    shortest: float
    longest: float
    accuracy: Estimate


@dataclass(frozen=True)
class FastImages:
    """How many of the ``timed`` images took the median person at most, and less than, ``limit`` seconds."""

    limit: float
    timed: int
    at_most: int
    less: int


def time_spent(person: str, seconds: FloatArray, *, confidence: float) -> TimeSpent | None:
    """A person's time on images (n,), NaN where it is unknown; None if it is unknown for all images."""
    timed = seconds[np.isfinite(seconds)]
    if not timed.size:
        return None
    median, lower, upper = (_quantile(timed, share, confidence) for share in (0.5, 0.25, 0.75))
    return TimeSpent(person, len(timed), median, lower, upper, float(timed.sum() / 3600))


def speed_bands(
    person: str, seconds: FloatArray, right: BoolArray, clusters: IntArray | None = None, *, confidence: float
) -> tuple[SpeedBand, ...]:
    """Accuracy on each quarter of a person's images (n,) by time, the quickest first; ties keep the images' order.

    Images without a time are left out; with fewer than four images the result is empty. Images of one of the
    ``clusters`` (n,) are dependent.
    """
    timed = np.flatnonzero(np.isfinite(seconds))
    if len(timed) < _BANDS:
        return ()
    order = timed[np.argsort(seconds[timed], kind="stable")]
    return tuple(
        SpeedBand(
            person,
            quarter,
            float(seconds[part[0]]),
            float(seconds[part[-1]]),
            mean_credit(right[part], None if clusters is None else clusters[part], confidence=confidence),
        )
        for quarter, part in enumerate(np.array_split(order, _BANDS), start=1)
    )


def median_seconds(seconds: FloatArray) -> FloatArray:
    """Shape (n,): the median over people (m, n) of the known times; NaN if none is known."""
    medians = np.full(seconds.shape[1], np.nan)
    timed = np.isfinite(seconds).any(axis=0)
    medians[timed] = np.nanmedian(seconds[:, timed], axis=0)
    return medians


def fast_images(medians: FloatArray, limit: float) -> FastImages:
    """Count fast images by both definitions of Shankar et al.: at most 60 s (paper) and less than 60 s (code)."""
    return FastImages(
        limit, int(np.isfinite(medians).sum()), int((medians <= limit).sum()), int((medians < limit).sum())
    )


def _quantile(values: FloatArray, share: float, confidence: float) -> Estimate | None:
    try:
        return quantile(values, share, confidence=confidence)
    except UndefinedError:
        return None
