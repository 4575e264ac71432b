"""Accuracy by selection frequency, on an original test set and on new ones (Recht et al. 2019, Figure 15)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import Estimate, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import (
    bonferroni_confidence,
    mark_simultaneous,
    standardized_difference,
    subset_difference,
    subset_share,
)
from regrade.studies.frequency.column import NO_BIN, ImageFrequencies
from regrade.studies.frequency.noise import split_half_changes
from regrade.studies.frequency.result import AnswerNoise, Frequency, FrequencyBin, FrequencyChange, ModelBin
from regrade.studies.image_clusters import ImageClusters, mean_credit, numbers_of

_FEWEST = 2  # images of a bin with an accuracy


@dataclass(frozen=True, eq=False)
class FrequencySet:
    """Models on a test set: which predictions are right and which count (m, n), and the frequencies of the images.

    With ``clusters``, images of a cluster are dependent.
    """

    test_set: str
    right: BoolArray
    counted: BoolArray
    frequencies: ImageFrequencies
    rules: tuple[str, ...] = ()
    clusters: ImageClusters | None = None

    @property
    def bins(self) -> IntArray:
        """Shape (k,): the bins of the images that count for all models and have a frequency."""
        return self.frequencies.bins[self._shared]

    @property
    def shares(self) -> FloatArray:
        """Shape (k,): the share of the models that are right about each of these images."""
        return np.asarray(self.right[:, self._shared].mean(axis=0))

    @property
    def numbers(self) -> IntArray | None:
        """Shape (k,): the clusters of these images; None without clusters."""
        return numbers_of(self.clusters, self._shared)

    @property
    def _shared(self) -> BoolArray:
        return np.asarray(self.counted.all(axis=0) & (self.frequencies.bins != NO_BIN))

    def cells(self, model: int) -> Iterator[tuple[str, BoolArray]]:
        """The bins with images that count for a model, by name, and these images (n,)."""
        for number, name in enumerate(self.frequencies.names):
            inside = self.counted[model] & (self.frequencies.bins == number)
            if inside.any():
                yield name, inside


def frequency_study(
    sets: Sequence[FrequencySet], models: Sequence[str], edges: Sequence[float], *, confidence: float = 0.95
) -> Frequency:
    """Study the accuracy of the same models by selection frequency; the first set is the original.

    Bins with fewer than two images have no accuracy. A set in which no image counts for all models raises.
    """
    for part in sets:
        if len(part.bins) < _FEWEST:
            raise UndefinedError(f"fewer than two images of {part.test_set} have a frequency and count for all models")
    names = sets[0].frequencies.names
    return Frequency(
        tuple(part.test_set for part in sets),
        tuple(models),
        names,
        confidence,
        tuple(_bins(sets, names, confidence)),
        tuple(_by_model(sets, models, confidence)),
        tuple(_changes(sets, confidence)),
        _rise(sets[0], confidence),
        tuple(_noise(sets, edges, confidence)),
        tuple(_notes(sets, edges, confidence)),
    )


def _bins(sets: Sequence[FrequencySet], names: Sequence[str], confidence: float) -> Iterator[FrequencyBin]:
    original = sets[0]
    sizes = [np.bincount(part.bins, minlength=len(names)) for part in sets]
    cells = sum(int((counts >= _FEWEST).sum()) for counts in sizes)
    differences = sum(int(((counts >= _FEWEST) & (sizes[0] >= _FEWEST)).sum()) for counts in sizes[1:])
    for part, counts in zip(sets, sizes, strict=True):
        for number, name in enumerate(names):
            share = float(counts[number] / counts.sum())
            accuracy = difference = None
            if counts[number] >= _FEWEST:
                accuracy = _accuracy(part, number, cells, confidence)
                if part is not original and sizes[0][number] >= _FEWEST:
                    difference = _difference(part, original, number, differences, confidence)
            yield FrequencyBin(part.test_set, name, int(counts[number]), share, accuracy, difference)


def _accuracy(part: FrequencySet, number: int, cells: int, confidence: float) -> Estimate:
    level = bonferroni_confidence(cells, confidence)
    share = subset_share(part.shares, part.bins == number, part.numbers, confidence=level)
    return mark_simultaneous(share, cells, confidence=confidence)


def _difference(new: FrequencySet, old: FrequencySet, number: int, comparisons: int, confidence: float) -> Estimate:
    """The accuracy on the images of a bin minus that on the original's."""
    level = bonferroni_confidence(comparisons, confidence)
    shares, inside = np.r_[new.shares, old.shares], np.r_[new.bins == number, old.bins == number]
    is_new = np.arange(len(shares)) < len(new.shares)
    clusters = _numbers_of_both(new, old)
    difference = subset_difference(shares, inside & is_new, inside & ~is_new, clusters, confidence=level)
    return mark_simultaneous(difference, comparisons, confidence=confidence)


