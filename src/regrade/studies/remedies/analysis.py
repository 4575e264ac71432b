"""The analysis of remedies: paired differences of accuracy, overall, per group, and of the extremes over groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, InputError, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import bonferroni_confidence, mark_simultaneous
from regrade.studies.geography.group_frame import NO_GROUP, Grouping, ModelCorrectness, frame_of, grouping
from regrade.studies.paired_groups import (
    PairedGroups,
    contrast,
    difference_of_largest,
    largest,
    paired_groups,
    range_weights,
)
from regrade.studies.remedies.result import Remedies, RemedyMeasure, RemedyRow
from regrade.studies.scoring import EVERYTHING
from regrade.studies.seeded_methods import MethodPair, pair_notes

MOST_GROUPS = 100
"""The most groups that are compared: every group is a row, and all rows are corrected for each other."""


@dataclass(frozen=True, eq=False)
class SetCorrectness:
    """Models on one test set: ``correct`` (n,) by model, on the images that count for all models.

    ``members`` (n,) are indices into the names of ``groups``, or `NO_GROUP`; without groups there are no names.
    ``clusters`` (n,) are numbers of sampling clusters, if there are any. ``slice`` names the part of the test set, None
    for all of it.
    """

    test_set: str
    correct: Mapping[str, BoolArray]
    groups: tuple[str, ...]
    members: IntArray
    clusters: IntArray | None = None
    notes: tuple[str, ...] = ()
    slice: str | None = None


@dataclass(frozen=True)
class GroupColumns:
    """The column of the groups, the column of the clusters, and the number of bins of a numeric column."""

    by: str | None = None
    clusters: str | None = None
    parts: int | None = None


def set_correctness(test_set: TestSet, models: Sequence[ModelCorrectness], options: GroupColumns) -> SetCorrectness:
    """Return the correctness of models on the images that count for all; a set without the column has no groups."""
    counted = np.logical_and.reduce([model.counted for model in models])
    if counted.sum() < 2:
        raise UndefinedError(f"a comparison needs two images of {test_set.name} that count for all models")
    groups = Grouping("", (EVERYTHING,), np.zeros(len(test_set), dtype=np.int64))
    is_grouped, notes = options.by in test_set.group_columns, list[str]()
    if options.by is not None and is_grouped:
        groups = grouping(test_set, options.by, parts=options.parts)
    elif options.by is not None:
        notes.append("no such column, overall accuracy only")
    frame = frame_of(test_set, groups, options.clusters, [replace(models[0], counted=counted)])
    if len(frame.names) > MOST_GROUPS:
        raise InputError(f"column {options.by} of {test_set.name} has {len(frame.names)} groups: at most {MOST_GROUPS}")
    if excluded := int((np.logical_or.reduce([model.counted for model in models]) & ~counted).sum()):
        notes.append(f"{amount(excluded, 'image')} not predicted by all models: left out")
    clusters = None if frame.clusters is None else frame.clusters[counted]
    members = frame.grouping.members[counted]
    _check_sizes(test_set.name, options.by, frame.names, members, clusters)
    rules = {model.rule for model in models if model.rule}
    return SetCorrectness(
        test_set.name,
        {model.model: model.right[counted] for model in models},
        frame.names if is_grouped else (),
        members,
        clusters,
        tuple(f"{test_set.name}: {note}" for note in (*notes, *frame.notes, *sorted(rules))),
    )


def slice_correctness(
    test_set: TestSet, models: Sequence[ModelCorrectness], slice_name: str, clusters: str | None
) -> SetCorrectness:
    """Return the correctness of models on the images of a slice that count for all of them, without groups."""
    inside = test_set.slice(slice_name)
    parts = [replace(model, counted=model.counted & inside) for model in models]
    try:
        data = set_correctness(test_set, parts, GroupColumns(clusters=clusters))
    except UndefinedError as error:
        raise UndefinedError(f"slice {slice_name}: {error}; leave out this slice") from None
    return replace(data, slice=slice_name, notes=())


def _check_sizes(
    test_set: str, by: str | None, names: Sequence[str], members: IntArray, clusters: IntArray | None
) -> None:
    """Raise if a group has a single image or a single cluster, from which no interval follows."""
    for place, name in enumerate(names):
        inside = members == place
        units = int(inside.sum()) if clusters is None else len(np.unique(clusters[inside]))
        if units < 2:
            unit = "image" if clusters is None else "cluster"
            group = f"{by} {name} of {test_set}" if by and len(names) > 1 else test_set
            raise UndefinedError(f"{group} has a single {unit}, from which no interval follows")


def remedies(
    sets: Sequence[SetCorrectness],
    pairs: Sequence[MethodPair],
    *,
    by: str | None = None,
    top: int = 1,
    confidence: float = 0.95,
    original: str | None = None,
) -> Remedies:
    """Compare every remedy with its baseline on every set and slice; intervals of all differences are simultaneous.

    With an ``original`` test set, also the drops from it to each of the other sets.
    """
    whole = [data for data in sets if data.slice is None]
    first = next((data for data in whole if data.test_set == original), None)
    drops = [_Drop(first, data, pair) for pair in pairs for data in whole if first is not None and data is not first]
    cells = [_Cell(data, pair) for pair in pairs for data in sets]
    count = sum(cell.rows for cell in cells) + len(drops)
    rows = (
        *(row for cell in cells for row in cell.compared(count, confidence)),
        *(drop.compared(count, confidence) for drop in drops),
    )
    notes = (*pair_notes(pairs), *(note for data in sets for note in data.notes))
    names = tuple(pair.remedy.name for pair in pairs)
    baselines = {pair.baseline.name for pair in pairs}
    baseline = baselines.pop() if len(baselines) == 1 else None
    return Remedies(baseline, names, by, top, confidence, rows, tuple(dict.fromkeys(notes)), original)


@dataclass(frozen=True, eq=False)
class _Cell:
    """A remedy and its baseline on one test set."""

    data: SetCorrectness
    pair: MethodPair

    @property
    def rows(self) -> int:
        """The number of rows: all images, every group, and the two measures of several groups."""
        groups = len(self.data.groups)
        return 1 + groups + (2 if groups > 1 else 0)

    def compared(self, comparisons: int, confidence: float) -> Iterator[RemedyRow]:
        """The rows, with intervals of the differences that hold simultaneously for all ``comparisons``."""
        correct = _correct(self.data, self.pair)
        level = bonferroni_confidence(comparisons, confidence)
        everything = paired_groups(correct, np.zeros(correct.shape[2], dtype=np.int64), self.data.clusters)
        measures = [_accuracy(everything, 0, confidence, level)]
        kinds: list[tuple[RemedyMeasure, str | None]] = [(RemedyMeasure.ACCURACY, None)]
        if self.data.groups:
            grouped = self._grouped(correct)
            measures += [_accuracy(grouped, place, confidence, level) for place in range(grouped.groups)]
            kinds += [(RemedyMeasure.GROUP, name) for name in self.data.groups]
        if len(self.data.groups) > 1:
            measures += [_worst_group(grouped, confidence, level), _disparity(grouped, confidence, level)]
            kinds += [(RemedyMeasure.WORST_GROUP, None), (RemedyMeasure.DISPARITY, None)]
        for (measure, group), (baseline, remedied, difference) in zip(kinds, measures, strict=True):
            together = mark_simultaneous(difference, comparisons, confidence=confidence)
            yield RemedyRow(
                self.data.test_set, self.pair.remedy.name, measure, group, difference.n, len(self.pair.rows), baseline,
                remedied, together, self.pair.baseline.name, self.data.slice,
            )  # fmt: skip

    def _grouped(self, correct: BoolArray) -> PairedGroups:
        inside = self.data.members != NO_GROUP
        clusters = None if self.data.clusters is None else self.data.clusters[inside]
        return paired_groups(correct[:, :, inside], self.data.members[inside], clusters)


@dataclass(frozen=True, eq=False)
class _Drop:
    """A remedy and its baseline on the original test set and on a new one."""

    original: SetCorrectness
    new: SetCorrectness
    pair: MethodPair

    def compared(self, comparisons: int, confidence: float) -> RemedyRow:
        """The row: the two sets are groups of images without a common image or cluster, and the drop is a contrast."""
        sets = self.original, self.new
        correct = np.concatenate([_correct(data, self.pair) for data in sets], axis=2)
        sizes = [len(data.members) for data in sets]
        paired = paired_groups(correct, np.repeat([0, 1], sizes), _separate_clusters(*sets))
        drop, n = np.array([[1.0, -1.0]]), sum(sizes)
        before, after = paired.of_baseline(drop)[0], paired.of_remedy(drop)[0]
        difference = contrast(paired, after - before, n, confidence=bonferroni_confidence(comparisons, confidence))
        return RemedyRow(
            self.new.test_set, self.pair.remedy.name, RemedyMeasure.DROP, None, n, len(self.pair.rows),
            contrast(paired, before, n, confidence=confidence), contrast(paired, after, n, confidence=confidence),
            mark_simultaneous(difference, comparisons, confidence=confidence), self.pair.baseline.name,
        )  # fmt: skip


def _correct(data: SetCorrectness, pair: MethodPair) -> BoolArray:
    """Shape (2, k, n): the correctness of the baseline and of the remedy, by seed."""
    return np.array([[data.correct[model] for model in models] for models in zip(*pair.rows, strict=True)])


def _separate_clusters(original: SetCorrectness, new: SetCorrectness) -> IntArray | None:
    """The clusters of the images of two sets, none in both; an image of a set without clusters is its own cluster."""
    if original.clusters is None and new.clusters is None:
        return None
    first, second = (
        np.arange(len(data.members)) if data.clusters is None else data.clusters for data in (original, new)
    )
    return np.concatenate([first, second + first.max() + 1])


Measured = tuple[Estimate, Estimate, Estimate]
"""A measure of the baseline, of the remedy, and their difference."""


def _accuracy(paired: PairedGroups, place: int, confidence: float, level: float) -> Measured:
    """The accuracies in one group, and their difference at the confidence ``level``."""
    group, n = np.eye(paired.groups)[[place]], int(paired.images[place])
    before, after = paired.of_baseline(group)[0], paired.of_remedy(group)[0]
    return (
        _share(contrast(paired, before, n, confidence=confidence)),
        _share(contrast(paired, after, n, confidence=confidence)),
        contrast(paired, after - before, n, confidence=level),
    )


def _worst_group(paired: PairedGroups, confidence: float, level: float) -> Measured:
    """The lowest accuracies over groups: the largest of the negative accuracies, negated."""
    lowest = -np.eye(paired.groups)
    baseline, remedied, difference = _extremes(paired, lowest, confidence, level)
    return _share(_negated(baseline)), _share(_negated(remedied)), _negated(difference)


def _disparity(paired: PairedGroups, confidence: float, level: float) -> Measured:
    """The ranges over groups: the largest of the differences of all ordered pairs of groups."""
    baseline, remedied, difference = _extremes(paired, range_weights(paired.groups), confidence, level)
    return _share(baseline), _share(remedied), difference


def _extremes(paired: PairedGroups, weights: FloatArray, confidence: float, level: float) -> Measured:
    """The largest of some contrasts of the groups (p, g), for each method."""
    before, after = paired.of_baseline(weights), paired.of_remedy(weights)
    return (
        largest(paired, before, confidence=confidence),
        largest(paired, after, confidence=confidence),
        difference_of_largest(paired, after, before, confidence=level),
    )


def _negated(estimate: Estimate) -> Estimate:
    return replace(estimate, value=-estimate.value, low=-estimate.high, high=-estimate.low)


def _share(estimate: Estimate) -> Estimate:
    """The estimate with bounds within [0, 1]."""
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))
