"""One model under the maps of an audit: its accuracy, errors by class, and paired changes from map to map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import NO_ANSWER, Estimate, Predictions, TestSet, UndefinedError
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import (
    bonferroni_confidence,
    clustered_share,
    group_shares,
    mark_simultaneous,
    proportions,
    share_range,
    shown_above,
)
from regrade.stats.intervals import method_name
from regrade.studies.class_map.alternatives import NamedMap, Omission
from regrade.studies.class_map.result import ClassErrors, GroupAccuracy, MapEffect, MapRow, OmissionRow
from regrade.studies.geography.analysis import group_accuracies
from regrade.studies.geography.group_frame import NO_GROUP, Grouping, ModelCorrectness, correctness_of
from regrade.studies.image_clusters import ImageClusters, share_of
from regrade.studies.paired_groups import PairedGroups, contrast, difference_of_largest, paired_groups, range_weights
from regrade.studies.scoring import Scoring

_MOST_WRONG = 3  # most frequent wrong predictions listed per class


@dataclass(frozen=True, eq=False)
class AuditSetting:
    """What all numbers of an audit have in common: the images, their groups and clusters, top-N and the confidence."""

    test_set: TestSet
    grouping: Grouping | None = None
    clusters: ImageClusters | None = None
    top: int = 1
    confidence: float = 0.95

    def correctness(self, predictions: Predictions, named: NamedMap | Omission) -> ModelCorrectness:
        """Which predictions are right under a map, and which images count."""
        return correctness_of(predictions, Scoring(self.test_set, named.class_map), self.top)


class ModelAudit:
    """One model under the first map, and its comparison with other maps."""

    def __init__(self, predictions: Predictions, first: NamedMap, setting: AuditSetting) -> None:
        self.predictions, self.first, self.setting = predictions, first, setting
        self.correctness = setting.correctness(predictions, first)
        self.labels = setting.test_set.labels
        self.first_row = self._row(first, self.correctness, self._inside(self.correctness))

    def _inside(self, *models: ModelCorrectness) -> BoolArray:
        """Shape (n,): the images that count under all these maps, and have a group if there are groups."""
        counted = np.logical_and.reduce([model.counted for model in models])
        grouping = self.setting.grouping
        inside: BoolArray = counted if grouping is None else counted & (grouping.members != NO_GROUP)
        if not inside.any():
            raise UndefinedError(f"no image of {self.setting.test_set.name} counts under both maps")
        return inside

    def _clusters(self, inside: BoolArray) -> IntArray | None:
        return None if self.setting.clusters is None else self.setting.clusters.numbers[inside]

    def _row(self, named: NamedMap, correctness: ModelCorrectness, inside: BoolArray) -> MapRow:
        confidence = self.setting.confidence
        accuracy = share_of(correctness.right, inside, self.setting.clusters, confidence=confidence)
        assert accuracy is not None
        row = MapRow(
            *(self.predictions.model, named.name, int(inside.sum()), accuracy),
            *(None, None, None, None, None, None),
            groups=(),
        )
        grouped = self._groups(inside)
        if grouped is None:
            return row
        names, members = grouped
        shares = group_shares(correctness.right[inside], members, self._clusters(inside))
        together = group_accuracies(shares, bonferroni_confidence(len(names), confidence))
        marked = [mark_simultaneous(share, len(names), confidence=confidence) for share in together]
        return replace(
            row,
            disparity=share_range(shares, confidence=confidence),
            best=names[int(shares.values.argmax())],
            worst=names[int(shares.values.argmin())],
            groups=tuple(GroupAccuracy(*pair) for pair in zip(names, marked, strict=True)),
        )

    def _groups(self, inside: BoolArray) -> tuple[tuple[str, ...], IntArray] | None:
        """The names and members (n,) of the groups of these images; None with fewer than two groups or units."""
        grouping = self.setting.grouping
        if grouping is None:
            return None
        used, members = np.unique(grouping.members[inside], return_inverse=True)
        clusters = self._clusters(inside)
        units = np.arange(len(members)) if clusters is None else clusters
        sizes = [len(np.unique(units[members == place])) for place in range(len(used))]
        if len(used) < 2 or min(sizes) < 2:
            return None
        return tuple(grouping.names[place] for place in used), members

    def under(self, alternatives: Sequence[NamedMap]) -> Iterator[MapRow]:
        """The rows of the other maps, with changes against the first one."""
        level = bonferroni_confidence(len(alternatives), self.setting.confidence)
        for named in alternatives:
            other_map = self.setting.correctness(self.predictions, named)
            inside = self._inside(self.correctness, other_map)
            row = self._row(named, other_map, inside)
            change, of_disparity = self._changes(other_map.right, inside, level, len(alternatives))
            effect = None if of_disparity is None else self._effect(other_map.right, inside, of_disparity, level)
            yield replace(row, change=change, disparity_change=of_disparity, effect=effect)

    def _changes(
        self, right: BoolArray, inside: BoolArray, level: float, comparisons: int
    ) -> tuple[Estimate, Estimate | None]:
        """The paired changes of accuracy and of disparity under another map."""
        both, clusters = np.stack([self.correctness.right, right])[:, None, inside], self._clusters(inside)
        whole = paired_groups(both, np.zeros(both.shape[2], dtype=np.int64), clusters)
        change = contrast(whole, np.array([-1.0, 1.0]), both.shape[2], confidence=level)
        of_disparity = None
        if (grouped := self._groups(inside)) is not None:
            _, members = grouped
            paired = paired_groups(both, members, clusters)
            of_disparity = self._together(disparity_change(paired, confidence=level), comparisons)
        return self._together(change, comparisons), of_disparity

    def _together(self, estimate: Estimate, comparisons: int) -> Estimate:
        return mark_simultaneous(estimate, comparisons, confidence=self.setting.confidence)

    def _effect(self, right: BoolArray, inside: BoolArray, of_disparity: Estimate, level: float) -> MapEffect:
        """The conclusion for one map, from tests that hold for all ordered pairs of groups and all maps together.

        Two groups change their order, or keep it, if the order is shown under both maps. Each of the two tests has the
        full level: a claim is false only if one of the two orders is (an intersection-union test).
        """
        grouped = self._groups(inside)
        assert grouped is not None
        both = [
            group_shares(rows[inside], grouped[1], self._clusters(inside)) for rows in (self.correctness.right, right)
        ]
        before, after = (shown_above(shares, confidence=level) for shares in both)
        (best, worst), (new_best, new_worst) = ((s.values.argmax(), s.values.argmin()) for s in both)
        swapped = before & after.T
        if swapped[best, new_best] or swapped[new_worst, worst]:
            return MapEffect.ANOTHER_GROUP
        if of_disparity.low > 0 or of_disparity.high < 0:
            return MapEffect.DISPARITY
        same = (best, worst) == (new_best, new_worst)
        return MapEffect.SAME if same and before[best, worst] and after[best, worst] else MapEffect.OPEN

    def classes(self) -> Iterator[ClassErrors]:
        """The classes with images, those with most errors first; intervals hold for all classes together."""
        inside = self._inside(self.correctness)
        used, members = np.unique(self.labels[inside], return_inverse=True)
        right, clusters = self.correctness.right[inside], self._clusters(inside)
        level = bonferroni_confidence(len(used), self.setting.confidence)
        accuracies = group_accuracies(group_shares(right, members, clusters), level)
        errors = np.bincount(members[~right], minlength=len(used))
        shares = _shares_of_errors(members[~right], errors, None if clusters is None else clusters[~right], level)
        space = self.first.class_map.target
        wrong = self._wrong(inside, members)
        for place in np.lexsort((used, -errors)):
            mapped = self.first.class_map.sources[used[place]]
            share = shares[place] if shares else None
            yield ClassErrors(
                self.predictions.model,
                space.names[used[place]],
                tuple(self.first.class_map.source.names[index] for index in mapped),
                int((members == place).sum()),
                self._together(accuracies[place], len(used)),
                int(errors[place]),
                None if share is None else self._together(share, len(used)),
                wrong.get(int(place), ()),
            )

    def _wrong(self, inside: BoolArray, members: IntArray) -> dict[int, tuple[tuple[str, int], ...]]:
        """The most frequent best predictions of each class where none of the top N is accepted."""
        names, counts = self.first.class_map.source.names, dict[int, Counter[str]]()
        wrong = ~self.correctness.right[inside]
        for place, predicted in zip(
            members[wrong].tolist(), self.predictions.top1[inside][wrong].tolist(), strict=True
        ):
            counts.setdefault(place, Counter())["no answer" if predicted == NO_ANSWER else names[predicted]] += 1
        return {place: tuple(counter.most_common(_MOST_WRONG)) for place, counter in counts.items()}

    def omitting(self, without: Sequence[Omission]) -> Iterator[OmissionRow]:
        """The rows of the maps without one class, the largest change first."""
        rows = [row for each in without if (row := self._omission(each, len(without))) is not None]
        yield from sorted(rows, key=lambda row: (row.change.value, row.class_name, row.left_out))

    def _omission(self, each: Omission, comparisons: int) -> OmissionRow | None:
        level = bonferroni_confidence(comparisons, self.setting.confidence)
        other_map = self.setting.correctness(self.predictions, each)
        inside = self._inside(self.correctness, other_map)
        in_class = inside & (self.labels == each.target)
        if not in_class.any():
            return None
        change, of_disparity = self._changes(other_map.right, inside, level, comparisons)
        return OmissionRow(
            self.predictions.model,
            self.first.class_map.target.names[each.target],
            self.first.class_map.source.names[each.source],
            int(in_class.sum()),
            self._class_change(other_map.right, in_class, level, comparisons),
            change,
            of_disparity,
        )

    def _class_change(self, right: BoolArray, in_class: BoolArray, level: float, comparisons: int) -> Estimate | None:
        both, clusters = np.stack([self.correctness.right, right])[:, None, in_class], self._clusters(in_class)
        try:
            paired = paired_groups(both, np.zeros(both.shape[2], dtype=np.int64), clusters)
        except UndefinedError:
            return None
        return self._together(contrast(paired, np.array([-1.0, 1.0]), both.shape[2], confidence=level), comparisons)


def disparity_change(paired: PairedGroups, *, confidence: float) -> Estimate:
    """Return the second disparity minus the first on the same images, whichever groups are the best and the worst.

    The intersection of two intervals, each with half the error: that of `difference_of_largest`, and one from the
    changes of all differences of two groups. The disparity rises at most as much as the difference of the groups that
    are the extremes afterwards, and falls at most as much as that of the extremes before.
    """
    weights, half = range_weights(paired.groups), bonferroni_confidence(2, confidence)
    after, before = paired.of_remedy(weights), paired.of_baseline(weights)
    ranges = difference_of_largest(paired, after, before, confidence=half)
    changes = [contrast(paired, row, ranges.n, confidence=half) for row in after - before]
    return replace(
        ranges,
        low=max(ranges.low, min(change.low for change in changes)),
        high=min(ranges.high, max(change.high for change in changes)),
        method=method_name(ranges.method.rpartition(" ")[0], confidence),
    )


def _shares_of_errors(
    members: IntArray, errors: IntArray, clusters: IntArray | None, confidence: float
) -> list[Estimate]:
    """The share of each class in all errors, from the classes (e,) of the wrong images; empty without an error."""
    if not len(members):
        return []
    if clusters is None:
        return proportions(errors, len(members), confidence=confidence)
    return [clustered_share(members == place, clusters, confidence=confidence) for place in range(len(errors))]
