"""Coverage of Fleiss' kappa and Krippendorff's alpha, on images with Dirichlet class shares and known kappa."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core import Estimate
from regrade.core.arrays import FloatArray, IntArray
from regrade.stats import fleiss_kappa, krippendorff_alpha


def answers(
    rng: np.random.Generator, runs: int, *, images: int, people: int, shares: tuple[float, ...], kappa: float
) -> IntArray:
    """Answered classes (runs, people, images) with these class shares and this kappa."""
    own = rng.dirichlet(np.asarray(shares) * (1 - kappa) / kappa, size=(runs, images))
    return np.asarray((rng.random((runs, people, images, 1)) > own.cumsum(axis=-1)[:, None, :, :-1]).sum(axis=-1))


def jackknife(run: IntArray) -> tuple[float, float]:
    """The jackknife t interval of Fleiss' kappa of answers (people, images), leaving out one image at a time."""
    n = run.shape[1]
    counts = (run[:, :, None] == np.arange(run.max() + 1)).sum(axis=0)
    kappa = float(_kappa(counts.sum(axis=0), _equal(counts).sum(), n * len(run), len(run)))
    left = _kappa(counts.sum(axis=0) - counts, _equal(counts).sum() - _equal(counts), (n - 1) * len(run), len(run))
    if not np.isfinite(left).all():  # without this image all answers are the same class
        return -1.0, 1.0
    reach = special.stdtrit(n - 1, 0.975) * np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum())
    return max(kappa - reach, -1.0), min(kappa + reach, 1.0)


def _equal(counts: IntArray) -> IntArray:
    return np.asarray((counts * (counts - 1)).sum(axis=-1))


def _kappa(totals: IntArray, equal: IntArray, answer_count: int, people: int) -> FloatArray:
    expected = 1 - ((totals / answer_count) ** 2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - (1 - equal / (answer_count * (people - 1))) / expected)


def _draw(
    rng: np.random.Generator,
    runs: int,
    *,
    measure: Callable[[IntArray], Estimate],
    images: int,
    people: int,
    shares: tuple[float, ...],
    kappa: float,
) -> Drawn:
    """Intervals of the runs with more than one class; kappa is undefined in the others."""
    every = answers(rng, runs, images=images, people=people, shares=shares, kappa=kappa)
    defined = [run for run in every if np.ptp(run)]
    estimates = [measure(run) for run in defined]
    low, high = np.array([jackknife(run) for run in defined]).T
    return Drawn(
        [e.low for e in estimates], [e.high for e in estimates], kappa, (low, high), "jackknife t"
    )  # fmt: skip


_CASES: dict[str, tuple[int, tuple[float, ...], float]] = {
    "2 people, 2 classes 50/50, 0.3": (2, (0.5, 0.5), 0.3),
    "2 people, 2 classes 90/10, 0.6": (2, (0.9, 0.1), 0.6),
    "3 people, 2 classes 95/5, 0.9": (3, (0.95, 0.05), 0.9),
    "5 people, 4 classes 85/5/5/5, 0.3": (5, (0.85, 0.05, 0.05, 0.05), 0.3),
}

for _name, _measure in (("Fleiss' kappa", fleiss_kappa), ("Krippendorff's alpha", krippendorff_alpha)):
    for _case, (_people, _shares, _kappa_there) in _CASES.items():
        for _images in (10, 50):
            coverage_check(
                _name,
                maker="stats.agreement._beyond_chance",
                case=_case,
                n=_images,
                draw=partial(
                    _draw, measure=_measure, images=_images, people=_people, shares=_shares, kappa=_kappa_there
                ),
            )
