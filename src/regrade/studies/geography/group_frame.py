"""Groups and clusters of the images in a geography study, and the correctness of models on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import InputError, Predictions, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import GroupShares, group_shares
from regrade.studies.geography.result import GroupSize
from regrade.studies.image_clusters import ImageClusters, column_values, image_clusters
from regrade.studies.scoring import Scoring

NO_GROUP = -1
"""The group number of an image without a group."""

_PARTS = 4
_DISTINCT = 12  # up to this many distinct numbers, each is a group
_MISSING = frozenset({"", "nan", "none", "n/a"})


@dataclass(frozen=True, eq=False)
class Grouping:
    """``members`` (n,) are indices into ``names``, or `NO_GROUP`; ``edges`` are the quantiles used to split numbers."""

    column: str
    names: tuple[str, ...]
    members: IntArray
    edges: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()


def grouping(test_set: TestSet, column: str, *, parts: int | None = None) -> Grouping:
    """Return the groups of a column, sorted by name; an unknown column raises with suggestions.

    A column of more than twelve distinct numbers, such as incomes, is split at quantiles into ``parts`` groups
    (default: 4); other columns only if ``parts`` is given. Images without a value are excluded.
    """
    values = column_values(test_set, column)
    missing = {value for value in set(values) if value.strip().casefold() in _MISSING}
    has_value = np.array([value not in missing for value in values], dtype=bool)
    if not has_value.any():
        raise InputError(f"column {column} of {test_set.name} has no values")
    left_out = int((~has_value).sum())
    notes = (f"{amount(left_out, 'image')} without {column}: left out",) if left_out else ()
    numbers = _numbers([value for value, has in zip(values, has_value, strict=True) if has])
    if parts is not None and numbers is None:
        raise InputError(f"column {column} of {test_set.name} is not numeric: it cannot be split into parts")
    if numbers is not None and (parts is not None or len(np.unique(numbers)) > _DISTINCT):
        return _split(column, numbers, has_value, parts or _PARTS, notes)
    names = sorted({value for value, has in zip(values, has_value, strict=True) if has})
    place = {name: i for i, name in enumerate(names)}
    members = np.array([place[value] if has else NO_GROUP for value, has in zip(values, has_value, strict=True)])
    return Grouping(column, tuple(names), members, (), notes)


def _numbers(values: list[str]) -> FloatArray | None:
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _split(column: str, numbers: FloatArray, has_value: np.ndarray, parts: int, notes: tuple[str, ...]) -> Grouping:
    if parts < 2:
        raise InputError(f"parts must be at least 2, got {parts}")
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, parts + 1)))
    if len(edges) < 2:
        raise InputError(f"column {column} has a single distinct number: it cannot be split into parts")
    bins = np.searchsorted(edges[1:-1], numbers, side="left")
    used = np.unique(bins)
    shown = _shown(edges)
    names = tuple(f"{'' if i == 0 else 'over '}{shown[i]} to {shown[i + 1]}" for i in used)
    members = np.full(len(has_value), NO_GROUP)
    members[has_value] = np.searchsorted(used, bins)
    note = f"{column} cut at quantiles of the images: {'; '.join(f'{edge:,.10g}' for edge in edges)}"
    return Grouping(column, names, members, tuple(float(edge) for edge in edges), (*notes, note))


def _shown(edges: FloatArray) -> list[str]:
    """Edges as text: with four digits, or more if two would look the same."""
    short = [f"{float(f'{edge:.4g}'):,.10g}" for edge in edges]
    return short if len(set(short)) == len(short) else [f"{edge:,.10g}" for edge in edges]


_LISTED = 5  # most names listed in a note


@dataclass(frozen=True, eq=False)
class ModelCorrectness:
    """One model on all images (n,): which predictions are right, which count, and the scoring rule as text."""

    model: str
    right: BoolArray
    counted: BoolArray
    rule: str


@dataclass(frozen=True, eq=False)
class GroupFrame:
    """The groups of the images and their ``clusters`` (n,) by ``column``, or None without clusters."""

    grouping: Grouping
    column: str | None
    clusters: IntArray | None
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the groups."""
        return self.grouping.names

    def shares(self, scores: BoolArray | np.ndarray, counted: BoolArray) -> GroupShares:
        """Return the mean ``scores`` (n,) per group over the images that count; no group may be empty."""
        inside = counted & (self.grouping.members != NO_GROUP)
        members = self.grouping.members[inside]
        return group_shares(scores[inside], members, None if self.clusters is None else self.clusters[inside])

    def within(self, renumbered: IntArray) -> GroupFrame:
        """Return the frame restricted to some groups, by their new numbers (g + 1,); the last is for no group."""
        kept = sorted((new, self.names[old]) for old, new in enumerate(renumbered[:-1]) if new != NO_GROUP)
        names = tuple(name for _, name in kept)
        return replace(self, grouping=replace(self.grouping, names=names, members=renumbered[self.grouping.members]))

    def counted_per_group(self, model: ModelCorrectness) -> IntArray:
        """Shape (g,): the number of images of each group that count for a model."""
        members = self.grouping.members[model.counted]
        return np.bincount(members[members != NO_GROUP], minlength=len(self.names))

    def sizes(self, models: Sequence[ModelCorrectness]) -> tuple[GroupSize, ...]:
        """Return the sizes of the groups, over the images that count for any model."""
        inside = np.logical_or.reduce([model.counted for model in models])
        sizes = []
        for place, name in enumerate(self.names):
            in_group = inside & (self.grouping.members == place)
            clusters = None if self.clusters is None else len(np.unique(self.clusters[in_group]))
            sizes.append(GroupSize(name, int(in_group.sum()), clusters))
        return tuple(sizes)


