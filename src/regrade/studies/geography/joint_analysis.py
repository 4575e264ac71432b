"""What models show together: progress over models, and the growth of disparity; or why it cannot be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import InputError, UndefinedError, UnknownName
from regrade.core.arrays import BoolArray, FloatArray
from regrade.stats import accuracy_covariance, extremes_apart, largest_covariance, slope_deviation, spread_of
from regrade.studies.geography.group_frame import GroupFrame, ModelCorrectness, few
from regrade.studies.geography.grouping import NO_GROUP
from regrade.studies.geography.growth import DisparityGrowth, disparity_growth
from regrade.studies.geography.progress import Progress, progress_of
from regrade.studies.geography.result import ModelByGroup
from regrade.studies.set_counts import SetCounts

_GROWTH_GROUPS = 100  # up to which all pairs of differences are held against each other


@dataclass(frozen=True)
class Benchmarks:
    """The geographic set by name, and the counts of models on the others."""

    geographic: str
    original: SetCounts | None
    standard: tuple[SetCounts, ...]


@dataclass(frozen=True)
class IntervalOptions:
    """How intervals over models are made."""

    rng: np.random.Generator
    draws: int
    confidence: float


def progress_over(
    rows: Sequence[ModelByGroup],
    judged: Sequence[ModelCorrectness],
    sets: Benchmarks,
    frame: GroupFrame,
    how: IntervalOptions,
) -> tuple[Progress | None, tuple[str, ...]]:
    """Progress over the models that are everywhere, or none; and what a reader must know of either."""
    if sets.original is None:
        return None, ()
    if len(frame.names) < 2:
        return None, (f"no progress rates by {frame.grouping.column}: there is one group only",)
    everywhere = [sets.original, *sets.standard]
    kept = [row for row in rows if row.disparity and all(row.model in one.models for one in everywhere)]
    models = {model for one in everywhere for model in one.models} | {row.model for row in rows}
    left_out = sorted(models - {row.model for row in kept})
    notes = (f"not on all test sets or not in all groups, left out of progress: {few(left_out)}",) if left_out else ()
    if not kept:
        return None, ("no progress rates: no model is on all test sets and in all groups", *notes)

    def accuracies(one: SetCounts) -> FloatArray:
        counts = [one.models[row.model] for row in kept]
        return np.array([each.right / each.images for each in counts])

    x = accuracies(sets.original)
    answers = {one.model: one for one in judged}

    def image_deviation(best: str, worst: str) -> float:
        return _image_deviation(x, [answers[row.model] for row in kept], frame, best, worst)

    try:
        found = progress_of(
            (sets.original.test_set, x),
            (sets.geographic, np.array([row.overall.value for row in kept])),
            {one.test_set: accuracies(one) for one in sets.standard},
            {name: _in_group(kept, place) for place, name in enumerate(frame.names)},
            np.array([row.disparity.value.value for row in kept if row.disparity]),
            noise=_noise(kept, answers, sets, frame),
            image_deviation=image_deviation,
            settled=_extremes_settled([answers[row.model] for row in kept], frame, how.confidence),
            models=tuple(row.model for row in kept),
            rng=how.rng,
            draws=how.draws,
            confidence=how.confidence,
        )
    except UndefinedError as error:
        return None, (f"no progress rates: {error}", *notes)
    return found, (_flattened(sets.original, x, found.models), *notes)


def _flattened(original: SetCounts, x: FloatArray, models: Sequence[str]) -> str:
    """How much the noise of the original's images flattens all rates, which are not corrected for it."""
    reliability, _ = spread_of(x, _set_noise(original, models))
    share = 100 * float(np.clip(1 - reliability, 0, 1))
    return (
        f"rates are for points as measured on {original.test_set}: chance of its images is {share:.1f}% of the models' "
        "spread there and makes every rate smaller by about as much, but no ratio of rates"
    )


def _noise(
    rows: Sequence[ModelByGroup], answers: Mapping[str, ModelCorrectness], sets: Benchmarks, frame: GroupFrame
) -> dict[str, FloatArray]:
    """How accuracies on the geographic set, its groups of several images and the standard sets vary over images.

    Shape (m, m) each.
    """
    models = [row.model for row in rows]
    own, members = [answers[model] for model in models], frame.grouping.members
    parts = {name: members == place for place, name in enumerate(frame.names)}
    several = {name: part for name, part in parts.items() if min(model.counted[part].sum() for model in own) > 1}
    groups = {name: _geographic_noise(own, frame, part) for name, part in several.items()}
    standard = {counts.test_set: _set_noise(counts, models) for counts in sets.standard}
    return groups | standard | {sets.geographic: _geographic_noise(own, frame, members != NO_GROUP)}


def _set_noise(counts: SetCounts, models: Sequence[str]) -> FloatArray:
    """From what models have right, or, where only counts are known, as if they erred on the same images."""
    if counts.noise is not None and counts.noise.covers(models):
        return counts.noise.of(models).top1
    own = [counts.models[model] for model in models]
    return largest_covariance([model.right for model in own], [model.images for model in own])


