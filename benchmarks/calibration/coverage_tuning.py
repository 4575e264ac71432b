"""Coverage of the accuracy after tuning on a new test set, of points that are equally good."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import special

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core import Estimate
from regrade.core.arrays import BoolArray
from regrade.train.tuning import chosen_points, cross_fitted, seeded_accuracy

_SKILL, _SEED_SPREAD = 1.0, 0.1
_TRUTH = float(special.ndtr(_SKILL / np.sqrt(2 + _SEED_SPREAD**2)))


def equal_points(rng: np.random.Generator, *, points: int, seeds: int, images: int) -> BoolArray:
    """Correctness (p, k, n) of points that are equally accurate; half of the variance of images is common to all."""
    noise = rng.standard_normal(images) + rng.standard_normal((points, seeds, images))
    correct: BoolArray = _SKILL + _SEED_SPREAD * rng.standard_normal((points, seeds, 1)) > noise
    return correct


def tuned(rng: np.random.Generator, runs: int, *, points: int, seeds: int, images: int) -> Drawn:
    """The cross-fitted accuracy, and as a baseline that of the best point on the images that chose it."""
    fitted, best = list[Estimate](), list[Estimate]()
    halves = np.arange(images) % 2
    for _ in range(runs):
        right = equal_points(rng, points=points, seeds=seeds, images=images)
        chosen = chosen_points(right, halves)
        fitted.append(seeded_accuracy(cross_fitted(right, halves, chosen), confidence=0.95))
        best.append(seeded_accuracy(right[right.mean(axis=(1, 2)).argmax()], confidence=0.95))
    low, high = ([getattr(estimate, bound) for estimate in fitted] for bound in ("low", "high"))
    naive = tuple([getattr(estimate, bound) for estimate in best] for bound in ("low", "high"))
    return Drawn(low, high, _TRUTH, (naive[0], naive[1]), "the same images choose")


for points, seeds, images in ((4, 3, 100), (16, 3, 400), (16, 6, 400)):
    coverage_check(
        "accuracy after tuning, cross-fitted",
        maker="studies.paired_groups._estimate",
        case=f"{points} equal points, {seeds} seeds",
        n=images,
        draw=partial(tuned, points=points, seeds=seeds, images=images),
    )
