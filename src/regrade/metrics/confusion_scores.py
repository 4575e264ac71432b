"""The confusion score: an ensemble's entropy on an image over training (Simsek 2022; Albiero et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.checkpoints import Checkpoints
from regrade.core.cores import on_all_cores
from regrade.core.errors import InputError
from regrade.metrics.mean_softmax import Block, blocks

_TASK = 50_000_000  # scores per task: large enough to amortize opening files, small enough to balance threads


@dataclass(frozen=True)
class ConfusionEntropies:
    """Entropies behind a confusion score, in bits.

    ``epochs`` (t, n) is the entropy of the members' mean probabilities after each epoch, and ``members`` (m, n) the
    confusion score of each member alone.
    """

    epochs: FloatArray
    members: FloatArray

    @property
    def score(self) -> FloatArray:
        """Shape (n,): the mean over epochs."""
        return self.epochs.mean(axis=0, dtype=np.float64)


@dataclass(frozen=True)
class FinalPredictions:
    """An ensemble's predictions after its last epoch: the most probable class (n,) of the mean, and its probability."""

    classes: IntArray
    confidence: FloatArray


def confusion_score(checkpoints: Checkpoints, *, base: float = 2.0) -> FloatArray:
    """Shape (n,): the confusion score, with logarithms to ``base``.

    After each epoch the members' softmaxes are averaged and their entropy is taken (0 log 0 = 0); the score is its mean
    over epochs. It lies between 0 and log(classes); the error of single precision is about 1e-5. Files are read in
    parts, so memory does not grow with their size.
    """
    unit = bits_in(base)
    total = np.zeros(len(checkpoints))
    tasks = list(checkpoint_tasks(checkpoints))
    results = on_all_cores(lambda task: task.ensemble(checkpoints), tasks)
    for task, entropies in zip(tasks, results, strict=True):
        total[task.rows] += entropies
    return total / len(checkpoints.epochs) / unit


def confusion_entropies(checkpoints: Checkpoints) -> ConfusionEntropies:
    """Return the entropies after every epoch and each member's score, in one pass over the files."""
    shape = len(checkpoints.epochs), len(checkpoints)
    epochs, members = np.empty(shape, dtype=np.float32), np.zeros((len(checkpoints.members), len(checkpoints)))
    tasks = list(checkpoint_tasks(checkpoints))
    results = on_all_cores(lambda task: task.with_members(checkpoints), tasks)
    for task, (ensemble, own) in zip(tasks, results, strict=True):
        epochs[task.epoch, task.rows] = ensemble
        members[:, task.rows] += own
    return ConfusionEntropies(epochs, members / len(checkpoints.epochs))


def final_predictions(checkpoints: Checkpoints) -> FinalPredictions:
    """Return the predictions of the members' mean after the last epoch; ties go to the lower class index."""
    classes, confidence = np.empty(len(checkpoints), dtype=np.int64), np.empty(len(checkpoints))
    last = CheckpointTask(len(checkpoints.epochs) - 1, slice(0, len(checkpoints)))
    for block in last.blocks(checkpoints):
        mean = block.mean()
        classes[block.rows], confidence[block.rows] = mean.argmax(axis=1), mean.max(axis=1)
    return FinalPredictions(classes, confidence)


def bits_in(base: float) -> float:
    """Return log2(base), the number of bits per unit; raises unless the base is above 1."""
    if not (np.isfinite(base) and base > 1):
        raise InputError(f"the base of a logarithm must be above 1, got {base}")
    return float(np.log2(base))


@dataclass(frozen=True)
class CheckpointTask:
    """A range of rows after one epoch, processed by one thread; ``epoch`` is a position."""

    epoch: int
    rows: slice

    def blocks(self, checkpoints: Checkpoints, *, own: bool = False) -> Iterator[Block]:
        """Yield the scores of all members in blocks; rows count from the first of the task."""
        members = range(len(checkpoints.members))
        names = [checkpoints.name_of(member, self.epoch) for member in members]
        scores = [checkpoints.scores(member, self.epoch)[self.rows] for member in members]
        return blocks(scores, checkpoints.kind, names, first=self.rows.start, own=own)

    def ensemble(self, checkpoints: Checkpoints) -> FloatArray:
        """Shape (b,): the entropy of the members' mean."""
        return np.concatenate([block.mean_entropy() for block in self.blocks(checkpoints)])

    def with_members(self, checkpoints: Checkpoints) -> tuple[FloatArray, FloatArray]:
        """Return the entropy of the members' mean (b,), and that of each member (m, b)."""
        entropies = [(block.own_entropies(), block.mean_entropy()) for block in self.blocks(checkpoints, own=True)]
        own = np.concatenate([members for members, _ in entropies])
        return np.concatenate([mean for _, mean in entropies]), own.T


def checkpoint_tasks(checkpoints: Checkpoints) -> Iterator[CheckpointTask]:
    """Divide the rows of all epochs into tasks of similar size."""
    size = max(1, _TASK // (checkpoints.classes * len(checkpoints.members)))
    for start in range(0, len(checkpoints), size):
        rows = slice(start, min(start + size, len(checkpoints)))
        yield from (CheckpointTask(epoch, rows) for epoch in range(len(checkpoints.epochs)))
