"""One model in every group: accuracies, disparity, and differences of named groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regrade.core import Estimate, UndefinedError
from regrade.core.arrays import IntArray
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
from regrade.studies.geography.group_frame import GroupFrame, ModelCorrectness
from regrade.studies.geography.grouping import NO_GROUP
from regrade.studies.geography.result import Disparity, ModelByGroup
from regrade.studies.set_counts import SetCounts


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
    counts = original.models[model]
    return proportion(counts.right, counts.images, confidence=confidence)
