"""Null checks of `study confidence`: calibrated models, and new images that are like the old ones."""

from __future__ import annotations

import numpy as np
from scipy import special

from benchmarks.calibration.checks import null_check
from regrade.studies import Confidence
from regrade.studies.confidence.analysis import ImageConfidences, confidence_study

_CALIBRATED = ("confidence: overconfident", "confidence: underconfident", "confidence: miscalibrated")
_NO_SHIFT = ("confidence: conformal sets cover less", "confidence: certified accuracy does not hold")


@null_check(*_CALIBRATED, case="4 calibrated models, 300 images")
def calibrated_models(rng: np.random.Generator) -> Confidence:
    return studied(rng, models=4, sizes=(300,), sharpness=2.0)


@null_check(*_CALIBRATED, *_NO_SHIFT, case="calibrated, accurate, 200 images and as many new")
def accurate_model(rng: np.random.Generator) -> Confidence:
    return studied(rng, models=1, sizes=(200, 200), sharpness=6.0)


@null_check(*_NO_SHIFT, case="3 overconfident models, 200 images, 1,000 new")
def small_calibration(rng: np.random.Generator) -> Confidence:
    return studied(rng, models=3, sizes=(200, 1_000), sharpness=4.0, too_sure=2.0)


def studied(
    rng: np.random.Generator, *, models: int, sizes: tuple[int, ...], sharpness: float, too_sure: float = 1.0
) -> Confidence:
    """Models of 5 classes on sets of the same distribution; above 1, ``too_sure`` is how far logits are too large."""
    sets = [
        [
            drawn(rng, (f"model {number}", f"set {place}"), images, sharpness=sharpness, too_sure=too_sure)
            for place, images in enumerate(sizes)
        ]
        for number in range(models)
    ]
    return confidence_study(sets, count=models * len(sizes), target=0.8)


def drawn(
    rng: np.random.Generator, names: tuple[str, str], images: int, *, sharpness: float, too_sure: float
) -> ImageConfidences:
    """Labels that are drawn from the probabilities of normal logits."""
    logits = sharpness * rng.standard_normal((images, 5))
    sums = np.cumsum(special.softmax(logits, axis=1), axis=1)
    labels = (sums < rng.random((images, 1))).sum(axis=1).clip(max=4)
    probabilities = special.softmax(too_sure * logits, axis=1)
    half = rng.permutation(images) < images / 2
    return ImageConfidences(
        *names,
        probabilities.max(axis=1),
        probabilities.argmax(axis=1) == labels,
        labels,
        probabilities,
        half,
        rng.random(images),
    )
