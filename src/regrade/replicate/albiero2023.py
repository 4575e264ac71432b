"""Albiero et al. 2023, on confusing ImageNet images: the base of its logarithm, and what epochs and seeds change."""

from __future__ import annotations

from collections.abc import Iterator
from math import log, log2
from pathlib import Path

import numpy as np

from regrade.core import Checkpoints, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.metrics import ConfusionEntropies, confusion_entropies
from regrade.replicate.albiero2023_printed import (
    CLASSES,
    EPOCHS,
    EPOCHS_LEFT,
    GROUP_DRO,
    HIGH,
    MIDDLE,
    PEAKS,
    SEEDS,
)
from regrade.replicate.cell import Cell, Replication
from regrade.stats import robust_pearson
from regrade.studies.confusion.distribution import ScoreBins, peak

_IMAGES, _EASY = 400, 0.6  # simulated images, and the share that is learnt at once
_BIN = 0.1  # of the histogram, and how far a peak that is said to be around a number may lie from it
_HALF = 0.5  # half a unit of the last printed digit
_TENTH, _WHOLE = 0.05, 0.0

_NATS = "in nats the figure would be this one: the base of the logarithm is 2"
_STRIDE = "every 3rd of 100 epochs, the first among them, are 34; the third part of 100, rounded, is 33"
_UNPRINTED = "the paper prints no value: it is in a figure only, and ours is from simulated images"
_TRAINING = "ImageNet was not trained here, and the paper gives neither step sizes nor schedule of its GroupDRO"


def albiero2023(_data: Path | None = None) -> Replication:
    """Recompute what follows from the definition of the score; the paper's networks are simulated."""
    entropies = confusion_entropies(simulated_training(np.random.default_rng(0)))
    cells = (*_base(), *_peaks(entropies), *_epochs(entropies), *_seeds(entropies), *_group_dro())
    return Replication("albiero2023", cells, _notes())


def simulated_training(rng: np.random.Generator, *, images: int = _IMAGES) -> Checkpoints:
    """Three networks over 100 epochs: they know nothing at first, most images after one epoch, some late or never."""
    easy = rng.random(images) < _EASY
    pace = np.where(easy, 0.02, rng.lognormal(3.0, 1.2, images))  # epochs until an image is learnt
    sureness = np.where(easy, 20.0, rng.uniform(4.0, 20.0, images))
    doubts = np.where(easy, 0.0, rng.uniform(0.0, 1.5, images))
    right = rng.integers(CLASSES, size=images)
    noise = rng.standard_normal((SEEDS, images, CLASSES), dtype=np.float32)

    def read(member: int, epoch: int) -> FloatArray:
        learnt = 1 - np.exp(-epoch / pace)
        logits = (0.05 + doubts * learnt)[:, None].astype(np.float32) * noise[member]
        logits[np.arange(images), right] += (sureness * learnt).astype(np.float32)
        return logits

    members, epochs = tuple(str(seed) for seed in range(SEEDS)), tuple(range(EPOCHS))
    return Checkpoints("simulated", "", "", ScoreKind.LOGITS, members, epochs, images, CLASSES, read)


def _base() -> Iterator[Cell]:
    for unit, top, why in (("bits", log2(CLASSES), ""), ("nats", log(CLASSES), _NATS)):
        yield Cell("Base of the logarithm", f"the middle of all scores, {unit}", MIDDLE, top / 2, _HALF, why)


def _peaks(entropies: ConfusionEntropies) -> Iterator[Cell]:
    bins = ScoreBins(_BIN, log2(CLASSES))
    for stride, said in EPOCHS_LEFT.items():
        kept = entropies.epochs[::stride]
        yield Cell(
            "Figure 5, epochs", f"at a stride of {stride}", said, len(kept), _WHOLE, _STRIDE if stride == 3 else ""
        )
        found = peak(kept.mean(axis=0, dtype=np.float64), bins)
        printed = PEAKS.get(said)
        why = _UNPRINTED if printed is None else ""
        yield Cell("Figure 5, peak", f"{said} epochs, bits", printed, found, _BIN, why)
        if printed is not None:
            yield Cell("Figure 5, peak", f"{said} epochs, nats", printed, found * log(2), _BIN, _NATS)


def _epochs(entropies: ConfusionEntropies) -> Iterator[Cell]:
    full = entropies.score
    for stride, said in EPOCHS_LEFT.items():
        if stride > 1:
            found = robust_pearson(entropies.epochs[::stride].mean(axis=0, dtype=np.float64), full)
            cell = f"{said} epochs, r with the score of {EPOCHS}"
            yield Cell("Effect of epochs, simulated", cell, None, found.value, _TENTH, _UNPRINTED)


def _seeds(entropies: ConfusionEntropies) -> Iterator[Cell]:
    found = robust_pearson(entropies.members[0], entropies.score)
    yield Cell(
        "Effect of seeds, simulated", f"1 seed, r with the score of {SEEDS}", None, found.value, _TENTH, _UNPRINTED
    )


def _group_dro() -> Iterator[Cell]:
    for cell, printed in GROUP_DRO.items():
        yield Cell("GroupDRO, top-1 error", cell, printed, None, _TENTH, _TRAINING)


def _notes() -> tuple[str, ...]:
    return (
        f"simulated: {_IMAGES} images, {CLASSES:,} classes, {SEEDS} seeds, {EPOCHS} epochs; nothing is known at the "
        f"first checkpoint, and {100 * _EASY:.0f}% of the images are known at the next. Such an image scores "
        "log2(1000) over the number of epochs, 0.997 with 10 and 1.993 with 5, whatever else the simulation does: the "
        "epochs that are left must contain the first one",
        f"the paper speaks of scores above {HIGH:g}: in nats there are none, as ln({CLASSES:,}) is {log(CLASSES):.2f}",
        "the errors under GroupDRO are the paper's own, listed and not reproduced",
    )
