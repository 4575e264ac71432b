"""How long people took, and whether the quick answers are the right ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import Estimate, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray
from regrade.stats import proportion, quantile

_BANDS = 4


@dataclass(frozen=True)
class TimeSpent:
    """One person's time on the images that have one, in seconds; what too few images leave open is none."""

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
    """Of the ``timed`` images, those on which the median person took at most ``limit`` seconds, and strictly less."""

    limit: float
    timed: int
    at_most: int
    less: int


def time_spent(person: str, seconds: FloatArray, *, confidence: float) -> TimeSpent | None:
    """What a person spent on images (n,), not a number where it is not known; none if it never is."""
    known = seconds[np.isfinite(seconds)]
    if not known.size:
        return None
    median, lower, upper = (_quantile(known, share, confidence) for share in (0.5, 0.25, 0.75))
    return TimeSpent(person, len(known), median, lower, upper, float(known.sum() / 3600))


def speed_bands(person: str, seconds: FloatArray, right: BoolArray, *, confidence: float) -> tuple[SpeedBand, ...]:
    """Accuracy on each quarter of a person's images (n,) by time, the quickest first; ties keep the images' order.

    Images without a time are left out; fewer than four have no quarters.
    """
    known = np.flatnonzero(np.isfinite(seconds))
    if len(known) < _BANDS:
        return ()
    order = known[np.argsort(seconds[known], kind="stable")]
    return tuple(
        SpeedBand(
            person,
            quarter,
            float(seconds[part[0]]),
            float(seconds[part[-1]]),
            proportion(int(right[part].sum()), len(part), confidence=confidence),
        )
        for quarter, part in enumerate(np.array_split(order, _BANDS), start=1)
    )


def median_seconds(seconds: FloatArray) -> FloatArray:
    """Shape (n,): the median over people (m, n) of those whose time is known; not a number where none is."""
    medians = np.full(seconds.shape[1], np.nan)
    timed = np.isfinite(seconds).any(axis=0)
    medians[timed] = np.nanmedian(seconds[:, timed], axis=0)
    return medians


def fast_images(medians: FloatArray, limit: float) -> FastImages:
    """Count the fast among the images (n,) both ways: the paper says at most 60 s, its code less than 60 s."""
    return FastImages(
        limit, int(np.isfinite(medians).sum()), int((medians <= limit).sum()), int((medians < limit).sum())
    )


def _quantile(values: FloatArray, share: float, confidence: float) -> Estimate | None:
    try:
        return quantile(values, share, confidence=confidence)
    except UndefinedError:
        return None
