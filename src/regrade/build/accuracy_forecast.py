"""Predict the accuracy of models on a drawn set, before they see it, from their accuracy by selection frequency."""

from __future__ import annotations

import numpy as np

from regrade.core import Estimate, InputError, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import clopper_pearson
from regrade.stats.intervals import method_name, normal_quantile

MIN_PER_BIN = 20
"""Reference images per bin of frequencies at least; fewer images give fewer bins."""
MAX_BINS = 5


def forecast_accuracies(
    correct: BoolArray, reference_frequencies: FloatArray, drawn_frequencies: FloatArray, *, confidence: float = 0.95
) -> list[Estimate]:
    """Predict the accuracy of each model on a drawn set, with a prediction interval.

    ``correct`` (m, n) is whether the models are right on n annotated reference images. These are divided into bins of
    equal size by their frequency, and the accuracies of the bins are weighted by the drawn images. The interval
    accounts for the reference images (exact intervals of the bins, combined in quadrature: MOVER, Zou and Donner 2008)
    and for the drawn ones. It holds if accuracy depends on the frequency alone; an accuracy outside of it shows that
    the new images differ in something else. Frequencies should be corrected for the noise of answers.
    """
    rows = np.atleast_2d(correct)
    if rows.shape[1] != len(reference_frequencies):
        raise InputError(f"{rows.shape[1]} answers of models for {len(reference_frequencies)} reference images")
    if not len(reference_frequencies) or not len(drawn_frequencies):
        raise UndefinedError("a prediction needs annotated reference images and drawn images")
    edges = _edges(reference_frequencies)
    bins, drawn = (np.searchsorted(edges, part, side="right") for part in (reference_frequencies, drawn_frequencies))
    sizes = np.bincount(bins, minlength=len(edges) + 1)
    weights = np.bincount(drawn, minlength=len(edges) + 1) / len(drawn)
    counts = [np.bincount(bins[row], minlength=len(sizes)) for row in rows.astype(bool)]
    return [_forecast(right, sizes, weights, len(drawn), confidence) for right in counts]


def _edges(frequencies: FloatArray) -> FloatArray:
    """Inner edges of bins with about equally many images, and at least `MIN_PER_BIN`; equal ones stay together."""
    count = min(MAX_BINS, max(len(frequencies) // MIN_PER_BIN, 1))
    quantiles = np.quantile(frequencies, np.arange(1, count) / count, method="higher")
    edges: list[float] = []
    for edge in np.unique(quantiles).tolist():
        below = np.searchsorted(edges, frequencies, side="right") == len(edges)
        if (below & (frequencies < edge)).sum() >= MIN_PER_BIN and (frequencies >= edge).sum() >= MIN_PER_BIN:
            edges.append(edge)
    return np.array(edges)


def _forecast(right: IntArray, sizes: IntArray, weights: FloatArray, images: int, confidence: float) -> Estimate:
    shares = right / sizes
    bounds = clopper_pearson(right, sizes, confidence=confidence)
    value = float(weights @ shares)
    drawing = normal_quantile(confidence) ** 2 * max(value * (1 - value), 1 / images) / images
    below = float(np.sqrt((weights**2) @ (shares - bounds.low) ** 2 + drawing))
    above = float(np.sqrt((weights**2) @ (bounds.high - shares) ** 2 + drawing))
    method = method_name("prediction by frequency", confidence)
    return Estimate(value, max(value - below, 0.0), min(value + above, 1.0), images, method)
