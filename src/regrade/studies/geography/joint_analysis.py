"""Analyses over all models: progress rates and growth of disparity, or the reason why they are undefined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import InputError, UndefinedError, UnknownName
from regrade.core.arrays import BoolArray, FloatArray
from regrade.stats import accuracy_covariance, extremes_differ, largest_covariance, slope_deviation, spread_beyond_noise
from regrade.studies.geography.group_frame import NO_GROUP, GroupFrame, ModelCorrectness, few
from regrade.studies.geography.progress import DisparityGrowth, Progress, disparity_growth, progress_of
from regrade.studies.geography.result import ModelByGroup
from regrade.studies.set_counts import SetCounts

_GROWTH_GROUPS = 100  # most groups for which all pairs of differences are compared


@dataclass(frozen=True)
class Benchmarks:
    """The name of the geographic set, and the counts of models on the original and standard sets."""

    geographic: str
    original: SetCounts | None
    standard: tuple[SetCounts, ...]


@dataclass(frozen=True)
class IntervalOptions:
    """Options of the intervals over models."""

    rng: np.random.Generator
    draws: int
    confidence: float


def progress_over(
    rows: Sequence[ModelByGroup],
    judged: Sequence[ModelCorrectness],
    sets: Benchmarks,
    frame: GroupFrame,
    options: IntervalOptions,
) -> tuple[Progress | None, tuple[str, ...]]:
    """Return the progress over models that have predictions on all sets (or None), and notes."""
    if sets.original is None:
        return None, ()
    if len(frame.names) < 2:
        return None, (f"no progress rates by {frame.grouping.column}: there is one group only",)
    counts = [sets.original, *sets.standard]
    kept = [row for row in rows if row.disparity and all(row.model in on_set.models for on_set in counts)]
    models = {model for on_set in counts for model in on_set.models} | {row.model for row in rows}
    left_out = sorted(models - {row.model for row in kept})
    notes = (f"not on all test sets or not in all groups, left out of progress: {few(left_out)}",) if left_out else ()
    if not kept:
        return None, ("no progress rates: no model is on all test sets and in all groups", *notes)

    def accuracies(on_set: SetCounts) -> FloatArray:
        per_model = [on_set.models[row.model] for row in kept]
        return np.array([model.right / model.images for model in per_model])

    x = accuracies(sets.original)
    by_name = {model.model: model for model in judged}

    def image_deviation(best: str, worst: str) -> float:
        return _image_deviation(x, [by_name[row.model] for row in kept], frame, best, worst)

    try:
        progress = progress_of(
            (sets.original.test_set, x),
            (sets.geographic, np.array([row.overall.value for row in kept])),
            {on_set.test_set: accuracies(on_set) for on_set in sets.standard},
            {name: _in_group(kept, place) for place, name in enumerate(frame.names)},
            np.array([row.disparity.value.value for row in kept if row.disparity]),
            noise=_noise(kept, by_name, sets, frame),
            image_deviation=image_deviation,
            settled=_extremes_settled([by_name[row.model] for row in kept], frame, options.confidence),
            models=tuple(row.model for row in kept),
            rng=options.rng,
            draws=options.draws,
            confidence=options.confidence,
        )
    except UndefinedError as error:
        return None, (f"no progress rates: {error}", *notes)
    return progress, (_attenuation_note(sets.original, x, progress.models), *notes)


def _attenuation_note(original: SetCounts, x: FloatArray, models: Sequence[str]) -> str:
    """How much the sampling noise of the original attenuates all rates, which are not corrected for it."""
    reliability, _ = spread_beyond_noise(x, _set_noise(original, models))
    share = 100 * float(np.clip(1 - reliability, 0, 1))
    return (
        f"rates are for points as measured on {original.test_set}: chance of its images is {share:.1f}% of the models' "
        "spread there and makes every rate smaller by about as much, but no ratio of rates"
    )


def _noise(
    rows: Sequence[ModelByGroup], by_name: Mapping[str, ModelCorrectness], sets: Benchmarks, frame: GroupFrame
) -> dict[str, FloatArray]:
    """Sampling covariances (m, m) of accuracies on the geographic set, its groups of 2+ units and standard sets."""
    names = [row.model for row in rows]
    models, members = [by_name[name] for name in names], frame.grouping.members
    parts = {name: members == place for place, name in enumerate(frame.names)}
    several = {name: part for name, part in parts.items() if _units(models, frame, part) > 1}
    groups = {name: _geographic_noise(models, frame, part) for name, part in several.items()}
    standard = {counts.test_set: _set_noise(counts, names) for counts in sets.standard}
    return groups | standard | {sets.geographic: _geographic_noise(models, frame, members != NO_GROUP)}


def _units(models: Sequence[ModelCorrectness], frame: GroupFrame, part: BoolArray) -> int:
    """The smallest number of images, or clusters, of a group that count for a model."""
    if frame.clusters is None:
        return min(int(model.counted[part].sum()) for model in models)
    return min(len(np.unique(frame.clusters[part & model.counted])) for model in models)


def _set_noise(counts: SetCounts, models: Sequence[str]) -> FloatArray:
    """The covariance from the models' correctness, or the largest possible one if only counts are known."""
    if counts.noise is not None and counts.noise.covers(models):
        return counts.noise.of(models).top1
    per_model = [counts.models[model] for model in models]
    return largest_covariance([model.right for model in per_model], [model.images for model in per_model])


