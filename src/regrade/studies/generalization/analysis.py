"""Generalization: do accuracies carry over to test sets collected anew? (Recht et al. 2019)"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, InputError, UnknownName
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.names import refuse_text
from regrade.metrics import effective_robustness
from regrade.stats import (
    Scale,
    bonferroni_confidence,
    bootstrap_line,
    fit_lines,
    independent_difference,
    largest_covariance,
    mark_simultaneous,
    proportions,
    rank_ranges,
    two_way_mean,
    wilson,
)
from regrade.stats.intervals import method_name
from regrade.studies.generalization.explanations import adaptivity_of, difficulty_of, loss_parts
from regrade.studies.generalization.result import Generalization, ModelShift, SetShift
from regrade.studies.generalization.shift_line import ShiftLine, shift_line
from regrade.studies.lines import clip_to_scale
from regrade.studies.set_counts import ImageNoise, ModelCounts, SetCounts

_FEWEST = 3  # models a line needs


@dataclass(frozen=True)
class SetPair:
    """The same models on an original and on a new test set, scored among the same classes."""

    original: SetCounts
    new: SetCounts


def generalization(
    pairs: Sequence[SetPair],
    *,
    rng: np.random.Generator,
    scale: Scale = Scale.LOGIT,
    standard: Sequence[str] = (),
    confidence: float = 0.95,
    draws: int = 0,
    band_points: int = 100,
) -> Generalization:
    """Compare accuracies of models on an original test set and on one or more new ones.

    Lines are fitted through all models, or through those named ``standard``; effective robustness is relative to the
    line on ``scale``. Models with predictions on one set of a pair only are left out and named. Fewer than three models
    on both sets, or equal accuracies of all models on the original, raise. Intervals of means and lines cover the
    sampling of models and of images; ``draws`` bootstrap draws of models add percentile intervals as in papers.
    """
    refuse_text(standard, "standard")
    original = _original_name(pairs)
    _check_standard(standard, pairs)
    options = _LineOptions(scale, tuple(standard), confidence, draws, band_points, len(pairs))
    state = rng.bit_generator.state  # the same for every set: its line does not depend on the other sets
    studied = []
    for pair in pairs:
        rng.bit_generator.state = state
        studied.append(_study_pair(pair, options, rng))
    rows = [row for _, rows in studied for row in rows]
    order = [pair.new.test_set for pair in pairs]
    rows.sort(key=lambda row: (-row.original.value, row.model, order.index(row.new_set)))
    notes = dict.fromkeys(note for pair in pairs for note in (*pair.original.notes, *pair.new.notes))
    return Generalization(original, scale, confidence, tuple(shift for shift, _ in studied), tuple(rows), tuple(notes))


@dataclass(frozen=True)
class _LineOptions:
    """The options that all pairs of test sets share."""

    scale: Scale
    standard: tuple[str, ...]
    confidence: float
    draws: int
    band_points: int
    sets: int


@dataclass(frozen=True)
class _PairedCounts:
    """The counts of m models on both sets, arrays (m,)."""

    models: tuple[str, ...]
    right: IntArray
    images: IntArray
    new_right: IntArray
    new_images: IntArray
    standard: BoolArray
    noise: tuple[ImageNoise, ImageNoise] | None


def _study_pair(pair: SetPair, options: _LineOptions, rng: np.random.Generator) -> tuple[SetShift, list[ModelShift]]:
    both, confidence = _paired_counts(pair, options.standard), options.confidence
    by_scale = {scale: _drawn_line(both, scale, options, rng) for scale in Scale}
    slope, probit_slope = (_simultaneous_slope(both, scale, options) for scale in (Scale.LINEAR, Scale.PROBIT))
    change = _mean_change(both, confidence)
    rows = _rows(pair, both, options.scale, confidence)
    counts = (both.right, both.images, both.new_right, both.new_images)
    shift = SetShift(
        pair.new.test_set,
        len(both.models),
        int(both.standard.sum()),
        change,
        _top5_change(pair, both, confidence),
        tuple(by_scale.values()),
        difficulty_of(by_scale[Scale.PROBIT]),
        loss_parts(*counts, confidence=confidence),
        adaptivity_of(slope, probit_slope, change.value),
        tuple(sorted(pair.original.models.keys() ^ pair.new.models.keys())),
    )
    return shift, rows


def _paired_counts(pair: SetPair, standard: Sequence[str]) -> _PairedCounts:
    old, new = pair.original, pair.new
    models = tuple(model for model in old.models if model in new.models)
    chosen = np.array([not standard or model in standard for model in models], dtype=bool)
    if len(models) < _FEWEST:
        raise InputError(
            f"a line needs at least three models on both {old.test_set} and {new.test_set}, got {len(models)}"
            + (f" ({', '.join(models)})" if models else "")
        )
    if chosen.sum() < _FEWEST:
        raise InputError(
            f"a line needs at least three standard models on both {old.test_set} and {new.test_set}, got {chosen.sum()}"
        )
    return _PairedCounts(
        models,
        *_counts([old.models[model] for model in models]),
        *_counts([new.models[model] for model in models]),
        chosen,
        _noise(old, new, models),
    )


def _noise(old: SetCounts, new: SetCounts, models: Sequence[str]) -> tuple[ImageNoise, ImageNoise] | None:
    """The sampling noise of the accuracies on both sets; None if only counts are known for some model."""
    noise = [counts.noise.of(models) for counts in (old, new) if counts.noise and counts.noise.covers(models)]
    return (noise[0], noise[1]) if len(noise) == 2 else None


def _counts(models: Iterable[ModelCounts]) -> tuple[IntArray, IntArray]:
    right, images = np.array([(model.right, model.images) for model in models], dtype=np.int64).T
    return right, images


def _simultaneous_slope(both: _PairedCounts, scale: Scale, options: _LineOptions) -> Estimate | None:
    """The slope on a scale, with an interval that holds for all new sets together."""
    slope = _line(both, scale, bonferroni_confidence(options.sets, options.confidence), 0).slope
    return None if slope is None else mark_simultaneous(slope, options.sets, confidence=options.confidence)


def _drawn_line(both: _PairedCounts, scale: Scale, options: _LineOptions, rng: np.random.Generator) -> ShiftLine:
    """The line on a scale, with bootstrap draws if there are any."""
    line = _line(both, scale, options.confidence, options.band_points if scale is options.scale else 0)
    if not options.draws:
        return line
    drawn = bootstrap_line(
        *_line_points(both, scale), rng=rng, scale=scale, draws=options.draws, confidence=options.confidence,
        band_points=0,
    )  # fmt: skip
    return replace(line, published=drawn)


def _line(both: _PairedCounts, scale: Scale, confidence: float, band_points: int) -> ShiftLine:
    chosen = both.standard
    return shift_line(
        *_line_points(both, scale),
        scale,
        noise=_chosen_noise(both),
        images=(both.images[chosen], both.new_images[chosen]),
        confidence=confidence,
        band_points=band_points,
    )


def _line_points(both: _PairedCounts, scale: Scale) -> tuple[FloatArray, FloatArray]:
    """The accuracies of the standard models on both sets, clipped to the scale."""
    x = clip_to_scale(both.right / both.images, both.images, scale)[both.standard]
    y = clip_to_scale(both.new_right / both.new_images, both.new_images, scale)[both.standard]
    return x, y


def _chosen_noise(both: _PairedCounts) -> tuple[FloatArray, FloatArray] | None:
    if both.noise is None:
        return None
    part = np.ix_(both.standard, both.standard)
    return both.noise[0].top1[part], both.noise[1].top1[part]


def _rows(pair: SetPair, both: _PairedCounts, scale: Scale, confidence: float) -> list[ModelShift]:
    counts = (both.right, both.images, both.new_right, both.new_images)
    old = proportions(both.right, both.images, confidence=confidence)
    new = proportions(both.new_right, both.new_images, confidence=confidence)
    gaps = _gaps(both, confidence)
    ranks_old, last_old = rank_ranges(both.right / both.images)
    ranks_new, last_new = rank_ranges(both.new_right / both.new_images)
    expected, robustness = robustness_to(*counts, standard=both.standard, scale=scale, confidence=confidence)
    return [
        ModelShift(
            model,
            pair.new.test_set,
            old[i],
            new[i],
            gaps[i],
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
        )
        for i, model in enumerate(both.models)
    ]


def _gaps(both: _PairedCounts, confidence: float) -> list[Estimate]:
    counts = (both.right, both.images, both.new_right, both.new_images)
    bounds = independent_difference(*counts, confidence=confidence)
    values = both.right / both.images - both.new_right / both.new_images
    method = method_name("newcombe", confidence)
    rows = zip(values, bounds.low, bounds.high, both.images + both.new_images, strict=True)
    return [Estimate(float(value), float(low), float(high), int(n), method) for value, low, high, n in rows]


def _mean_change(both: _PairedCounts, confidence: float) -> Estimate:
    """The mean over models, with an interval for the sampling of models and of images."""
    changes = both.new_right / both.new_images - both.right / both.images
    if both.noise is not None:
        return two_way_mean(changes, both.noise[0].top1 + both.noise[1].top1, confidence=confidence)
    return _bounded_mean(changes, (both.right, both.images), (both.new_right, both.new_images), confidence)


def _top5_change(pair: SetPair, both: _PairedCounts, confidence: float) -> Estimate | None:
    """The same for top-5; None if some model has no top-5 predictions."""
    right, new_right = (
        [counts.models[model].right_top5 for model in both.models] for counts in (pair.original, pair.new)
    )
    if None in right or None in new_right:
        return None
    old, new = np.array(right, dtype=np.float64), np.array(new_right, dtype=np.float64)
    changes = new / both.new_images - old / both.images
    noise = [] if both.noise is None else [part.top5 for part in both.noise if part.top5 is not None]
    if len(noise) == 2:
        return two_way_mean(changes, noise[0] + noise[1], confidence=confidence)
    return _bounded_mean(changes, (old, both.images), (new, both.new_images), confidence)


def _bounded_mean(
    changes: FloatArray,
    counts: tuple[IntArray | FloatArray, IntArray],
    new_counts: tuple[IntArray | FloatArray, IntArray],
    confidence: float,
) -> Estimate:
    """The mean over models if only counts are known, assuming the largest possible overlap of errors."""
    most = largest_covariance(*counts) + largest_covariance(*new_counts)
    mean = two_way_mean(changes, most, confidence=confidence)
    return replace(mean, method=f"{mean.method}, bounded from counts")


def _top5(counts: ModelCounts, confidence: float) -> Estimate | None:
    if counts.expected_top5 is not None or counts.right_top5 is None:
        return counts.expected_top5
    return proportions([round(counts.right_top5)], [counts.images], confidence=confidence)[0]


def _original_name(pairs: Sequence[SetPair]) -> str:
    """The name of the original set; inconsistent pairs raise."""
    originals = list(dict.fromkeys(pair.original.test_set for pair in pairs))
    if len(originals) != 1:
        raise InputError(f"a generalization study needs one original test set, got {', '.join(originals) or 'none'}")
    new = [pair.new.test_set for pair in pairs]
    if originals[0] in new:
        raise InputError(f"{originals[0]} is given both as the original and as a new test set")
    if len(set(new)) < len(new):
        raise InputError("a new test set is named twice")
    return originals[0]


def _check_standard(standard: Sequence[str], pairs: Sequence[SetPair]) -> None:
    models = {model for pair in pairs for model in (*pair.original.models, *pair.new.models)}
    for model in standard:
        if model not in models:
            raise UnknownName("standard model", model, sorted(models))


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
