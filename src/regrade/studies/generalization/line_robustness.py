"""Effective robustness of models relative to a line, with the uncertainty of the model and of the line."""

from __future__ import annotations

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import effective_robustness
from regrade.stats import Scale, fit_lines, wilson
from regrade.stats.intervals import method_name
from regrade.studies.lines import clip_to_scale


def robustness_to(
    right: IntArray,
    images: IntArray,
    new_right: IntArray,
    new_images: IntArray,
    *,
    standard: BoolArray,
    scale: Scale,
    confidence: float,
) -> tuple[FloatArray, list[Estimate]]:
    """The accuracy that the line through ``standard`` models (m,) predicts for each model, and its distance to it.

    The interval combines three errors as independent ones: of the new accuracy, of the original accuracy, which moves
    the prediction, and of the line at that point.
    """
    x = clip_to_scale(right / images, images, scale)
    y = clip_to_scale(new_right / new_images, new_images, scale)
    old, new = (wilson(*counts, confidence=confidence) for counts in ((right, images), (new_right, new_images)))
    line = fit_lines(x[standard], y[standard][None], scale=scale, confidence=confidence, at=x)[0]
    expected = line.predict(x)
    moved = np.sort([line.predict(clip_to_scale(edge, images, scale)) for edge in (old.low, old.high)], axis=0)
    below, above = expected - moved[0], moved[1] - expected
    if line.band is not None:
        below, above = np.hypot(below, expected - line.band.low), np.hypot(above, line.band.high - expected)
    accuracy = new_right / new_images
    robustness = effective_robustness(x, accuracy, expected=line.predict)
    low = robustness - np.hypot(accuracy - new.low, above)
    high = robustness + np.hypot(new.high - accuracy, below)
    method = method_name("wilson and robust t over models", confidence)
    rows = zip(robustness, low, high, new_images, strict=True)
    return expected, [Estimate(float(b), float(lo), float(hi), int(n), method) for b, lo, hi, n in rows]
