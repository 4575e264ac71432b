"""Generalization: do accuracies carry over to test sets collected anew? (Recht et al. 2019)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, InputError, UnknownName
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.names import refuse_text
from regrade.stats import (
    Scale,
    bonferroni_confidence,
    bootstrap_line,
    largest_covariance,
    mark_simultaneous,
    two_way_mean,
)
from regrade.studies.generalization.explanations import adaptivity_of, difficulty_of, loss_parts
from regrade.studies.generalization.measure import TOP1, AccuracyMeasure
from regrade.studies.generalization.paired_counts import (
    PairedCounts,
    SetPair,
    on_one_set,
    paired_counts,
    paired_people,
)
from regrade.studies.generalization.result import Generalization, ModelShift, PersonShift, SetShift
from regrade.studies.generalization.rows import model_rows, person_rows
from regrade.studies.generalization.shift_line import ShiftLine, shift_line
from regrade.studies.generalization.unjudged import unjudged_of
from regrade.studies.lines import clip_to_scale


def generalization(
    pairs: Sequence[SetPair],
    *,
    rng: np.random.Generator,
    scale: Scale = Scale.LOGIT,
    standard: Sequence[str] = (),
    confidence: float = 0.95,
    draws: int = 0,
    band_points: int = 100,
    measure: AccuracyMeasure = TOP1,
) -> Generalization:
    """Compare accuracies of models on an original test set and on one or more new ones.

    Lines are fitted through all models, or through those named ``standard``, and never through people; effective
    robustness is relative to the line on ``scale``. ``measure`` says what the counts are. Models with predictions on
    one set of a pair only are left out and named. Fewer than three models on both sets, or equal accuracies of all
    models on the original, raise. Intervals of means and lines cover the sampling of models and of images; ``draws``
    bootstrap draws of models add percentile intervals as in papers.
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
    order = [pair.new.test_set for pair in pairs]
    rows = sorted(
        (row for part in studied for row in part.rows),
        key=lambda row: (-row.original.value, row.model, order.index(row.new_set)),
    )
    people = sorted(
        (row for part in studied for row in part.people),
        key=lambda row: (-row.original.value, row.person, order.index(row.new_set)),
    )
    notes = dict.fromkeys(note for pair in pairs for note in (*pair.original.notes, *pair.new.notes))
    return Generalization(
        original,
        scale,
        confidence,
        tuple(part.shift for part in studied),
        tuple(rows),
        tuple(notes),
        tuple(people) or None,
        None if measure == TOP1 else measure,
    )


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
class _StudiedPair:
    """The result for one new test set."""

    shift: SetShift
    rows: list[ModelShift]
    people: list[PersonShift]


def _study_pair(pair: SetPair, options: _LineOptions, rng: np.random.Generator) -> _StudiedPair:
    both, confidence = paired_counts(pair, options.standard), options.confidence
    by_scale = {scale: _drawn_line(both, scale, options, rng) for scale in Scale}
    slope, probit_slope = (_simultaneous_slope(both, scale, options) for scale in (Scale.LINEAR, Scale.PROBIT))
    change, unjudged = _mean_change(both, confidence), unjudged_of(both)
    shift = SetShift(
        pair.new.test_set,
        len(both.models),
        int(both.standard.sum()),
        change,
        _top5_change(pair, both, confidence),
        tuple(by_scale.values()),
        difficulty_of(by_scale[Scale.PROBIT]),
        loss_parts(*both.shares, confidence=confidence),
        adaptivity_of(slope, probit_slope, change.value, unjudged),
        on_one_set(pair),
        unjudged,
        both.shares[0].best(confidence),
    )
    people, new = paired_people(pair), pair.new.test_set
    return _StudiedPair(
        shift,
        model_rows(pair, both, options.scale, confidence),
        [] if people is None else person_rows(new, people, both, options.scale, confidence),
    )


def _simultaneous_slope(both: PairedCounts, scale: Scale, options: _LineOptions) -> Estimate | None:
    """The slope on a scale, with an interval that holds for all new sets together."""
    slope = _line(both, scale, bonferroni_confidence(options.sets, options.confidence), 0).slope
    return None if slope is None else mark_simultaneous(slope, options.sets, confidence=options.confidence)


def _drawn_line(both: PairedCounts, scale: Scale, options: _LineOptions, rng: np.random.Generator) -> ShiftLine:
    """The line on a scale, with bootstrap draws if there are any."""
    line = _line(both, scale, options.confidence, options.band_points if scale is options.scale else 0)
    if not options.draws:
        return line
    drawn = bootstrap_line(
        *_line_points(both, scale), rng=rng, scale=scale, draws=options.draws, confidence=options.confidence,
        band_points=0,
    )  # fmt: skip
    return replace(line, published=drawn)


def _line(both: PairedCounts, scale: Scale, confidence: float, band_points: int) -> ShiftLine:
    chosen = both.standard
    line = shift_line(
        *_line_points(both, scale),
        scale,
        noise=_chosen_noise(both),
        images=(both.images[chosen], both.new_images[chosen]),
        confidence=confidence,
        band_points=band_points,
    )
    if line.slope is None or line.intercept is None:
        return line
    return replace(line, slope=_over_units(line.slope, both), intercept=_over_units(line.intercept, both))


def _line_points(both: PairedCounts, scale: Scale) -> tuple[FloatArray, FloatArray]:
    """The accuracies of the standard models on both sets, clipped to the scale."""
    x = clip_to_scale(both.right / both.images, both.images, scale)[both.standard]
    y = clip_to_scale(both.new_right / both.new_images, both.new_images, scale)[both.standard]
    return x, y


def _chosen_noise(both: PairedCounts) -> tuple[FloatArray, FloatArray] | None:
    if both.noise is None:
        return None
    part = np.ix_(both.standard, both.standard)
    return both.noise[0].top1[part], both.noise[1].top1[part]


def _mean_change(both: PairedCounts, confidence: float) -> Estimate:
    """The mean over models, with an interval for the sampling of models and of images."""
    changes = both.new_right / both.new_images - both.right / both.images
    if both.noise is not None:
        return _over_units(two_way_mean(changes, both.noise[0].top1 + both.noise[1].top1, confidence=confidence), both)
    return _bounded_mean(changes, (both.right, both.images), (both.new_right, both.new_images), confidence)


def _top5_change(pair: SetPair, both: PairedCounts, confidence: float) -> Estimate | None:
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
        return _over_units(two_way_mean(changes, noise[0] + noise[1], confidence=confidence), both)
    return _bounded_mean(changes, (old, both.images), (new, both.new_images), confidence)


def _over_units(estimate: Estimate, both: PairedCounts) -> Estimate:
    """An estimate over models and images, whose method says if images come in clusters."""
    method = estimate.method.replace("images", "clusters") if both.over_clusters else estimate.method
    return replace(estimate, method=method)


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
