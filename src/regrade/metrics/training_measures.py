"""All scores of an image that an ensemble's checkpoints give, in one pass over the files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.checkpoints import Checkpoints
from regrade.core.cores import on_all_cores
from regrade.core.errors import InputError
from regrade.metrics.calibration import SMALLEST_PROBABILITY
from regrade.metrics.confusion_scores import CheckpointTask, ConfusionEntropies, checkpoint_tasks
from regrade.metrics.hardness_scores import prediction_margins
from regrade.metrics.mean_softmax import Block

EARLY_CHECKPOINTS = 10
"""Default number of checkpoints, from the first on, that EL2N is averaged over."""


@dataclass(frozen=True)
class LabelScores:
    """Scores (n,) that need labels, NaN for images without one: EL2N of all members, the rest of the first member.

    ``variability`` is None with a single epoch.
    """

    el2n: FloatArray
    area_under_margin: FloatArray
    confidence: FloatArray
    variability: FloatArray | None


@dataclass(frozen=True)
class TrainingScores:
    """The entropies of the confusion score, and further scores of the same images.

    ``first_member`` (t, n) is the entropy of the first member alone after each epoch, and ``final_margin`` (n,) its
    margin after the last one. ``by_label`` is None without labels.
    """

    entropies: ConfusionEntropies
    first_member: FloatArray
    final_margin: FloatArray
    by_label: LabelScores | None


def training_scores(
    checkpoints: Checkpoints, labels: IntArray | None = None, *, early: int = EARLY_CHECKPOINTS
) -> TrainingScores:
    """Return the scores of all images in one pass, in parts, so that the files may exceed the memory.

    ``labels`` (n,) are indices into the ensemble's classes, -1 without a label. EL2N is the mean over the members and
    over the first ``early`` checkpoints, or over all if there are fewer. The margins of `area_under_margin` are of
    logits; those of probabilities are of their logarithms, with 0 as the smallest probability in half precision.
    """
    if early < 1:
        raise InputError(f"EL2N needs at least one early checkpoint, got {early}")
    if labels is not None and labels.shape != (len(checkpoints),):
        raise InputError(f"{len(checkpoints)} images need as many labels, got shape {labels.shape}")
    epochs, images = len(checkpoints.epochs), len(checkpoints)
    early = min(early, epochs)
    ensemble, first = (np.empty((epochs, images), dtype=np.float32) for _ in range(2))
    members, margin = np.zeros((len(checkpoints.members), images)), np.empty(images)
    sums = None if labels is None else _LabelSums.zeros(images)
    tasks = list(checkpoint_tasks(checkpoints))
    results = on_all_cores(lambda task: _scores_of(task, checkpoints, labels, early), tasks)
    for task, part in zip(tasks, results, strict=True):
        ensemble[task.epoch, task.rows] = part.ensemble
        first[task.epoch, task.rows] = part.members[0]
        members[:, task.rows] += part.members
        if task.epoch == epochs - 1:
            margin[task.rows] = part.margin
        if sums is not None:
            sums.add(task.rows, part)
    by_label = None if sums is None or labels is None else sums.scores(labels, epochs, early)
    return TrainingScores(ConfusionEntropies(ensemble, members / epochs), first, margin, by_label)


@dataclass(frozen=True)
class _Part:
    """The scores of a task or a block, (b,) or (m, b); those that are not needed are empty."""

    ensemble: FloatArray
    members: FloatArray
    margin: FloatArray
    norm: FloatArray
    label_margin: FloatArray
    label_probability: FloatArray


def _scores_of(task: CheckpointTask, checkpoints: Checkpoints, labels: IntArray | None, early: int) -> _Part:
    last = task.epoch == len(checkpoints.epochs) - 1
    own_labels = None if labels is None else labels[task.rows]
    parts = [
        _block_scores(block, own_labels, last=last, early=task.epoch < early)
        for block in task.blocks(checkpoints, own=True)
    ]
    columns = {name: [getattr(part, name) for part in parts] for name in vars(parts[0])}
    return _Part(**{name: np.concatenate(arrays, axis=-1) for name, arrays in columns.items()})


def _block_scores(block: Block, labels: IntArray | None, *, last: bool, early: bool) -> _Part:
    nothing = np.empty(0)
    members = block.own_entropies().T
    ensemble = members[0] if len(members) == 1 else block.mean_entropy()
    margin = prediction_margins(block.first_member()) if last else nothing
    if labels is None:
        return _Part(ensemble, members, margin, nothing, nothing, nothing)
    own = labels[block.rows]
    norms = block.error_norms(own) if early else nothing
    margins = block.label_margins(own, smallest=SMALLEST_PROBABILITY)
    return _Part(ensemble, members, margin, norms, margins, block.label_probabilities(own)[:, 0])


@dataclass(frozen=True)
class _LabelSums:
    """Sums (n,) over the checkpoints of the scores that need labels."""

    norm: FloatArray
    margin: FloatArray
    probability: FloatArray
    square: FloatArray

    @classmethod
    def zeros(cls, images: int) -> _LabelSums:
        return cls(*np.zeros((4, images)))

    def add(self, rows: slice, part: _Part) -> None:
        if part.norm.size:
            self.norm[rows] += part.norm
        self.margin[rows] += part.label_margin
        self.probability[rows] += part.label_probability
        self.square[rows] += part.label_probability**2

    def scores(self, labels: IntArray, epochs: int, early: int) -> LabelScores:
        mean = self.probability / epochs
        spread = np.sqrt(np.maximum(self.square / epochs - mean**2, 0.0)) if epochs > 1 else None
        columns = (self.norm / early, self.margin / epochs, mean)
        for column in (*columns, *([] if spread is None else [spread])):
            column[labels < 0] = np.nan
        return LabelScores(*columns, spread)
