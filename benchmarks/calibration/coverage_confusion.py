"""Coverage of errors expected without labels, on data that meets the assumptions of each method."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np
from scipy import special

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import proportion
from regrade.stats.intervals import exact_bounds
from regrade.studies.confusion.bands import _band
from regrade.studies.confusion.expected_error import (
    SetScores,
    agreement_lines,
    expectation_gap,
    expected_by_confidence,
    expected_by_score,
    expected_by_threshold,
)

_FOLDER = "studies.confusion"
_SKILLS = (0.0, 0.8, 1.6, 2.4)
_SHIFT = 0.5


def estimated(
    estimates: Sequence[Estimate], truth: float, baseline: tuple[FloatArray, FloatArray] | None = None, name: str = ""
) -> Drawn:
    return Drawn(
        [estimate.low for estimate in estimates], [estimate.high for estimate in estimates], truth, baseline, name
    )


def _by_confidence(rng: np.random.Generator, runs: int, *, images: int, shape: tuple[float, float]) -> Drawn:
    """A calibrated model whose doubts are beta-distributed; their mean is its error."""
    doubts = rng.beta(*shape, size=(runs, images))
    estimates = [expected_by_confidence(1 - row, confidence=0.95) for row in doubts]
    reach = 1.96 * doubts.std(axis=1, ddof=1) / np.sqrt(images)
    normal = np.maximum(doubts.mean(axis=1) - reach, 0.0), doubts.mean(axis=1) + reach
    return estimated(estimates, shape[0] / sum(shape), normal, "normal")


def _by_threshold(rng: np.random.Generator, runs: int, *, images: int, share: float) -> Drawn:
    """Uniform confidences on labeled images, squares of uniform ones on unlabeled images; the lowest are wrong."""
    labeled, unlabeled = rng.random((runs, images)), rng.random((runs, images)) ** 2
    wrong = labeled < share
    defined = np.flatnonzero(wrong.any(axis=1))
    estimates = [expected_by_threshold(wrong[i], labeled[i], unlabeled[i], confidence=0.95) for i in defined]
    below = np.array([estimate.value * images for estimate in estimates])
    fixed = exact_bounds(below, np.full(len(below), images), confidence=0.95)
    return estimated(estimates, share**0.5, (fixed.low, fixed.high), "threshold as if known")


def models_of_skills(rng: np.random.Generator, difficulty: FloatArray) -> tuple[IntArray, BoolArray]:
    """Classes and correctness (m, n) of models of different skill; all confuse an image with the same class."""
    images = len(difficulty)
    correct = np.array(_SKILLS)[:, None] + rng.normal(0, 0.5, (len(_SKILLS), images)) > difficulty
    return np.where(correct, 0, rng.integers(1, 10, images)), correct


def _lines(rng: np.random.Generator, images: int) -> list[Estimate]:
    (classes, correct), (unlabeled, _) = (
        models_of_skills(rng, rng.normal(shift, 1.0, images)) for shift in (0.0, _SHIFT)
    )
    return agreement_lines(classes, correct, unlabeled, rng=rng)


@cache
def _line_on_all_images() -> float:
    """The method's estimate for the second model on very many images, which need not be its error."""
    return _lines(np.random.default_rng(0), 500_000)[1].value


def _by_agreement(rng: np.random.Generator, runs: int, *, images: int) -> Drawn:
    """One of the models; only a third of the runs, since bootstraps are slow."""
    estimates = [_lines(rng, images)[1] for _ in range(-(-runs // 3))]
    return estimated(estimates, _line_on_all_images())


def scored(rng: np.random.Generator, images: int, shift: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Scores (n,) of images, and the error rate of an average model, which depends on the score only."""
    scores = np.minimum(rng.gamma(1.2 + shift, 1.0, images), 9.0)
    return scores, special.expit(scores - 2.5)


def _gap(rng: np.random.Generator, runs: int, *, images: int) -> Drawn:
    """Both sets have the same distribution, so that the error expected by score is the actual one."""
    estimates = []
    for _ in range(runs):
        (scores, odds), (unlabeled, unlabeled_odds) = scored(rng, images), scored(rng, images)
        wrong, other_wrong = rng.random(images) < odds, rng.random(images) < unlabeled_odds
        expected = expected_by_score(wrong, SetScores(scores, unlabeled), confidence=0.95)
        estimates.append(expectation_gap(expected, proportion(int(other_wrong.sum()), images), confidence=0.95))
    return estimated(estimates, 0.0)


def _band_change(rng: np.random.Generator, runs: int, *, images: int) -> Drawn:
    """A remedy that corrects 8% of the images and breaks 3%; a single band, so that its interval stands alone."""
    fates = rng.choice(4, size=(runs, images), p=[0.70, 0.08, 0.03, 0.19])  # right, corrected, broken, wrong
    changes = [_band("hard", (row % 2 == 1, row >= 2), None, 1, 0.95).change for row in fates]
    return estimated(changes, 0.03 - 0.08)


for _images in (50, 1_000):
    coverage_check(
        "change of the error in a band",
        maker="stats.clustered_pairs.paired_share_difference",
        case="8% corrected, 3% broken",
        n=_images,
        draw=partial(_band_change, images=_images),
    )
for _images in (20, 100, 1_000):
    for _case, _shape in (("mostly sure", (0.05, 2.0)), ("often in doubt", (2.0, 4.0))):
        coverage_check(
            "average confidence",
            maker=f"{_FOLDER}.expected_error.expected_by_confidence",
            case=f"calibrated, {_case}",
            n=_images,
            draw=partial(_by_confidence, images=_images, shape=_shape),
        )
for _images in (30, 300):
    for _share in (0.05, 0.3):
        coverage_check(
            "thresholded confidence",
            maker=f"{_FOLDER}.expected_error.expected_by_threshold",
            case=f"{100 * _share:.0f}% wrong",
            n=_images,
            draw=partial(_by_threshold, images=_images, share=_share),
        )
for _images in (50, 400):
    coverage_check(
        "agreement on the line",
        maker=f"{_FOLDER}.expected_error.agreement_lines",
        case="4 models on a line",
        n=_images,
        draw=partial(_by_agreement, images=_images),
    )
for _images in (100, 1_000):
    coverage_check(
        "expected by score minus actual error",
        maker=f"{_FOLDER}.expected_error.expectation_gap",
        case="sets of the same distribution",
        n=_images,
        draw=partial(_gap, images=_images),
    )
