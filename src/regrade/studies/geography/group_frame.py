"""The frame of a study of geography: which group and which cluster every image is in, and what models have right."""

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
"""The column that is taken for clusters where a test set has one."""

_NAMED = 5  # names that a note tells


@dataclass(frozen=True, eq=False)
class ModelCorrectness:
    """One model on all images (n,): what is right, what counts, and the rule of its label space in words."""

    model: str
    right: BoolArray
    counted: BoolArray
    rule: str


@dataclass(frozen=True, eq=False)
class GroupFrame:
    """The groups of images, and the clusters they come in: ``clusters`` (n,) from the column, or none."""

    grouping: Grouping
    column: str | None
    clusters: IntArray | None
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The groups' names."""
        return self.grouping.names

    def shares(self, scores: BoolArray | np.ndarray, counted: BoolArray) -> GroupShares:
        """The shares of groups from scores (n,) of the images that count; every group must have one."""
        inside = counted & (self.grouping.members != NO_GROUP)
        members = self.grouping.members[inside]
        return group_shares(scores[inside], members, None if self.clusters is None else self.clusters[inside])

    def within(self, renumbered: IntArray) -> GroupFrame:
        """The frame of some groups only, from their new numbers (g + 1,), the last for images without a group."""
        kept = sorted((new, self.names[old]) for old, new in enumerate(renumbered[:-1]) if new != NO_GROUP)
        names = tuple(name for _, name in kept)
        return replace(self, grouping=replace(self.grouping, names=names, members=renumbered[self.grouping.members]))

    def seen(self, answers: ModelCorrectness) -> IntArray:
        """Shape (g,): how many images of each group count for a model."""
        members = self.grouping.members[answers.counted]
        return np.bincount(members[members != NO_GROUP], minlength=len(self.names))

    def sizes(self, answers: Sequence[ModelCorrectness]) -> tuple[GroupSize, ...]:
        """The groups, over the images that count for any model."""
        inside = np.logical_or.reduce([one.counted for one in answers])
        found = []
        for place, name in enumerate(self.names):
            mine = inside & (self.grouping.members == place)
            clusters = None if self.clusters is None else len(np.unique(self.clusters[mine]))
            found.append(GroupSize(name, int(mine.sum()), clusters))
        return tuple(found)


def answers_of(predictions: Predictions, scoring: Scoring, top: int) -> ModelCorrectness:
    """What a model has right among its best ``top`` classes."""
    found = scoring.top_k(predictions, top)
    return ModelCorrectness(predictions.model, found.right, scoring.counted & predictions.counted, scoring.rule)


def frame_of(
    test_set: TestSet, groups: Grouping, clusters: str | None, answers: Sequence[ModelCorrectness]
) -> GroupFrame:
    """The frame of some models; groups in which no image counts for any of them are left out and named."""
    if clusters == groups.column:
        raise InputError(f"{clusters} cannot be the groups and the clusters at once")
    inside = np.logical_or.reduce([one.counted for one in answers]) & (groups.members != NO_GROUP)
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
    found, told = _clusters(column_values(test_set, column), column, kept, inside)
    return GroupFrame(kept, column, found, (*groups.notes, *notes, *told))


def few(names: Sequence[str]) -> str:
    """The first of many names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _clusters(
    values: tuple[str, ...], column: str, groups: Grouping, inside: BoolArray
) -> tuple[IntArray, tuple[str, ...]]:
    """Clusters by number, an image without one by itself; and what a reader must know of them."""
    own = np.array([value if value.strip() else f"\0{place}" for place, value in enumerate(values)])
    _, clusters = np.unique(own, return_inverse=True)
    here, members = clusters[inside], groups.members[inside]
    several = int((np.bincount(np.unique(here * len(groups.names) + members) // len(groups.names)) > 1).sum())
    count = len(np.unique(here))
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
