"""The rows of a generalization study: each model and person on both sets, the gap and the distance to the line."""

from __future__ import annotations

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import effective_robustness
from regrade.stats import Scale, fit_lines, independent_difference, proportions, rank_ranges, wilson
from regrade.stats.intervals import method_name
from regrade.studies.generalization.paired_counts import PairedCounts, SetPair
from regrade.studies.generalization.result import ModelShift, PersonShift
from regrade.studies.lines import clip_to_scale
from regrade.studies.set_counts import ModelCounts


def model_rows(pair: SetPair, both: PairedCounts, scale: Scale, confidence: float) -> list[ModelShift]:
    """One row per model."""
    old = proportions(both.right, both.images, confidence=confidence)
    new = proportions(both.new_right, both.new_images, confidence=confidence)
    differences = gaps(both, confidence)
    ranks_old, last_old = rank_ranges(both.right / both.images)
    ranks_new, last_new = rank_ranges(both.new_right / both.new_images)
    expected, robustness = robustness_to(*both.counts, standard=both.standard, scale=scale, confidence=confidence)
    novel = _novel(both)
    return [
        ModelShift(
            model,
            pair.new.test_set,
            old[i],
            new[i],
            differences[i],
            int(ranks_old[i]),
            int(ranks_new[i]),
            int(ranks_old[i] - ranks_new[i]),
            float(expected[i]),
            robustness[i],
            _top5(pair.original.models[model], confidence),
            _top5(pair.new.models[model], confidence),
            bool(both.standard[i]),
            int(last_old[i]),
            int(last_new[i]),
            *novel[i],
        )
        for i, model in enumerate(both.models)
    ]


def person_rows(
    new_set: str, people: PairedCounts, models: PairedCounts, scale: Scale, confidence: float
) -> list[PersonShift]:
    """One row per person; the line is that through the standard models."""
    together = models.followed_by(people)
    expected, robustness = robustness_to(
        *together.counts, standard=together.standard, scale=scale, confidence=confidence
    )
    first = len(models.models)
    rows = zip(
        people.models,
        proportions(people.right, people.images, confidence=confidence),
        proportions(people.new_right, people.new_images, confidence=confidence),
        gaps(people, confidence),
        expected[first:].tolist(),
        robustness[first:],
        _novel(people),
        strict=True,
    )
    return [PersonShift(person, new_set, *values, *novel) for person, *values, novel in rows]


def _novel(both: PairedCounts) -> list[tuple[int | None, int | None]]:
    """The numbers of predictions that no one has judged on both sets; None if there are none on either."""
    counts = zip(both.novel.tolist(), both.new_novel.tolist(), strict=True)
    return [(old, new) if old or new else (None, None) for old, new in counts]


def gaps(both: PairedCounts, confidence: float) -> list[Estimate]:
    """The accuracy on the original minus that on the new set, whose images are different ones."""
    counts = (both.right, both.images, both.new_right, both.new_images)
    bounds = independent_difference(*counts, confidence=confidence)
    values = both.right / both.images - both.new_right / both.new_images
    method = method_name("newcombe", confidence)
    rows = zip(values, bounds.low, bounds.high, both.images + both.new_images, strict=True)
    return [Estimate(float(value), float(low), float(high), int(n), method) for value, low, high, n in rows]


def _top5(counts: ModelCounts, confidence: float) -> Estimate | None:
    if counts.expected_top5 is not None or counts.right_top5 is None:
        return counts.expected_top5
    return proportions([round(counts.right_top5)], [counts.images], confidence=confidence)[0]


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
