"""The geography study: accuracy of every model in every group of images, and progress rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from regrade.core import Estimate, InputError, Predictions, TestSet, UndefinedError, UnknownName
from regrade.core.arrays import IntArray
from regrade.core.names import refuse_text
from regrade.stats import (
    GroupShares,
    bonferroni_confidence,
    extremes_differ,
    group_shares,
    mark_simultaneous,
    proportion,
    proportions,
    share_difference,
    share_noise,
    share_range,
    smallest_share,
)
from regrade.stats.intervals import method_name
from regrade.studies.geography.group_frame import (
    NO_GROUP,
    GroupFrame,
    ModelCorrectness,
    correctness_of,
    few,
    frame_of,
    grouping,
)
from regrade.studies.geography.joint_analysis import Benchmarks, IntervalOptions, growth_over, progress_over
from regrade.studies.geography.result import Disparity, Geography, ModelByGroup
from regrade.studies.lines import DRAWS
from regrade.studies.scoring import Scoring
from regrade.studies.set_counts import SetCounts

_SMALL = 30  # groups with fewer images are listed in a note


def geography(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    by: str,
    rng: np.random.Generator,
    top: int = 1,
    clusters: str | None = None,
    parts: int | None = None,
    between: Sequence[tuple[str, str]] = (),
    original: SetCounts | None = None,
    standard: Sequence[SetCounts] = (),
    growth: tuple[str, str] | None = None,
    confidence: float = 0.95,
    draws: int = DRAWS,
) -> Geography:
    """Study models by the groups of a column such as region, country or income; numbers are split into ``parts``.

    A prediction is right if the label, or a class mapped to it, is among the top ``top``. Images with the same value in
    the column ``clusters`` are treated as dependent (default: the column ``household``, if present). ``between`` names
    pairs of groups to compare. With the ``original`` test set there are progress rates, and with ``standard`` sets
    progress gaps, over the models that have predictions on all of them (top-1). ``growth`` names a strong and a weak
    model whose disparities are compared (default: the best and the weakest quarter on the original). Undefined results
    are None, and the notes explain why.
    """
    refuse_text(between, "between")
    _each_once(test_set.name, original, standard)
    groups = grouping(test_set, by, parts=parts)
    for name in (name for pair in between for name in pair):
        if name not in groups.names:
            raise UnknownName(f"{by} of {test_set.name}", name, groups.names)
    if same := [first for first, second in between if first == second]:
        raise InputError(f"a difference needs two different groups, got {same[0]} twice")
    judged = [correctness_of(model, scoring, top) for model, scoring in predictions]
    if not judged:
        raise InputError(
            f"no model has predictions on {test_set.name} yet: regrade predict, or regrade import predictions"
        )
    frame = frame_of(test_set, groups, clusters, judged)
    rows = [model_row(model, frame, between, original, confidence) for model in judged]
    rows.sort(key=lambda row: (-row.overall.value, row.model))
    benchmarks, options = Benchmarks(test_set.name, original, tuple(standard)), IntervalOptions(rng, draws, confidence)
    progress, progress_notes = progress_over(rows, judged, benchmarks, frame, options)
    disparity, growth_notes = growth_over(rows, judged, frame, growth, confidence=confidence)
    set_notes = _set_notes(original, standard, top)
    rules = sorted({model.rule for model in judged} - {""})
    return Geography(
        test_set.name,
        by,
        top,
        confidence,
        frame.column,
        frame.sizes(judged),
        groups.edges,
        tuple((first, second) for first, second in between),
        tuple(rows),
        progress,
        disparity,
        (*rules, *frame.notes, *_row_notes(rows, frame), *progress_notes, *growth_notes, *set_notes),
    )


def _each_once(test_set: str, original: SetCounts | None, standard: Sequence[SetCounts]) -> None:
    names = [test_set, *([original.test_set] if original else []), *(counts.test_set for counts in standard)]
    if len(set(names)) < len(names):
        raise InputError("a test set is named twice: the geographic, the original and standard ones are different sets")
    if standard and original is None:
        raise InputError("progress on standard test sets needs an original test set: name it too")


def _row_notes(rows: Sequence[ModelByGroup], frame: GroupFrame) -> tuple[str, ...]:
    column = frame.grouping.column
    notes = [f"intervals: {', '.join(sorted({e.method for row in rows for e in row.groups if e}))}"]
    if len(frame.names) > 1:
        notes.append(f"those of every {column} hold for all of a model together")
    if len(frame.names) == 1:
        notes.append(f"one {column} only ({frame.names[0]}): there is no disparity")
        return tuple(notes)
    if without := [row.model for row in rows if row.disparity is None]:
        notes.append(f"no image of some {column} counts for {few(without)}: no disparity")
    if any(row.disparity for row in rows):
        notes.append(
            "disparity: best less worst group; too large on average, by chance at the most as much as in that column; "
            "its interval and that of the lowest hold whichever groups are the extremes"
        )
    sizes = [max(accuracy.n for row in rows if (accuracy := row.groups[i])) for i in range(len(frame.names))]
    small = [f"{name} ({size})" for name, size in zip(frame.names, sizes, strict=True) if size < _SMALL]
    if small:
        notes.append(f"few images, which widen every disparity: {few(small)}")
    return tuple(notes)


def _set_notes(original: SetCounts | None, standard: Sequence[SetCounts], top: int) -> tuple[str, ...]:
    notes = [note for counts in ([original] if original else []) + list(standard) for note in counts.notes]
    if original and top > 1:
        notes.append(f"top-{top} on the geographic set, top-1 on the original and standard sets")
    return tuple(notes)


def model_row(
    model: ModelCorrectness,
    frame: GroupFrame,
    between: Sequence[tuple[str, str]],
    original: SetCounts | None,
    confidence: float,
) -> ModelByGroup:
    """Return the row of one model; groups without images, and numbers that need them, are None."""
    sizes = frame.counted_per_group(model)
    if not sizes.any():
        raise UndefinedError(f"no image with a {frame.grouping.column} counts for {model.model}")
    present = np.flatnonzero(sizes)
    shares = _shares_of(model, frame, present)
    place = {frame.names[group]: i for i, group in enumerate(present)}
    accuracies = dict(zip(place, _simultaneous_accuracies(shares, confidence), strict=True))
    return ModelByGroup(
        model.model,
        _overall(model, frame, confidence),
        _on_original(model.model, original, confidence),
        tuple(accuracies.get(name) for name in frame.names),
        _disparity(shares, frame, confidence) if sizes.all() and len(sizes) > 1 else None,
        tuple(
            share_difference(shares, place[first], place[second], confidence=confidence)
            if first in place and second in place
            else None
            for first, second in between
        ),
    )


def _shares_of(model: ModelCorrectness, frame: GroupFrame, present: IntArray) -> GroupShares:
    """The shares of the groups that the model has images of, in order."""
    renumbered = np.full(len(frame.names) + 1, NO_GROUP)
    renumbered[present] = np.arange(len(present))
    return frame.within(renumbered).shares(model.right, model.counted)


def _simultaneous_accuracies(shares: GroupShares, confidence: float) -> list[Estimate]:
    """The accuracy of each group, with simultaneous intervals."""
    groups = len(shares.values)
    corrected = bonferroni_confidence(groups, confidence)
    return [mark_simultaneous(share, groups, confidence=confidence) for share in group_accuracies(shares, corrected)]


def group_accuracies(shares: GroupShares, confidence: float) -> list[Estimate]:
    if shares.clusters is None:
        return proportions(np.rint(shares.values * shares.sizes).astype(np.int64), shares.sizes, confidence=confidence)
    bounds = shares.exact(confidence)
    name = method_name("clustered korn-graubard", confidence)
    rows = zip(shares.values, bounds.low, bounds.high, shares.sizes, strict=True)
    return [Estimate(float(value), float(low), float(high), int(n), name) for value, low, high, n in rows]


def _disparity(shares: GroupShares, frame: GroupFrame, confidence: float) -> Disparity:
    return Disparity(
        share_range(shares, confidence=confidence),
        share_noise(shares),
        frame.names[int(shares.values.argmax())],
        frame.names[int(shares.values.argmin())],
        extremes_differ(shares, confidence=confidence),
        smallest_share(shares, confidence=confidence),
    )


def _overall(model: ModelCorrectness, frame: GroupFrame, confidence: float) -> Estimate:
    inside = model.counted & (frame.grouping.members != NO_GROUP)
    images, right = int(inside.sum()), model.right[inside]
    if frame.clusters is None:
        return proportion(int(right.sum()), images, confidence=confidence)
    whole = group_shares(right, np.zeros(images, dtype=np.int64), frame.clusters[inside])
    return group_accuracies(whole, confidence)[0]


def _on_original(model: str, original: SetCounts | None, confidence: float) -> Estimate | None:
    if original is None or model not in original.models:
        return None
    return original.models[model].accuracy(confidence)
