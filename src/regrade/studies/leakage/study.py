"""Is the test set in the training set? Pairs of alike images, and what they do to labels and accuracies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, InputError, MismatchError, NearPairs, Predictions, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import (
    components,
    fisher_exact,
    holm,
    independent_difference,
    kept_of_each,
    part_effect,
    proportion,
)
from regrade.stats.intervals import method_name
from regrade.studies.leakage.pairs import labels_differ, leaked_pairs
from regrade.studies.leakage.result import (
    ANY,
    DistanceResult,
    DuplicateGroup,
    Leakage,
    LeakedModel,
    NearestBar,
    SkippedImage,
)
from regrade.studies.scoring import Scoring

_STEPS, _FURTHEST = 16, 4.0  # bars of the distances, up to so many cuts


def leakage(
    test_set: TestSet,
    pairs: Sequence[NearPairs],
    predictions: Iterable[tuple[Predictions, Scoring]] = (),
    *,
    against: TestSet | None = None,
    preference: IntArray | None = None,
    unreadable: Mapping[str, Mapping[str, str]] | None = None,
    confidence: float = 0.95,
) -> Leakage:
    """Study which images of a test set have near duplicates ``against`` another set or within it, by each distance.

    Within one set, of each group that hangs together the image with the highest ``preference`` (n,) is kept, else the
    first, and the others are found. ``unreadable`` gives for each set the images that could not be compared. An image
    that could not be compared by every distance, and was not found by any, is in neither half of the accuracies.
    """
    _check(test_set, pairs, against)
    others = test_set if against is None else against
    size, within = len(test_set), against is None
    preferred = np.zeros(size, dtype=np.int64) if preference is None else preference
    whole = _split(ANY, None, pairs, preferred if within else None)
    splits = [whole, *(_split(one.distance.value, one.cut, [one], preferred if within else None) for one in pairs)]
    return Leakage(
        test_set.name,
        None if against is None else against.name,
        size,
        len(others),
        tuple(_found_by(one, test_set, others, confidence) for one in splits),
        _models(predictions, splits, confidence),
        leaked_pairs(pairs, test_set, others),
        _groups(whole, test_set) if within else (),
        tuple(bar for one in pairs for bar in _bars(one)),
        tuple(
            SkippedImage(name, image, reason)
            for name, reasons in (unreadable or {}).items()
            for image, reason in reasons.items()
        ),
        confidence,
        tuple(f"{one.distance.value}: {one.note}" for one in pairs if one.note),
    )


@dataclass(frozen=True, eq=False)
class _Split:
    """Images (n,) that are found and those that are not; an image that could not be compared is neither."""

    distance: str
    cut: float | None
    first: IntArray
    second: IntArray
    found: BoolArray
    looked_at: BoolArray
    crowded: int


def _split(name: str, cut: float | None, pairs: Sequence[NearPairs], preference: IntArray | None) -> _Split:
    """What some distances find together; with a preference, within one set, it is the surplus that is found."""
    edges = np.unique(np.concatenate([np.column_stack([one.first, one.second]) for one in pairs]), axis=0)
    first, second = edges[:, 0].astype(np.int64), edges[:, 1].astype(np.int64)
    twins = np.zeros(len(pairs[0].seen), dtype=bool)
    twins[first] = True
    found = twins
    if preference is not None:
        twins[second] = True
        found = ~kept_of_each(components(first, second, len(twins)), preference)
    looked_at = np.logical_and.reduce([one.seen for one in pairs]) | twins
    return _Split(name, cut, first, second, found, looked_at, max(one.crowded for one in pairs))


def _found_by(split: _Split, test_set: TestSet, against: TestSet, confidence: float) -> DistanceResult:
    compared, found = int(split.looked_at.sum()), int(split.found.sum())
    both, differ = labels_differ(split.first, split.second, test_set, against)
    labeled, differing = (np.zeros(len(test_set), dtype=bool) for _ in range(2))
    labeled[split.first[both]], differing[split.first[differ]] = True, True
    if against is test_set:
        labeled[split.second[both]], differing[split.second[differ]] = True, True
    with_label = int(labeled.sum())
    return DistanceResult(
        split.distance,
        split.cut,
        len(split.first),
        found,
        proportion(found, compared, confidence=confidence) if compared else None,
        with_label,
        proportion(int(differing.sum()), with_label, confidence=confidence) if with_label else None,
        split.crowded,
    )


def _models(
    predictions: Iterable[tuple[Predictions, Scoring]], splits: Sequence[_Split], confidence: float
) -> tuple[LeakedModel, ...]:
    """Every model on every split, best first on all images."""
    rows = []
    for answers, scoring in predictions:
        right = scoring.top_k(answers, 1).right
        counted = scoring.counted & answers.counted
        rows += [one for split in splits if (one := _model(answers.model, right, counted, split, confidence))]
    best = {one.model: one.all.value for one in rows if one.distance == ANY}
    corrected = [row for split in splits for row in _corrected([one for one in rows if one.distance == split.distance])]
    return tuple(sorted(corrected, key=lambda one: (-best.get(one.model, 0.0), one.model)))


def _corrected(rows: Sequence[LeakedModel]) -> list[LeakedModel]:
    """Models on one split, with p-values corrected for all that have one."""
    adjusted = iter(holm([row.p_value for row in rows if row.p_value is not None]))
    return [row if row.p_value is None else replace(row, holm=float(next(adjusted))) for row in rows]


def _model(model: str, right: BoolArray, counted: BoolArray, split: _Split, confidence: float) -> LeakedModel | None:
    inside, outside = counted & split.found & split.looked_at, counted & ~split.found & split.looked_at
    counts = [int((right & part).sum()) for part in (inside, outside)]
    sizes = [int(part.sum()) for part in (inside, outside)]
    if not sum(sizes):
        return None
    found, others = (proportion(k, n, confidence=confidence) if n else None for k, n in zip(counts, sizes, strict=True))
    whole = proportion(sum(counts), sum(sizes), confidence=confidence)
    if not found or not others:
        return LeakedModel(model, split.distance, whole, found, others, None, None)
    table = counts[0], sizes[0], counts[1], sizes[1]
    difference, change = duplicate_effects(*table, confidence=confidence)
    return LeakedModel(model, split.distance, whole, found, others, difference, change, fisher_exact(*table))


def duplicate_effects(
    right: int, found: int, right_others: int, others: int, *, confidence: float
) -> tuple[Estimate, Estimate]:
    """Accuracy on found images, and on all, less that on the others."""
    n, value = found + others, right / found - right_others / others
    apart = independent_difference(right, found, right_others, others, confidence=confidence)
    added = part_effect(right, found, right_others, others, confidence=confidence)
    names = (method_name(method, confidence) for method in ("newcombe", "newcombe times wilson"))
    difference, change = (
        Estimate(scale * value, float(bounds.low), float(bounds.high), n, name)
        for scale, bounds, name in zip((1.0, found / n), (apart, added), names, strict=True)
    )
    return difference, change


def _groups(split: _Split, test_set: TestSet) -> tuple[DuplicateGroup, ...]:
    numbers = components(split.first, split.second, len(test_set))
    members: dict[int, list[int]] = {}
    for position in np.unique(np.concatenate([split.first, split.second])).tolist():
        members.setdefault(int(numbers[position]), []).append(position)
    return tuple(
        DuplicateGroup(
            next(test_set.ids[i] for i in group if not split.found[i]),
            tuple(test_set.ids[i] for i in group if split.found[i]),
        )
        for group in members.values()
    )


def _bars(one: NearPairs) -> list[NearestBar]:
    """How far the nearest neighbors are, in units of the cut; a distance that only says yes or no has no bars."""
    if not one.cut:
        return []
    values = one.nearest[np.isfinite(one.nearest)] / one.cut
    edges = np.linspace(0, _FURTHEST, _STEPS + 1)
    # a neighbor at the cut is within it, so that bars are open below and closed above
    places = np.maximum(np.searchsorted(edges, values, side="left") - 1, 0)
    counts = np.bincount(places, minlength=_STEPS + 1)
    highs = [*edges[1:].tolist(), None]
    return [
        NearestBar(one.distance.value, low, high, int(count))
        for low, high, count in zip(edges.tolist(), highs, counts, strict=True)
    ]


def _check(test_set: TestSet, pairs: Sequence[NearPairs], against: TestSet | None) -> None:
    if not pairs:
        raise InputError("a study of leakage needs the pairs of at least one distance")
    names = [one.distance for one in pairs]
    if len(set(names)) < len(names):
        raise InputError("a distance is given twice")
    size = len(test_set if against is None else against)
    for one in pairs:
        if len(one.seen) != len(test_set) or one.second.max(initial=-1) >= size:
            raise MismatchError(f"the pairs by {one.distance.value} are not of {test_set.name}")
        if against is None and np.any(one.first >= one.second):
            raise MismatchError("within one set, the first of a pair stands before the second")
