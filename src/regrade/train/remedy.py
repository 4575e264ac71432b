"""Remedies for groups on which a network fails: the groups of training images, and what a training does with them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from regrade.core import InputError, TestSet
from regrade.core.arrays import IntArray
from regrade.metrics import confusion_score
from regrade.store import Store
from regrade.studies.geography.group_frame import NO_GROUP, grouping
from regrade.train.batch_loss import GroupDRO, MeanLoss


class RemedyKind(Enum):
    """How groups change a training."""

    GROUPDRO = "groupdro"
    """Minimize the loss of the worst group."""
    UPSAMPLE = "upsample"
    """Draw images so that all groups are equally frequent."""


@dataclass(frozen=True, eq=False)
class TrainingGroups:
    """``members`` (n,) are indices into ``names``, one per training image; ``source`` says where they come from."""

    source: str
    names: tuple[str, ...]
    members: IntArray

    def __post_init__(self) -> None:
        if len(self.names) < 2:
            raise InputError(f"{self.source} has a single group, {self.names[0]}: a remedy needs at least two")
        for name, size in zip(self.names, self.sizes, strict=True):
            if size < 2:
                images = "a single image" if size else "no image"
                raise InputError(
                    f"group {name} of {self.source} has {images}: a group needs at least two to learn from"
                )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of images of each group."""
        return tuple(np.bincount(self.members, minlength=len(self.names)).tolist())


def groups_of_column(training_set: TestSet, column: str) -> TrainingGroups:
    """The groups of a column; raise if an image has none."""
    groups = grouping(training_set, column)
    without = int((groups.members == NO_GROUP).sum())
    if without:
        raise InputError(f"{without:,} of {len(training_set):,} images of {training_set.name} have no {column}")
    return TrainingGroups(f"column {column} of {training_set.name}", groups.names, groups.members)


def groups_of_confusion(
    store: Store, training_set: TestSet, ensemble: str, threshold: float | None = None
) -> TrainingGroups:
    """Easy and hard training images by their confusion score in bits; hard ones have at least the ``threshold``.

    By default the threshold is half of the largest possible score, log2 of the number of classes: 5 bits for ImageNet,
    as in Albiero et al. 2023. Scores of other images than the training images would leak test sets into the training.
    """
    if not store.ensembles.has(training_set.name, ensemble):
        raise InputError(
            f"ensemble {ensemble} has no scores on {training_set.name}: groups are made of the scores of training "
            f"images, which regrade train ensemble {ensemble} stores with --test-set {training_set.name}"
        )
    checkpoints = store.ensembles.read(training_set, ensemble)
    bits = confusion_score(checkpoints)
    limit = math.log2(len(training_set.class_space)) / 2 if threshold is None else threshold
    source = f"the confusion scores of {ensemble} on {training_set.name}"
    names = (f"easy (below {limit:.2f} bits)", f"hard (from {limit:.2f} bits)")
    if not bits.min() < limit <= bits.max():
        raise InputError(
            f"{source} are between {bits.min():.2f} and {bits.max():.2f} bits: a threshold of {limit:.2f} leaves one "
            "group empty, give another --threshold"
        )
    return TrainingGroups(source, names, (bits >= limit).astype(np.int64))


@dataclass(frozen=True, eq=False)
class GroupRemedy:
    """What a training does with groups of its images; step size and adjustment are those of GroupDRO."""

    kind: RemedyKind
    groups: TrainingGroups
    step_size: float = 0.01
    adjustment: float = 0.0

    def __post_init__(self) -> None:
        self.batch_loss()  # refuses its settings now, before they are stored in a plan

    def batch_loss(self) -> MeanLoss:
        """The loss of a batch."""
        if self.kind is RemedyKind.UPSAMPLE:
            return MeanLoss()
        return GroupDRO(self.groups.members, step_size=self.step_size, adjustment=self.adjustment)

    def image_weights(self) -> Any:
        """The chances (n,) of images to be drawn, in proportion to 1 / size of their group; None: each once."""
        if self.kind is RemedyKind.GROUPDRO:
            return None
        import torch

        sizes = np.array(self.groups.sizes, dtype=np.float32)
        return torch.from_numpy((1 / sizes)[self.groups.members])

    def as_plain(self) -> dict[str, Any]:
        """The remedy as plain values, with a hash of the groups."""
        members = np.ascontiguousarray(self.groups.members, dtype=np.int64)
        plain: dict[str, Any] = {
            "method": self.kind.value,
            "groups": self.groups.source,
            "sizes": dict(zip(self.groups.names, self.groups.sizes, strict=True)),
            "members": hashlib.sha256(members.tobytes()).hexdigest(),
        }
        if self.kind is RemedyKind.GROUPDRO:
            plain |= {"step_size": self.step_size, "adjustment": self.adjustment}
        return plain