def _geographic_noise(answers: Sequence[ModelCorrectness], frame: GroupFrame, inside: BoolArray) -> FloatArray:
    """Of the accuracies on the images ``inside`` (n,), over images or over clusters of them."""
    right = np.stack([model.right[inside] for model in answers])
    counted = np.stack([model.counted[inside] for model in answers])
    if frame.clusters is None:
        return accuracy_covariance(right, counted)
    images = counted.sum(axis=1, keepdims=True)
    errors = np.where(counted, right - (right & counted).sum(axis=1, keepdims=True) / images, 0.0) / images
    parts = np.unique(frame.clusters[inside], return_inverse=True)[1]
    sums = np.stack([np.bincount(parts, weights=row) for row in errors])
    clusters = sums.shape[1]
    return sums @ sums.T * clusters / max(clusters - 1, 1)


def _image_deviation(
    x: FloatArray, answers: Sequence[ModelCorrectness], frame: GroupFrame, best: str, worst: str
) -> float:
    """How much the slope of the best group less the worst varies over images that count for all models."""
    shared = np.logical_and.reduce([one.counted for one in answers])
    members = frame.grouping.members
    inside = shared & np.isin(members, [frame.names.index(best), frame.names.index(worst)])
    second = members[inside] == frame.names.index(worst)
    if second.all() or not second.any() or best == worst:
        raise UndefinedError(f"the models share no image of {best} or of {worst}")
    correct = np.stack([one.right[inside] for one in answers])
    return slope_deviation(x, correct, second, None if frame.clusters is None else frame.clusters[inside])


def _extremes_settled(answers: Sequence[ModelCorrectness], frame: GroupFrame, confidence: float) -> bool:
    """Whether the best and the worst group in the mean over models differ for sure, on images that count for all."""
    if not answers:
        return False
    shared = np.logical_and.reduce([one.counted for one in answers])
    if len(np.unique(frame.grouping.members[shared & (frame.grouping.members != NO_GROUP)])) < len(frame.names):
        return False
    scores = np.mean([one.right for one in answers], axis=0)
    return extremes_apart(frame.shares(scores, shared), confidence=confidence)


def _in_group(rows: Sequence[ModelByGroup], place: int) -> FloatArray:
    return np.array([found.value for row in rows if (found := row.groups[place])])


def growth_over(
    rows: Sequence[ModelByGroup],
    judged: Sequence[ModelCorrectness],
    frame: GroupFrame,
    named: tuple[str, str] | None,
    *,
    confidence: float,
) -> tuple[DisparityGrowth | None, tuple[str, ...]]:
    """The best models' disparity over the weakest models', or none; and why."""
    known = {row.model: row for row in rows if row.disparity}
    for model in named or ():
        if model not in {row.model for row in rows}:
            raise UnknownName("model", model, sorted(row.model for row in rows))
        if model not in known:
            return None, (f"no growth of disparity: {model} has none",)
    if named and named[0] == named[1]:
        raise InputError("growth of disparity is between two different models")
    sides = ((named[0],), (named[1],)) if named else _quarters(list(known.values()))
    if sides is None:
        return None, ()
    if len(frame.names) > _GROWTH_GROUPS:
        return None, (f"no growth of disparity: more than {_GROWTH_GROUPS} groups",)
    place = {one.model: i for i, one in enumerate(judged)}
    chosen = [judged[place[model]] for side in sides for model in side]
    shared = np.logical_and.reduce([one.counted for one in chosen]) & (frame.grouping.members != NO_GROUP)
    members = frame.grouping.members[shared]
    if len(np.unique(members)) < len(frame.names):
        return None, ("no growth of disparity: the models share no image of some group",)
    row_of = {one.model: i for i, one in enumerate(chosen)}
    best, weakest = ({model: row_of[model] for model in side} for side in sides)
    return (
        disparity_growth(
            np.stack([one.right[shared] for one in chosen]),
            members,
            None if frame.clusters is None else frame.clusters[shared],
            best=best,
            weakest=weakest,
            chosen=_in_words(sides, named),
            confidence=confidence,
        ),
        (),
    )


def _quarters(rows: Sequence[ModelByGroup]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The best and the weakest quarter on the original, one model each at the least; none without two models on it."""
    ordered = sorted((-row.original.value, row.model) for row in rows if row.original)
    if len(ordered) < 2:
        return None
    size = max(1, len(ordered) // 4)
    names = [model for _, model in ordered]
    return tuple(names[:size]), tuple(names[-size:])


def _in_words(sides: tuple[tuple[str, ...], tuple[str, ...]], named: tuple[str, str] | None) -> str:
    if named or len(sides[0]) == 1:
        return f"{sides[0][0]} against {sides[1][0]}"
    return f"the best quarter on the original ({len(sides[0])} models) against the weakest"