def correctness_of(predictions: Predictions, scoring: Scoring, top: int) -> ModelCorrectness:
    """Return the top-``top`` correctness of a model; ties go to the lower class index, which the rule says."""
    scored, counted = scoring.top_k(predictions, top), scoring.counted & predictions.counted
    rules = [scoring.rule] if scoring.rule else []
    if tied := scored.tied_images(counted):
        rules.append(f"{predictions.model}: {amount(tied, 'image')} tied across place {top}, decided by class order")
    return ModelCorrectness(predictions.model, scored.right, counted, "; ".join(rules))


def frame_of(
    test_set: TestSet, groups: Grouping, clusters: str | None, models: Sequence[ModelCorrectness]
) -> GroupFrame:
    """Return the frame of some models, without the groups in which no image counts (a note lists these)."""
    if clusters == groups.column:
        raise InputError(f"{clusters} cannot be both the group column and the cluster column")
    inside = np.logical_or.reduce([model.counted for model in models]) & (groups.members != NO_GROUP)
    if not inside.any():
        raise UndefinedError(f"no image of {test_set.name} that counts has a {groups.column}")
    used = np.unique(groups.members[inside])
    renumbered = np.full(len(groups.names) + 1, NO_GROUP)
    renumbered[used] = np.arange(len(used))
    unseen = [name for place, name in enumerate(groups.names) if place not in used]
    kept = replace(groups, names=tuple(groups.names[i] for i in used), members=renumbered[groups.members])
    notes = (f"{groups.column} without an image that counts, left out: {few(unseen)}",) if unseen else ()
    sampled = image_clusters(test_set, clusters)
    if sampled is None or sampled.column == groups.column:
        return GroupFrame(kept, None, None, (*groups.notes, *notes))
    return GroupFrame(
        kept, sampled.column, sampled.numbers, (*groups.notes, *notes, *_cluster_notes(sampled, kept, inside))
    )


def few(names: Sequence[str]) -> str:
    """Join the first few names, with the number of the remaining ones."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _cluster_notes(clusters: ImageClusters, groups: Grouping, inside: BoolArray) -> tuple[str, ...]:
    """The number of clusters, those in several groups, images without one, and groups with a single one."""
    column, used, members = clusters.column, clusters.numbers[inside], groups.members[inside]
    several = int((np.bincount(np.unique(used * len(groups.names) + members) // len(groups.names)) > 1).sum())
    notes = [f"intervals are over {amount(len(np.unique(used)), 'cluster')} of images, by column {column}"]
    if several:
        notes.append(
            f"{amount(several, 'cluster')} of column {column} in more than one {groups.column}: differences take it "
            "into account"
        )
    if missing := int(clusters.alone.sum()):
        notes.append(f"{amount(missing, 'image')} without {column}: each a cluster of its own")
    alone = [
        name
        for place, name in enumerate(groups.names)
        if len(np.unique(clusters.numbers[inside & (groups.members == place)])) == 1
    ]
    if alone:
        notes.append(f"a single cluster, which says nothing of others: {few(alone)}")
    return tuple(notes)
