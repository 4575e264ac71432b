"""Albiero et al. 2023, on confusing ImageNet images: the base of its logarithm, and where its scores peak."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import log, log2
from pathlib import Path

import numpy as np

from regrade.core import Checkpoints, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.metrics import ConfusionEntropies, confusion_entropies
from regrade.replicate.cell import Cell, CellKind, Replication, printed_figure
from regrade.studies.confusion.distribution import ScoreBins, peak

CLASSES, EPOCHS, SEEDS = 1_000, 100, 3
"""ImageNet's classes, and the checkpoints behind every score."""

_PAPER = "albiero2023"
_STRIDES = {100: 1, 33: 3, 20: 5, 10: 10, 5: 20}  # number of epochs used, and the stride over 100 epochs
_PEAKS = (10, 5)  # numbers of epochs for which the paper states the peak
_IMAGES, _EASY = 400, 0.6  # simulated images, and the fraction learned in the first epoch
_BIN = 0.1  # width of a histogram bin, and tolerance of a peak that the paper states as "around" a value

_printed = partial(printed_figure, _PAPER)
_cell = partial(Cell, kind=CellKind.CONSTRUCTION)


def albiero2023(_data: Path | None = None) -> Replication:
    """Recompute what follows from the definition of the score; the paper's networks are simulated."""
    entropies = confusion_entropies(simulated_training(np.random.default_rng(0)))
    cells = (*_base(), *_epochs(entropies), *_peaks(entropies), *_group_dro())
    return Replication.of(_PAPER, cells, _notes())


def simulated_training(rng: np.random.Generator, *, images: int = _IMAGES) -> Checkpoints:
    """Three networks over 100 epochs: most images are learned in the first epoch, some late or never."""
    easy = rng.random(images) < _EASY
    pace = np.where(easy, 0.02, rng.lognormal(3.0, 1.2, images))  # epochs until an image is learned
    confidence = np.where(easy, 20.0, rng.uniform(4.0, 20.0, images))
    doubts = np.where(easy, 0.0, rng.uniform(0.0, 1.5, images))
    right = rng.integers(CLASSES, size=images)
    noise = rng.standard_normal((SEEDS, images, CLASSES), dtype=np.float32)

    def read(member: int, epoch: int) -> FloatArray:
        learned = 1 - np.exp(-epoch / pace)
        logits = (0.05 + doubts * learned)[:, None].astype(np.float32) * noise[member]
        logits[np.arange(images), right] += (confidence * learned).astype(np.float32)
        return logits

    members, epochs = tuple(str(seed) for seed in range(SEEDS)), tuple(range(EPOCHS))
    return Checkpoints("simulated", "", "", ScoreKind.LOGITS, members, epochs, images, CLASSES, read)


def _base() -> Iterator[Cell]:
    figure = _printed("Section 3.4 text", "bands of confusion scores, the middle", "threshold")
    yield _cell(figure, log2(CLASSES) / 2, "half of the largest score, bits")


def _epochs(entropies: ConfusionEntropies) -> Iterator[Cell]:
    for used, stride in _STRIDES.items():
        figure = _printed("Section 3.3 text", "epochs used for the scores (Figure 5)", f"setting {used}")
        yield _cell(figure, len(entropies.epochs[::stride]), f"every {stride} of {EPOCHS}, the first among them")


def _peaks(entropies: ConfusionEntropies) -> Iterator[Cell]:
    bins = ScoreBins(_BIN, log2(CLASSES))
    for used in _PEAKS:
        scores = entropies.epochs[:: _STRIDES[used]].mean(axis=0, dtype=np.float64)
        figure = _printed("Section 3.3 text", f"peak of the distribution, every {used} epochs", "confusion score")
        yield _cell(figure, peak(scores, bins), "simulated, bits", within=_BIN)


def _group_dro() -> Iterator[Cell]:
    baseline, robust = (
        _printed("Section 3.4 text", f"scores >= 5: {name}", "top-1 error") for name in ("baseline", "GroupDRO")
    )
    figure = _printed("Section 3.4 text", "scores >= 5: improvement of GroupDRO", "difference")
    yield _cell(figure, baseline.value - robust.value, "printed errors")


def _notes() -> tuple[str, ...]:
    nats = ", ".join(f"{log(CLASSES) / used:.2f} with {used} epochs" for used in _PEAKS)
    return (
        f"simulated: {_IMAGES} images, {CLASSES:,} classes, {SEEDS} seeds, {EPOCHS} epochs; nothing is known at the "
        f"first checkpoint, and {100 * _EASY:.0f}% of the images are known at the next. Such an image scores "
        "log2(1000) over the number of epochs, 0.997 with 10 and 1.993 with 5, whatever else the simulation does: the "
        "epochs that are left must contain the first one",
        f"in nats the middle would be {log(CLASSES) / 2:.2f}, the peaks {nats}, and no score could exceed "
        f"{log(CLASSES):.2f}, though the paper mentions scores above 7: the base of the logarithm is 2",
    )
