"""Coverage checks of intervals that compare two measures of the same images."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core import Estimate
from regrade.stats import clopper_pearson, exclusive_difference, paired_difference

_GAINED, _LOST = 0.06, 0.02


def labels_change(rng: np.random.Generator, runs: int, images: int) -> Drawn:
    """Multi-label minus top-1 accuracy; some images are correct only by the labels, fewer only by top-1."""
    counts = rng.multinomial(images, [_GAINED, _LOST, 1 - _GAINED - _LOST], size=runs)[:, :2]
    bounds = clopper_pearson(counts, images)
    columns = np.stack([counts / images, bounds.low, bounds.high], axis=-1).tolist()
    shares = [[Estimate(value, low, high, images, "") for value, low, high in run] for run in columns]
    changes = [exclusive_difference(gained, lost) for gained, lost in shares]
    baseline = paired_difference(counts[:, 0], counts[:, 1], images)
    low, high = ([getattr(change, side) for change in changes] for side in ("low", "high"))
    return Drawn(low, high, _GAINED - _LOST, (baseline.low, baseline.high), "Tango's score interval")


for _images in (50, 1_000):
    coverage_check(
        "multi-label minus top-1 accuracy, same images",
        maker="stats.paired.exclusive_difference",
        case="6% gained, 2% lost",
        n=_images,
        draw=lambda rng, runs, images=_images: labels_change(rng, runs, images),
    )
