"""The rows of a generalization study: each model and person on both sets, the gap and the distance to the line."""

from __future__ import annotations

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray
from regrade.metrics import effective_robustness
from regrade.stats import SampledShares, Scale, fit_lines, newcombe_bounds, proportions, rank_ranges
from regrade.stats.intervals import method_name
from regrade.studies.generalization.paired_counts import PairedCounts, SetPair
from regrade.studies.generalization.result import ModelShift, PersonShift
from regrade.studies.lines import clip_to_scale
from regrade.studies.set_counts import ModelCounts


def model_rows(pair: SetPair, both: PairedCounts, scale: Scale, confidence: float) -> list[ModelShift]:
    """One row per model."""
    old, new = (shares.estimates(confidence) for shares in both.shares)
    differences = gaps(both, confidence)
    ranks_old, last_old = rank_ranges(both.right / both.images)
    ranks_new, last_new = rank_ranges(both.new_right / both.new_images)
    expected, robustness = robustness_to(*both.shares, standard=both.standard, scale=scale, confidence=confidence)
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
        *together.shares, standard=together.standard, scale=scale, confidence=confidence
    )
    first = len(models.models)
    rows = zip(
        people.models,
        *(shares.estimates(confidence) for shares in people.shares),
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
    old, new = both.shares
    bounds = newcombe_bounds(old.values, old.wilson(confidence), new.values, new.wilson(confidence))
    method = method_name(_kind("newcombe", old, new), confidence)
    rows = zip(old.values - new.values, bounds.low, bounds.high, both.images + both.new_images, strict=True)
    return [Estimate(float(value), float(low), float(high), int(n), method) for value, low, high, n in rows]


def _top5(counts: ModelCounts, confidence: float) -> Estimate | None:
    if counts.top5 is not None or counts.right_top5 is None:
        return counts.top5
    return proportions([round(counts.right_top5)], [counts.images], confidence=confidence)[0]


def robustness_to(
    original: SampledShares,
    new: SampledShares,
    *,
    standard: BoolArray,
    scale: Scale,
    confidence: float,
) -> tuple[FloatArray, list[Estimate]]:
    """The accuracy that the line through ``standard`` models (m,) predicts for each model, and its distance to it.

    The interval combines three errors as independent ones: of the new accuracy, of the original accuracy, which moves
    the prediction, and of the line at that point.
    """
    images = original.images
    x, y = (clip_to_scale(shares.values, shares.images, scale) for shares in (original, new))
    old_bounds, new_bounds = (shares.wilson(confidence) for shares in (original, new))
    line = fit_lines(x[standard], y[standard][None], scale=scale, confidence=confidence, at=x)[0]
    expected = line.predict(x)
    moved = np.sort(
        [line.predict(clip_to_scale(edge, images, scale)) for edge in (old_bounds.low, old_bounds.high)], axis=0
    )
    below, above = expected - moved[0], moved[1] - expected
    if line.band is not None:
        below, above = np.hypot(below, expected - line.band.low), np.hypot(above, line.band.high - expected)
    robustness = effective_robustness(x, new.values, expected=line.predict)
    low = robustness - np.hypot(new.values - new_bounds.low, above)
    high = robustness + np.hypot(new_bounds.high - new.values, below)
    method = method_name(_kind("wilson and robust t over models", original, new), confidence)
    rows = zip(robustness, low, high, new.images, strict=True)
    return expected, [Estimate(float(b), float(lo), float(hi), int(n), method) for b, lo, hi, n in rows]


def _kind(method: str, *shares: SampledShares) -> str:
    return method if all(part.effective is None for part in shares) else f"clustered {method}"
