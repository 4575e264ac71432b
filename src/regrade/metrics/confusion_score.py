"""The confusion score: how unsure an ensemble is of an image while it is trained (Simsek 2022; Albiero et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.checkpoints import Checkpoints
from regrade.core.cores import on_all_cores
from regrade.core.errors import InputError
from regrade.metrics.mean_softmax import Block, blocks

_TASK = 50_000_000  # scores that a thread takes at a time: enough to be worth opening files, few enough to share out


@dataclass(frozen=True)
class ConfusionEntropies:
    """What a confusion score is made of, in bits.

    ``epochs`` (t, n) is the entropy of the members' mean probabilities after each epoch, and ``members`` (m, n) the
    score that each member alone would give.
    """

    epochs: FloatArray
    members: FloatArray

    @property
    def score(self) -> FloatArray:
        """Shape (n,): the mean over epochs."""
        return self.epochs.mean(axis=0, dtype=np.float64)


@dataclass(frozen=True)
class LastAnswers:
    """What an ensemble answers after its last epoch: the likeliest class (n,) of the mean, and its probability (n,)."""

    classes: IntArray
    confidence: FloatArray


def confusion_score(checkpoints: Checkpoints, *, base: float = 2.0) -> FloatArray:
    """Shape (n,): the mean over epochs of the entropy of the members' mean probabilities, to ``base``.

    After every epoch the members' softmaxes are averaged first, then comes the entropy (0 log 0 = 0), and then its
    mean over epochs. It lies between 0 and log(classes); single precision leaves an error of about 1e-5. Files are read
    in parts and let go, so memory does not grow with what is stored.
    """
    unit = bits_in(base)
    total = np.zeros(len(checkpoints))
    tasks = list(_tasks(checkpoints))
    found = on_all_cores(lambda task: task.ensemble(checkpoints), tasks)
    for task, entropies in zip(tasks, found, strict=True):
        total[task.rows] += entropies
    return total / len(checkpoints.epochs) / unit


def confusion_entropies(checkpoints: Checkpoints) -> ConfusionEntropies:
    """The entropies after every epoch, and each member's own score, in one pass over the files."""
    shape = len(checkpoints.epochs), len(checkpoints)
    epochs, members = np.empty(shape, dtype=np.float32), np.zeros((len(checkpoints.members), len(checkpoints)))
    tasks = list(_tasks(checkpoints))
    found = on_all_cores(lambda task: task.with_members(checkpoints), tasks)
    for task, (ensemble, own) in zip(tasks, found, strict=True):
        epochs[task.epoch, task.rows] = ensemble
        members[:, task.rows] += own
    return ConfusionEntropies(epochs, members / len(checkpoints.epochs))


def last_answers(checkpoints: Checkpoints) -> LastAnswers:
    """What the mean of the members answers after the last epoch; ties go to the lower class index."""
    classes, confidence = np.empty(len(checkpoints), dtype=np.int64), np.empty(len(checkpoints))
    last = _Task(len(checkpoints.epochs) - 1, slice(0, len(checkpoints)))
    for block in last.blocks(checkpoints):
        mean = block.mean()
        classes[block.rows], confidence[block.rows] = mean.argmax(axis=1), mean.max(axis=1)
    return LastAnswers(classes, confidence)


def bits_in(base: float) -> float:
    """How many bits one unit of a logarithm's base is; a base that is none raises."""
    if not (np.isfinite(base) and base > 1):
        raise InputError(f"the base of a logarithm must be above 1, got {base}")
    return float(np.log2(base))


@dataclass(frozen=True)
class _Task:
    """Some rows after one epoch: what one thread does at a time."""

    epoch: int
    rows: slice

    def blocks(self, checkpoints: Checkpoints, *, own: bool = False) -> Iterator[Block]:
        members = range(len(checkpoints.members))
        names = [checkpoints.name_of(member, self.epoch) for member in members]
        scores = [checkpoints.scores(member, self.epoch)[self.rows] for member in members]
        return blocks(scores, checkpoints.kind, names, first=self.rows.start, own=own)

    def ensemble(self, checkpoints: Checkpoints) -> FloatArray:
        return np.concatenate([block.mean_entropy() for block in self.blocks(checkpoints)])

    def with_members(self, checkpoints: Checkpoints) -> tuple[FloatArray, FloatArray]:
        found = [(block.own_entropies(), block.mean_entropy()) for block in self.blocks(checkpoints, own=True)]
        own = np.concatenate([each for each, _ in found])
        return np.concatenate([mean for _, mean in found]), own.T


def _tasks(checkpoints: Checkpoints) -> Iterator[_Task]:
    size = max(1, _TASK // (checkpoints.classes * len(checkpoints.members)))
    for start in range(0, len(checkpoints), size):
        rows = slice(start, min(start + size, len(checkpoints)))
        yield from (_Task(epoch, rows) for epoch in range(len(checkpoints.epochs)))
