"""Coverage of the mean AUROC of a score over models, and of the paired difference of two scores."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from scipy import special

from benchmarks.calibration.checks import coverage_check, repeated
from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray
from regrade.stats import auroc_difference, mean_auroc, rank_errors

_ABILITIES = {"5 models, half wrong": (-0.4, -0.2, 0.0, 0.2, 0.4), "5 models, a tenth wrong": (1.6, 1.7, 1.8, 1.9, 2.0)}
_NOISE = (0.5, 1.0)  # of the two scores


def drawn(rng: np.random.Generator, images: int, case: str) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Two scores (n,) of images, the second noisier, and the errors (m, n) of models, which depend on difficulty."""
    difficulty = rng.standard_normal(images)
    first, second = (difficulty + noise * rng.standard_normal(images) for noise in _NOISE)
    abilities = np.array(_ABILITIES[case])[:, None]
    return first, second, rng.random((len(abilities), images)) < special.ndtr(difficulty - abilities)


def area(rng: np.random.Generator, *, images: int, case: str) -> Estimate:
    first, _, wrong = drawn(rng, images, case)
    return mean_auroc(rank_errors(first, wrong))


def gap(rng: np.random.Generator, *, images: int, case: str) -> Estimate:
    first, second, wrong = drawn(rng, images, case)
    return auroc_difference(rank_errors(first, wrong), rank_errors(second, wrong))


@cache
def truth(case: str) -> tuple[float, float]:
    """The mean AUROC of the first score and its difference to the second, on very many images."""
    first, second, wrong = drawn(np.random.default_rng(0), 1_000_000, case)
    areas = [rank_errors(scores, wrong).value for scores in (first, second)]
    return areas[0], areas[0] - areas[1]


for _images in (50, 500):
    for _case in _ABILITIES:
        for _name, _function, _place in (("mean AUROC", area, 0), ("paired difference of AUROCs", gap, 1)):
            coverage_check(
                _name,
                maker=f"stats.auroc.{'mean_auroc' if _place == 0 else 'auroc_difference'}",
                case=_case,
                n=_images,
                draw=partial(
                    lambda rng, runs, draw, case, place: repeated(draw, truth(case)[place])(rng, runs),
                    draw=partial(_function, images=_images, case=_case),
                    case=_case,
                    place=_place,
                ),
            )
