"""Training checkpoints of an ensemble: the scores of every member after every saved epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray
from regrade.core.errors import InputError
from regrade.core.predictions import ScoreKind


@dataclass(frozen=True, eq=False)
class Checkpoints:
    """The scores (n, c) of an ensemble on one test set for each member and epoch, rows in the order of the test set.

    ``members`` are usually seeds; ``epochs`` are increasing, and every member has all of them. ``read`` returns the
    scores of a member and an epoch by their positions, often as a memory map that is opened on demand, so that the
    stored scores may exceed the memory.
    """

    ensemble: str
    test_set: str
    class_space: str
    kind: ScoreKind
    members: tuple[str, ...]
    epochs: tuple[int, ...]
    examples: int
    classes: int
    read: Callable[[int, int], FloatArray]

    def __post_init__(self) -> None:
        if not self.members or not self.epochs:
            raise InputError(f"ensemble {self.ensemble!r} needs at least one member and one epoch")
        if any(later <= earlier for earlier, later in zip(self.epochs, self.epochs[1:], strict=False)):
            raise InputError(f"the epochs of ensemble {self.ensemble!r} must be increasing, got {self.epochs}")
        if not self.examples or self.classes < 2:
            raise InputError(
                f"ensemble {self.ensemble!r} needs scores for at least one image and two classes, got "
                f"({self.examples:,}, {self.classes:,})"
            )

    def __len__(self) -> int:
        return self.examples

    def scores(self, member: int, epoch: int) -> FloatArray:
        """Shape (n, c): the scores of one member after one epoch, by their positions."""
        scores = self.read(member, epoch)
        if scores.shape != (self.examples, self.classes):
            raise InputError(
                f"scores of {self.name_of(member, epoch)} have shape {scores.shape}, expected "
                f"({self.examples}, {self.classes})"
            )
        return scores

    def of_example(self, position: int) -> Checkpoints:
        """The scores of a single example."""
        return replace(self, examples=1, read=lambda m, t: np.asarray(self.scores(m, t)[position : position + 1]))

    def name_of(self, member: int, epoch: int) -> str:
        """The name of the scores of one member after one epoch, for messages."""
        return f"{self.ensemble}, member {self.members[member]}, epoch {self.epochs[epoch]}"


def checkpoints_of(
    scores: ArrayLike | Sequence[Sequence[ArrayLike]],
    *,
    kind: ScoreKind,
    ensemble: str = "ensemble",
    test_set: str = "",
    class_space: str = "",
    members: Sequence[str] = (),
    epochs: Sequence[int] = (),
) -> Checkpoints:
    """Checkpoints from arrays of scores: (m, t, n, c), (t, n, c) for one member, or lists of lists of (n, c).

    Default members and epochs: numbers from 0. All members need the same number of epochs.
    """
    rows = _by_member(scores)
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise InputError(f"every member needs the same number of epochs, got {lengths[0]} and {lengths[-1]}")
    if not rows or not lengths[0]:
        raise InputError("checkpoints need at least one member and one epoch")
    shape = rows[0][0].shape
    if len(shape) != 2:
        raise InputError(f"scores of a member and an epoch must have shape (examples, classes), got {shape}")
    names = tuple(members) or tuple(str(i) for i in range(len(rows)))
    times = tuple(epochs) or tuple(range(lengths[0]))
    if len(names) != len(rows) or len(times) != lengths[0]:
        raise InputError(f"{len(rows)} members and {lengths[0]} epochs, but {len(names)} and {len(times)} names")
    examples, classes = shape

    def read(member: int, epoch: int) -> FloatArray:
        return rows[member][epoch]

    return Checkpoints(ensemble, test_set, class_space, kind, names, times, examples, classes, read)


def _by_member(scores: ArrayLike | Sequence[Sequence[ArrayLike]]) -> list[list[FloatArray]]:
    if isinstance(scores, np.ndarray):
        if scores.ndim not in (3, 4):
            raise InputError(
                f"scores have shape {scores.shape}: expected (members, epochs, examples, classes), or without members"
            )
        stacked = scores if scores.ndim == 4 else scores[None]
        return [[stacked[member, epoch] for epoch in range(stacked.shape[1])] for member in range(len(stacked))]
    return [[np.asarray(epoch) for epoch in member] for member in scores]  # type: ignore[union-attr]


def check_same_epochs(epochs_by_seed: dict[str, list[int]]) -> None:
    """Raise if seeds have different epochs, and name the first epoch that is missing."""
    (first_seed, first_epochs), *rest = epochs_by_seed.items()
    for seed, epochs in rest:
        if epochs != first_epochs:
            missing = min(set(first_epochs) ^ set(epochs))
            lacking_seed = seed if missing in first_epochs else first_seed
            raise InputError(
                f"every seed needs the same epochs: seed {first_seed} has {len(first_epochs):,}, seed {seed} has "
                f"{len(epochs):,}, and epoch {missing} of seed {lacking_seed} is missing"
            )
