"""Coverage checks of the calibration error: a model that is calibrated, and two that are not."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core.arrays import FloatArray
from regrade.stats.calibration_errors import calibration_error, equal_mass_members

_OVERCONFIDENT = {"calibrated": 0.0, "overconfident": 0.3, "far overconfident": 0.6}
"""How far accuracy is from the confidence, as a fraction of the way to 0.5."""


def drawn(rng: np.random.Generator, runs: int, images: int, too_sure: float) -> Drawn:
    """Confidences from 0.5 to 1, mostly high; the truth is computed over the bins of each run's images."""
    estimates, truths = [], []
    for _ in range(runs):
        confidences = 0.5 + 0.5 * rng.beta(4, 1, images)
        accuracy = confidences - too_sure * (confidences - 0.5)
        estimates.append(calibration_error(confidences, rng.random(images) < accuracy))
        truths.append(_binned_error(confidences, accuracy))
    return Drawn([e.low for e in estimates], [e.high for e in estimates], truths)


def _binned_error(confidences: FloatArray, accuracy: FloatArray) -> float:
    members = equal_mass_members(confidences)
    sizes = np.bincount(members)
    gaps = np.bincount(members, weights=accuracy - confidences) / sizes
    return float(np.sqrt(sizes @ gaps**2 / sizes.sum()))


for _case, _too_sure in _OVERCONFIDENT.items():
    for _images in (200, 2_000):
        coverage_check(
            "calibration error",
            maker="stats.calibration_errors.calibration_error",
            case=_case,
            n=_images,
            draw=lambda rng, runs, images=_images, too_sure=_too_sure: drawn(rng, runs, images, too_sure),
        )
