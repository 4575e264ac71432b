"""Coverage of differences at equal composition: two sets whose strata have different sizes."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.calibration.checks import coverage_check, repeated
from regrade.core import Estimate
from regrade.stats import standardized_difference

_CHANCES = np.array([0.5, 0.8, 0.95])
CHANGE = -0.04


def change(rng: np.random.Generator, *, images: int) -> Estimate:
    """A new set with more hard images, on which models are 4 points worse in every stratum."""
    strata, base_strata = (rng.choice(3, images, p=shares) for shares in ((0.3, 0.3, 0.4), (0.05, 0.15, 0.8)))
    shares, base = (
        rng.binomial(5, 0.5 * chances + 0.5 * (rng.random(images) < chances)) / 5
        for chances in (_CHANCES[strata] + CHANGE, _CHANCES[base_strata])
    )
    return standardized_difference(shares, strata, base, base_strata)


for size in (200, 2_000):
    coverage_check(
        "difference at equal composition",
        maker="stats.standardized.standardized_difference",
        case=f"3 strata, {size:,} images of each set",
        n=size,
        draw=repeated(partial(change, images=size), CHANGE),
    )
