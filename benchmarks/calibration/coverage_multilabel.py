"""Coverage of changes of accuracy in `study multilabel`: of one model, and of the median over models."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.calibration.checks import coverage_check, repeated
from benchmarks.calibration.households import alike, changed_in_households, households
from regrade.core import Estimate
from regrade.core.arrays import IntArray
from regrade.stats import median_change, paired_share_difference

_LOST = 0.02


def changes(rng: np.random.Generator, gained: list[float], *, images: int) -> IntArray:
    """Changes (m, n) that models gain with these probabilities, mostly on the same images, and lose with another."""
    common = rng.random(images)
    own = (common + 0.3 * rng.random((len(gained), images))) % 1
    return np.where(own < _LOST, -1, np.where(own > 1 - np.array(gained)[:, None], 1, 0))


def median_of(rng: np.random.Generator, *, gained: list[float], images: int) -> Estimate:
    return median_change(changes(rng, gained, images=images), rng=rng)


def median_over_households(rng: np.random.Generator, *, households_count: int) -> Estimate:
    """Nine models that gain a tenth of the images and lose a few, mostly the same households."""
    clusters = households(rng, households_count)
    common = alike(rng, clusters, rows=1)
    own = (common + 0.3 * rng.random((9, len(clusters)))) % 1
    drawn = np.where(own < _LOST, -1, np.where(own > 0.9, 1, 0))
    return median_change(drawn, clusters, rng=rng)


def one_model(rng: np.random.Generator, *, images: int) -> Estimate:
    """The change of one model that gains a tenth of the images and loses a few."""
    gained, lost, _ = rng.multinomial(images, [0.1, _LOST, 0.9 - _LOST]).tolist()
    places = np.arange(images)
    return paired_share_difference(places < gained, (places >= gained) & (places < gained + lost))


def one_model_over_households(rng: np.random.Generator, *, households_count: int) -> Estimate:
    clusters = households(rng, households_count)
    before, after = changed_in_households(rng, clusters, 0.1, _LOST)
    return paired_share_difference(after, before, clusters)


_MODELS = {
    "1 model": [0.1],
    "9 equal models": [0.1] * 9,
    "9 different models": np.linspace(0.04, 0.16, 9).tolist(),
}

for case, gained in _MODELS.items():
    for size in (100, 1_000):
        coverage_check(
            "median change over models",
            maker="stats.median_changes.median_change",
            case=case,
            n=size,
            draw=repeated(partial(median_of, gained=gained, images=size), 0.1 - _LOST),
        )
for size in (100, 1_000):
    coverage_check(
        "change by the labels",
        maker="stats.clustered_pairs.paired_share_difference",
        case="1 model",
        n=size,
        draw=repeated(partial(one_model, images=size), 0.1 - _LOST),
    )
for size in (30, 300):
    households_case = "households of 1 to 8 images"
    coverage_check(
        "median change over models",
        maker="stats.median_changes.median_change",
        case=f"9 equal models, {households_case}",
        n=size,
        draw=repeated(partial(median_over_households, households_count=size), 0.1 - _LOST),
    )
    coverage_check(
        "change by the labels",
        maker="stats.clustered_pairs.paired_share_difference",
        case=households_case,
        n=size,
        draw=repeated(partial(one_model_over_households, households_count=size), 0.1 - _LOST),
    )