def _geographic_noise(models: Sequence[ModelCorrectness], frame: GroupFrame, inside: BoolArray) -> FloatArray:
    """The covariance of the accuracies on the images ``inside`` (n,), over images or clusters."""
    right = np.stack([model.right[inside] for model in models])
    counted = np.stack([model.counted[inside] for model in models])
    return accuracy_covariance(right, counted, None if frame.clusters is None else frame.clusters[inside])


def _image_deviation(
    x: FloatArray, models: Sequence[ModelCorrectness], frame: GroupFrame, best: str, worst: str
) -> float:
    """The standard error over images of the slope of best - worst group, on images that count for all models."""
    shared = np.logical_and.reduce([model.counted for model in models])
    members = frame.grouping.members
    inside = shared & np.isin(members, [frame.names.index(best), frame.names.index(worst)])
    second = members[inside] == frame.names.index(worst)
    if second.all() or not second.any() or best == worst:
        raise UndefinedError(f"the models share no image of {best} or of {worst}")
    correct = np.stack([model.right[inside] for model in models])
    return slope_deviation(x, correct, second, None if frame.clusters is None else frame.clusters[inside])


def _extremes_settled(models: Sequence[ModelCorrectness], frame: GroupFrame, confidence: float) -> bool:
    """Whether the best and the worst group (by mean over models) differ significantly, on images that count for all."""
    if not models:
        return False
    shared = np.logical_and.reduce([model.counted for model in models])
    if len(np.unique(frame.grouping.members[shared & (frame.grouping.members != NO_GROUP)])) < len(frame.names):
        return False
    scores = np.mean([model.right for model in models], axis=0)
    return extremes_differ(frame.shares(scores, shared), confidence=confidence)


def _in_group(rows: Sequence[ModelByGroup], place: int) -> FloatArray:
    return np.array([accuracy.value for row in rows if (accuracy := row.groups[place])])


def growth_over(
    rows: Sequence[ModelByGroup],
    judged: Sequence[ModelCorrectness],
    frame: GroupFrame,
    named: tuple[str, str] | None,
    *,
    confidence: float,
) -> tuple[DisparityGrowth | None, tuple[str, ...]]:
    """Return the growth of disparity from the weakest to the best models (or None), and notes."""
    with_disparity = {row.model: row for row in rows if row.disparity}
    for model in named or ():
        if model not in {row.model for row in rows}:
            raise UnknownName("model", model, sorted(row.model for row in rows))
        if model not in with_disparity:
            return None, (f"no growth of disparity: {model} has none",)
    if named and named[0] == named[1]:
        raise InputError("growth of disparity needs two different models")
    sides = ((named[0],), (named[1],)) if named else _quarters(list(with_disparity.values()))
    if sides is None:
        return None, ()
    if len(frame.names) > _GROWTH_GROUPS:
        return None, (f"no growth of disparity: more than {_GROWTH_GROUPS} groups",)
    place = {model.model: i for i, model in enumerate(judged)}
    chosen = [judged[place[model]] for side in sides for model in side]
    shared = np.logical_and.reduce([model.counted for model in chosen]) & (frame.grouping.members != NO_GROUP)
    members = frame.grouping.members[shared]
    if len(np.unique(members)) < len(frame.names):
        return None, ("no growth of disparity: the models share no image of some group",)
    row_of = {model.model: i for i, model in enumerate(chosen)}
    best, weakest = ({model: row_of[model] for model in side} for side in sides)
    return (
        disparity_growth(
            np.stack([model.right[shared] for model in chosen]),
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
    """The best and the weakest quarter of models on the original, at least one each; None with fewer than two."""
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