def _numbers_of_both(first: FrequencySet, second: FrequencySet) -> IntArray | None:
    """The clusters of the images of two sets, which have none in common; None if neither has clusters."""
    if first.numbers is None and second.numbers is None:
        return None
    left, right = (np.arange(len(part.shares)) if part.numbers is None else part.numbers for part in (first, second))
    return np.r_[left, right + int(left.max(initial=0)) + 1]


def _by_model(sets: Sequence[FrequencySet], models: Sequence[str], confidence: float) -> Iterator[ModelBin]:
    for number, model in enumerate(models):
        cells = [(part, name, inside) for part in sets for name, inside in part.cells(number)]
        level = bonferroni_confidence(len(cells), confidence)
        for part, name, inside in cells:
            right = part.right[number][inside]
            share = mean_credit(right, numbers_of(part.clusters, inside), confidence=level)
            accuracy = mark_simultaneous(share, len(cells), confidence=confidence)
            yield ModelBin(model, part.test_set, name, accuracy)


def _changes(sets: Sequence[FrequencySet], confidence: float) -> Iterator[FrequencyChange]:
    """The changes to each new set, with intervals for all of them, overall and at equal frequency."""
    original, *new = sets
    comparisons = 2 * len(new)
    level = bonferroni_confidence(comparisons, confidence)
    for part in new:
        nowhere = np.zeros(len(part.shares), int), np.zeros(len(original.shares), int)
        options: dict[str, Any] = {
            "clusters": part.numbers, "base_clusters": original.numbers, "confidence": level
        }  # fmt: skip
        overall = standardized_difference(part.shares, nowhere[0], original.shares, nowhere[1], **options)
        try:
            at_equal = standardized_difference(part.shares, part.bins, original.shares, original.bins, **options)
        except UndefinedError:
            at_equal = None
        yield FrequencyChange(
            part.test_set,
            mark_simultaneous(overall, comparisons, confidence=confidence),
            at_equal and mark_simultaneous(at_equal, comparisons, confidence=confidence),
            at_equal.n if at_equal else 0,
        )


def _rise(original: FrequencySet, confidence: float) -> Estimate | None:
    """The mean accuracy in the highest bin minus that in the lowest one, of those with at least two images."""
    filled = np.flatnonzero(np.bincount(original.bins) >= _FEWEST)
    if len(filled) < 2:
        return None
    highest, lowest = original.bins == filled[-1], original.bins == filled[0]
    return subset_difference(original.shares, highest, lowest, original.numbers, confidence=confidence)


def _noise(sets: Sequence[FrequencySet], edges: Sequence[float], confidence: float) -> Iterator[AnswerNoise]:
    for part in sets:
        measured = part.frequencies
        if measured.frequencies is not None and measured.answers is not None:
            has = measured.bins != NO_BIN
            answers = measured.answers[has]
            clusters = numbers_of(part.clusters, has)
            changed = split_half_changes(measured.frequencies[has], answers, edges, clusters, confidence=confidence)
            yield AnswerNoise(part.test_set, float(np.median(answers)), changed)


def _notes(sets: Sequence[FrequencySet], edges: Sequence[float], confidence: float) -> Iterator[str]:
    yield (
        "mean accuracy: share of the models that are right, averaged over images; intervals are over images, for these "
        "models, and hold for all bins and test sets together"
    )
    yield from (
        f"{noise.test_set}: two halves of the answers ({noise.answers // 2:g} each) put {noise.changed} % of "
        "the images into different bins"
        for noise in _noise(sets, edges, confidence)
    )
    yield (
        "an observed frequency varies with the people who were asked: bins mix images of different true frequency, so "
        "accuracies of neighboring bins look more alike than they are, and images of the same observed frequency from "
        "a pool of harder images are harder (Engstrom et al. 2020); differences of frequency within a bin remain, too"
    )
    for part in sets:
        if without := int((part.frequencies.bins == NO_BIN).sum()):
            yield f"{amount(without, 'image')} of {part.test_set} without a frequency: left out"
        yield from part.rules
        if part.clusters is not None:
            yield from (f"{part.test_set}: {note}" for note in part.clusters.notes(part.frequencies.bins != NO_BIN))
