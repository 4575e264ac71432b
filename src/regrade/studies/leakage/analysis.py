"""The leakage study: near duplicates of a test set's images, and their effect on labels and accuracies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Distance, Estimate, InputError, MismatchError, NearPairs, Predictions, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import (
    components,
    fisher_exact,
    holm,
    independent_difference,
    proportion,
    representatives,
    subset_effect,
)
from regrade.stats.intervals import method_name
from regrade.studies.leakage.pairs import (
    Decisions,
    decided_duplicates,
    decided_pairs,
    labels_differ,
    leaked_pairs,
    with_decisions,
)
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

_STEPS, _FURTHEST = 16, 4.0  # number of histogram bars, and their range in units of the threshold


def leakage(
    test_set: TestSet,
    pairs: Sequence[NearPairs],
    predictions: Iterable[tuple[Predictions, Scoring]] = (),
    *,
    against: TestSet | None = None,
    preference: IntArray | None = None,
    unreadable: Mapping[str, Mapping[str, str]] | None = None,
    decisions: Decisions | None = None,
    cautions: Sequence[str] = (),
    confidence: float = 0.95,
) -> Leakage:
    """Study which images of a test set have near duplicates in the set ``against``, or within the test set.

    Pairs that are not confirmed are listed, and not counted. Within one set, the image with the highest ``preference``
    (n,) is kept (default: the first), and the images that form a pair with it are surplus, by `representatives`: a
    duplicate of a surplus image that is none of the kept image is kept, too. ``unreadable`` gives for each set the
    images that could not be read, with reasons. An image that was not compared by every distance, and not found by any,
    is excluded from the accuracies.
    ``decisions`` of people count more than distances: pairs that are different are left out, and duplicates count for
    all distances combined, however far apart they are. ``cautions`` are added to the notes.
    """
    _check(test_set, pairs, against)
    decided = decisions or {}
    pairs = [with_decisions(near, decided) for near in pairs] if decided else pairs
    reference = test_set if against is None else against
    size, within = len(test_set), against is None
    preferred = np.zeros(size, dtype=np.int64) if preference is None else preference
    duplicates = decided_duplicates(decided)
    whole = _split(ANY, None, pairs, preferred if within else None, duplicates)
    listed = leaked_pairs(pairs, test_set, reference, decided)
    splits = [whole, *(_split(near.distance.value, near.cut, [near], preferred if within else None) for near in pairs)]
    return Leakage(
        test_set.name,
        None if against is None else against.name,
        size,
        len(reference),
        tuple(_distance_result(split, test_set, reference, confidence) for split in splits),
        _models(predictions, splits, confidence),
        listed,
        _groups(whole, test_set) if within else (),
        tuple(bar for near in pairs for bar in _bars(near)),
        tuple(
            SkippedImage(name, image, reason)
            for name, reasons in (unreadable or {}).items()
            for image, reason in reasons.items()
        ),
        confidence,
        (*(f"{near.distance.value}: {near.note}" for near in pairs if near.note), *cautions),
        decided_pairs(listed, decided),
    )


@dataclass(frozen=True, eq=False)
class _Split:
    """Images (n,) split into ``leaked`` and others, among the ``compared`` ones.

    Within one set, ``kept`` (n,) is the image that stands for each image.
    """

    distance: str
    threshold: float | None
    first: IntArray
    second: IntArray
    leaked: BoolArray
    compared: BoolArray
    crowded: int
    unconfirmed: int
    kept: IntArray | None


def _split(
    name: str,
    threshold: float | None,
    pairs: Sequence[NearPairs],
    preference: IntArray | None,
    duplicates: Sequence[tuple[int, int]] = (),
) -> _Split:
    """Combine the confirmed pairs of some distances and decided ``duplicates``.

    With a preference (within one set), only surplus images are leaked.
    """
    decided = np.array(duplicates, dtype=np.int64).reshape(-1, 2)
    first, second = _unique_pairs([_places(near.duplicates) for near in pairs] + [decided]).T
    candidates = _unique_pairs([_places(near) for near in pairs] + [decided])
    in_pair = np.zeros(len(pairs[0].seen), dtype=bool)
    in_pair[first] = True
    leaked, kept = in_pair, None
    if preference is not None:
        in_pair[second] = True
        kept = representatives(_equal_images(pairs), first, second, preference)
        leaked = kept != np.arange(len(kept))
    compared = np.logical_and.reduce([near.seen for near in pairs]) | in_pair
    crowded, unconfirmed = max(near.crowded for near in pairs), len(candidates) - len(first)
    return _Split(name, threshold, first, second, leaked, compared, crowded, unconfirmed, kept)


def _places(near: NearPairs) -> IntArray:
    return np.column_stack([near.first, near.second]).astype(np.int64)


def _unique_pairs(parts: Sequence[IntArray]) -> IntArray:
    return np.unique(np.concatenate(parts), axis=0)


def _equal_images(pairs: Sequence[NearPairs]) -> IntArray:
    """Shape (n,): equal numbers for images with equal pixels, as far as these were searched."""
    places = [_places(near) for near in pairs if near.distance is Distance.EXACT]
    first, second = np.concatenate([*places, np.zeros((0, 2), dtype=np.int64)]).T
    return components(first, second, len(pairs[0].seen))


def _distance_result(split: _Split, test_set: TestSet, against: TestSet, confidence: float) -> DistanceResult:
    compared, leaked = int(split.compared.sum()), int(split.leaked.sum())
    both, differ = labels_differ(split.first, split.second, test_set, against)
    labeled, differing = (np.zeros(len(test_set), dtype=bool) for _ in range(2))
    labeled[split.first[both]], differing[split.first[differ]] = True, True
    if against is test_set:
        labeled[split.second[both]], differing[split.second[differ]] = True, True
    with_label = int(labeled.sum())
    return DistanceResult(
        split.distance,
        split.threshold,
        len(split.first),
        leaked,
        proportion(leaked, compared, confidence=confidence) if compared else None,
        with_label,
        proportion(int(differing.sum()), with_label, confidence=confidence) if with_label else None,
        split.crowded,
        split.unconfirmed,
    )


def _models(
    predictions: Iterable[tuple[Predictions, Scoring]], splits: Sequence[_Split], confidence: float
) -> tuple[LeakedModel, ...]:
    """Every model on every split, sorted by accuracy on all images."""
    rows = []
    for model, scoring in predictions:
        right = scoring.top_k(model, 1).right
        counted = scoring.counted & model.counted
        rows += [row for split in splits if (row := _model(model.model, right, counted, split, confidence))]
    accuracy = {row.model: row.all.value for row in rows if row.distance == ANY}
    by_split = ([row for row in rows if row.distance == split.distance] for split in splits)
    corrected = [row for group in by_split for row in _corrected(group)]
    return tuple(sorted(corrected, key=lambda row: (-accuracy.get(row.model, 0.0), row.model)))


def _corrected(rows: Sequence[LeakedModel]) -> list[LeakedModel]:
    """Models on one split, with p-values corrected for all models that have one."""
    adjusted = iter(holm([row.p_value for row in rows if row.p_value is not None]))
    return [row if row.p_value is None else replace(row, holm=float(next(adjusted))) for row in rows]


def _model(model: str, right: BoolArray, counted: BoolArray, split: _Split, confidence: float) -> LeakedModel | None:
    inside, outside = counted & split.leaked & split.compared, counted & ~split.leaked & split.compared
    counts = [int((right & part).sum()) for part in (inside, outside)]
    sizes = [int(part.sum()) for part in (inside, outside)]
    if not sum(sizes):
        return None
    leaked, clean = (proportion(k, n, confidence=confidence) if n else None for k, n in zip(counts, sizes, strict=True))
    whole = proportion(sum(counts), sum(sizes), confidence=confidence)
    if not leaked or not clean:
        return LeakedModel(model, split.distance, whole, leaked, clean, None, None)
    table = counts[0], sizes[0], counts[1], sizes[1]
    difference, change = duplicate_effects(*table, confidence=confidence)
    return LeakedModel(model, split.distance, whole, leaked, clean, difference, change, fisher_exact(*table))


def duplicate_effects(
    right_leaked: int, leaked: int, right_clean: int, clean: int, *, confidence: float
) -> tuple[Estimate, Estimate]:
    """Return the accuracy on leaked images, and that on all images, both minus that on clean images."""
    n, value = leaked + clean, right_leaked / leaked - right_clean / clean
    table = right_leaked, leaked, right_clean, clean
    bounds = independent_difference(*table, confidence=confidence), subset_effect(*table, confidence=confidence)
    names = (method_name(method, confidence) for method in ("newcombe", "newcombe times wilson"))
    difference, change = (
        Estimate(scale * value, float(interval.low), float(interval.high), n, name)
        for scale, interval, name in zip((1.0, leaked / n), bounds, names, strict=True)
    )
    return difference, change


def _groups(split: _Split, test_set: TestSet) -> tuple[DuplicateGroup, ...]:
    """The kept images that stand for others, in the order of the first image of each group."""
    if split.kept is None:
        return ()
    members: dict[int, list[int]] = {}
    for position in np.unique(np.concatenate([split.first, split.second])).tolist():
        members.setdefault(int(split.kept[position]), []).append(position)
    return tuple(
        DuplicateGroup(test_set.ids[kept], tuple(test_set.ids[i] for i in group if i != kept))
        for kept, group in members.items()
        if len(group) > 1
    )


def _bars(near: NearPairs) -> list[NearestBar]:
    """Histogram of nearest-neighbor distances in units of the threshold; empty for a threshold of 0."""
    if not near.cut:
        return []
    values = near.nearest[np.isfinite(near.nearest)] / near.cut
    edges = np.linspace(0, _FURTHEST, _STEPS + 1)
    # a neighbor at the threshold is within it, so bars are open below and closed above
    places = np.maximum(np.searchsorted(edges, values, side="left") - 1, 0)
    counts = np.bincount(places, minlength=_STEPS + 1)
    highs = [*edges[1:].tolist(), None]
    return [
        NearestBar(near.distance.value, low, high, int(count))
        for low, high, count in zip(edges.tolist(), highs, counts, strict=True)
    ]


def _check(test_set: TestSet, pairs: Sequence[NearPairs], against: TestSet | None) -> None:
    if not pairs:
        raise InputError("a study of leakage needs the pairs of at least one distance")
    names = [near.distance for near in pairs]
    if len(set(names)) < len(names):
        raise InputError("a distance is given twice")
    size = len(test_set if against is None else against)
    for near in pairs:
        if len(near.seen) != len(test_set) or near.second.max(initial=-1) >= size:
            raise MismatchError(f"the pairs by {near.distance.value} are not of {test_set.name}")
        if against is None and np.any(near.first >= near.second):
            raise MismatchError("within one set, the first image of a pair must come before the second")
