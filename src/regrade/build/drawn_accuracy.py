"""Accuracies of models on drawn images: by selection frequency, and by the strategy of the draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray
from regrade.core.frequency_bins import EDGES, bin_names, frequency_bins
from regrade.stats import simultaneous_proportions, subset_difference, subset_share


@dataclass(frozen=True, eq=False)
class ScoredImages:
    """One model on images with selection frequencies, all (n,): whether it is right, and on which it is scored."""

    right: BoolArray
    scored: BoolArray
    frequencies: FloatArray

    def counts(self) -> list[tuple[int, int]]:
        """Right and scored images per frequency bin."""
        bins = np.array(frequency_bins(self.frequencies.tolist()), dtype=np.int64)
        inside = [self.scored & (bins == number) for number in range(len(EDGES) + 1)]
        return [(int((self.right & members).sum()), int(members.sum())) for members in inside]


@dataclass(frozen=True)
class BinAccuracy:
    """A model's accuracy on the drawn and on the reference images of a frequency bin; None without images."""

    model: str
    bin: str
    drawn: Estimate | None
    reference: Estimate | None


def bin_accuracies(
    model: str, drawn: ScoredImages, reference: ScoredImages | None, *, confidence: float
) -> tuple[BinAccuracy, ...]:
    """The accuracy of a model by selection frequency; the intervals of one model hold simultaneously."""
    counts = [drawn.counts(), reference.counts() if reference is not None else [(0, 0)] * (len(EDGES) + 1)]
    right, images = np.array([cell for side in counts for cell in side], dtype=np.int64).T
    shares = simultaneous_proportions(right, images, confidence=confidence)
    own, theirs = shares[: len(EDGES) + 1], shares[len(EDGES) + 1 :]
    rows = zip(bin_names(EDGES), own, theirs, strict=True)
    return tuple(BinAccuracy(model, name, *estimates) for name, *estimates in rows if any(estimates))


@dataclass(frozen=True)
class DrawnSet:
    """A set that a strategy draws: its images, their mean observed frequency, and the number of problems."""

    name: str
    images: tuple[str, ...]
    frequency: float | None
    problems: int = 0


@dataclass(frozen=True)
class StrategyRow:
    """A drawn set with the mean accuracy of the models on it.

    ``change`` is compared with the original set, ``difference`` with the revision; None for that set itself. Without
    predictions there is no accuracy.
    """

    name: str
    images: int
    frequency: float | None
    accuracy: Estimate | None
    change: Estimate | None
    difference: Estimate | None
    problems: int = 0


@dataclass(frozen=True, eq=False)
class MeanAccuracies:
    """The share of models that are right about each image (n,), of the pool and then of the original set.

    ``pool`` maps the images of the pool to positions; ``original`` (n,) marks those of the original set, and
    ``scored`` (n,) those that count for all models.
    """

    shares: FloatArray
    scored: BoolArray
    original: BoolArray
    pool: Mapping[str, int]

    def inside(self, images: Sequence[str]) -> BoolArray:
        """Shape (n,): these images of the pool, as far as they count."""
        inside = np.zeros(len(self.shares), dtype=bool)
        inside[[self.pool[image] for image in images]] = True
        return inside & self.scored


def strategy_rows(
    accuracies: MeanAccuracies | None,
    original: DrawnSet,
    revision: DrawnSet,
    drawn: Sequence[DrawnSet],
    *,
    confidence: float = 0.95,
) -> tuple[StrategyRow, ...]:
    """The original set, the revision, and further draws, each with the mean accuracy of the models.

    Intervals are over images, for these models. Draws from one pool share images, whose errors cancel in ``difference``
    (`subset_difference`).
    """
    if accuracies is None:
        return tuple(_without_accuracy(part) for part in (original, revision, *drawn))
    whole = accuracies.original & accuracies.scored
    inside = {part.name: accuracies.inside(part.images) for part in (revision, *drawn)}

    def compared(members: BoolArray, base: BoolArray) -> Estimate | None:
        if min(members.sum(), base.sum()) < 2 or members is base:
            return None
        return subset_difference(accuracies.shares, members, base, confidence=confidence)

    def row(part: DrawnSet, members: BoolArray) -> StrategyRow:
        plain = _without_accuracy(part)
        if members.sum() < 2:
            return plain
        accuracy = subset_share(accuracies.shares, members, confidence=confidence)
        change = compared(members, whole)
        difference = None if members is whole else compared(members, inside[revision.name])
        return replace(plain, accuracy=accuracy, change=change, difference=difference)

    return row(original, whole), *(row(part, inside[part.name]) for part in (revision, *drawn))


def _without_accuracy(part: DrawnSet) -> StrategyRow:
    return StrategyRow(part.name, len(part.images), part.frequency, None, None, None, part.problems)
