"""What an ensemble answered while it was trained: the scores of every member after every epoch that was kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regrade.core.arrays import FloatArray
from regrade.core.errors import InputError
from regrade.core.predictions import ScoreKind


@dataclass(frozen=True, eq=False)
class Checkpoints:
    """All scores of an ensemble on one test set: (n, c) for each member and epoch, rows in the test set's order.

    ``members`` are mostly seeds, ``epochs`` rise and may be strided; every member has all of them. ``read`` gives the
    scores of a member and an epoch by their places, often as a memory map: it is opened when it is asked for and let
    go after use, so that what is stored may be larger than memory.
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
            raise InputError(f"the epochs of ensemble {self.ensemble!r} must rise, got {self.epochs}")
        if not self.examples or self.classes < 2:
            raise InputError(
                f"ensemble {self.ensemble!r} needs scores of at least one image and two classes, got "
                f"({self.examples:,}, {self.classes:,})"
            )

    def __len__(self) -> int:
        return self.examples

    def scores(self, member: int, epoch: int) -> FloatArray:
        """Shape (n, c): the scores of one member after one epoch, by their places; other shapes raise."""
        found = self.read(member, epoch)
        if found.shape != (self.examples, self.classes):
            raise InputError(
                f"scores of {self.name_of(member, epoch)} have shape {found.shape}, expected "
                f"({self.examples}, {self.classes})"
            )
        return found

    def name_of(self, member: int, epoch: int) -> str:
        """How messages call the scores of one member after one epoch."""
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
    """Checkpoints from scores that are at hand: (m, t, n, c), (t, n, c) of one member, or lists of lists of (n, c).

    Members and epochs are numbered from 0 unless they are given. Members with different numbers of epochs raise.
    """
    rows = _by_member(scores)
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise InputError(f"every member needs the same epochs, got {lengths[0]} of one and {lengths[-1]} of another")
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
    return [[np.asarray(each) for each in row] for row in scores]  # type: ignore[union-attr]
