"""Groups and clusters of the images in a geography study, and the correctness of models on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import InputError, Predictions, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import GroupShares, group_shares
from regrade.studies.geography.grouping import NO_GROUP, Grouping, column_values
from regrade.studies.geography.result import GroupSize
from regrade.studies.scoring import Scoring

HOUSEHOLD = "household"
"""The default cluster column, if the test set has it."""

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
    """Return the top-``top`` correctness of a model."""
    scored = scoring.top_k(predictions, top)
    return ModelCorrectness(predictions.model, scored.right, scoring.counted & predictions.counted, scoring.rule)


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
    column = clusters or next((name for name in test_set.group_columns if name.casefold() == HOUSEHOLD), None)
    if column is None or column == groups.column:
        return GroupFrame(kept, None, None, (*groups.notes, *notes))
    cluster_numbers, cluster_notes = _clusters(column_values(test_set, column), column, kept, inside)
    return GroupFrame(kept, column, cluster_numbers, (*groups.notes, *notes, *cluster_notes))


def few(names: Sequence[str]) -> str:
    """Join the first few names, with the number of the remaining ones."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _clusters(
    values: tuple[str, ...], column: str, groups: Grouping, inside: BoolArray
) -> tuple[IntArray, tuple[str, ...]]:
    """Cluster numbers (an image without a value is its own cluster), and notes about them."""
    keys = np.array([value if value.strip() else f"\0{place}" for place, value in enumerate(values)])
    _, clusters = np.unique(keys, return_inverse=True)
    used, members = clusters[inside], groups.members[inside]
    several = int((np.bincount(np.unique(used * len(groups.names) + members) // len(groups.names)) > 1).sum())
    count = len(np.unique(used))
    notes = [f"intervals are over {amount(count, 'cluster')} of images, by column {column}"]
    if several:
        notes.append(
            f"{amount(several, 'cluster')} of column {column} in more than one {groups.column}: differences take it "
            "into account"
        )
    if missing := sum(not value.strip() for value in values):
        notes.append(f"{amount(missing, 'image')} without {column}: each a cluster of its own")
    alone = [
        name
        for place, name in enumerate(groups.names)
        if len(np.unique(clusters[inside & (groups.members == place)])) == 1
    ]
    if alone:
        notes.append(f"a single cluster, which says nothing of others: {few(alone)}")
    return clusters, tuple(notes)
