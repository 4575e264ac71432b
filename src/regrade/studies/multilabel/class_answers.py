"""What people answer to the images of each original class: which class they name, and whether they select the image."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import NO_ANSWER, Estimate, InputError, Predictions, TestSet
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import bonferroni_confidence, bounded_mean, clustered_share, mark_simultaneous
from regrade.studies.frequency.column import image_frequencies
from regrade.studies.image_clusters import ImageClusters, mean_credit, numbers_of
from regrade.studies.scoring import Scoring


@dataclass(frozen=True, eq=False)
class OriginalAnswers:
    """People's answers (p, n) compared with the original labels: which images each person answered, and wrongly."""

    answered: BoolArray
    wrong: BoolArray

    @classmethod
    def of(cls, people: Iterable[tuple[Predictions, Scoring]], size: int) -> OriginalAnswers:
        """The first answers of people to ``size`` images, judged as top-1 accuracy judges predictions."""
        answered, wrong = [np.zeros((0, size), dtype=bool)], [np.zeros((0, size), dtype=bool)]
        for answers, scoring in people:
            counted = scoring.counted & answers.counted & (answers.top1 != NO_ANSWER)
            answered.append(counted[None])
            wrong.append((counted & ~scoring.top_k(answers, 1).right)[None])
        return cls(np.concatenate(answered), np.concatenate(wrong))

    def shares(
        self, groups: Sequence[IntArray], clusters: ImageClusters | None = None, *, confidence: float
    ) -> list[Estimate | None]:
        """The share of wrong answers to each group of images; None if fewer than two of them have answers."""
        defined = [int(self.answered[:, group].any(axis=0).sum()) > 1 for group in groups]
        numbers = np.arange(self.answered.shape[1]) if clusters is None else clusters.numbers

        def share(images: IntArray, level: float) -> Estimate:
            people, places = np.nonzero(self.answered[:, images])
            return clustered_share(self.wrong[people, images[places]], numbers[images[places]], confidence=level)

        return _together(groups, defined, share, confidence)


def image_shares(
    inside: BoolArray, groups: Sequence[IntArray], clusters: ImageClusters | None = None, *, confidence: float
) -> list[Estimate | None]:
    """The share of the images of each group that are ``inside`` (n,); None for an empty group."""
    return _together(
        groups,
        [group.size > 0 for group in groups],
        lambda images, level: mean_credit(inside[images], numbers_of(clusters, images), confidence=level),
        confidence,
    )


def unselected_shares(
    test_set: TestSet, groups: Sequence[IntArray], clusters: ImageClusters | None = None, *, confidence: float
) -> list[Estimate | None]:
    """One minus the mean selection frequency of each group of images; None if no image of it has a frequency."""
    frequencies = _frequencies(test_set)
    present = [group[~np.isnan(frequencies[group])] for group in groups]
    return _together(
        present,
        [group.size > 0 for group in present],
        lambda images, level: _unselected(1 - frequencies[images], numbers_of(clusters, images), level),
        confidence,
    )


def _unselected(values: FloatArray, numbers: IntArray | None, level: float) -> Estimate:
    if numbers is None:
        return bounded_mean(values, largest=1.0, confidence=level)
    return clustered_share(values, numbers, confidence=level)


def _frequencies(test_set: TestSet) -> FloatArray:
    """Shape (n,): the selection frequencies, NaN without one: also if there is no such column, or one of bins."""
    missing = np.full(len(test_set), np.nan)
    try:
        frequencies = image_frequencies(test_set, None).frequencies
    except InputError:
        return missing
    return missing if frequencies is None else frequencies


def _together(
    groups: Sequence[IntArray],
    defined: Sequence[bool],
    estimate: Callable[[IntArray, float], Estimate],
    confidence: float,
) -> list[Estimate | None]:
    """The estimate of each group for which it is defined, with intervals that hold simultaneously."""
    level = bonferroni_confidence(sum(defined), confidence)
    return [
        mark_simultaneous(estimate(group, level), sum(defined), confidence=confidence) if is_defined else None
        for group, is_defined in zip(groups, defined, strict=True)
    ]
