"""Rivals of the confusion score: other scores of the same images, their cost, and how well they identify errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import Checkpoints, Estimate, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import EARLY_CHECKPOINTS, TrainingScores
from regrade.stats import (
    ErrorRanking,
    auroc_difference,
    bonferroni_confidence,
    bounded_mean,
    kendall,
    mark_simultaneous,
    mean_auroc,
    rank_errors,
)
from regrade.studies.confusion.distribution import none_if_undefined
from regrade.studies.confusion.graded_models import GradedModel
from regrade.studies.image_clusters import numbers_in

CONFUSION, HUMAN = "confusion score", "human entropy"
"""The names of the first and the last row."""

_HARDEST = 10  # the hardest 1 / 10 of the images


@dataclass(frozen=True)
class TrainingCost:
    """What a score costs: epochs of training, and stored checkpoints to read, both over all members."""

    members: int
    training_epochs: int
    checkpoints: int

    def less_than(self, full: TrainingCost) -> bool:
        """Whether training or checkpoints are fewer, and neither is more."""
        own, whole = (self.training_epochs, self.checkpoints), (full.training_epochs, full.checkpoints)
        return own != whole and all(part <= limit for part, limit in zip(own, whole, strict=True))


@dataclass(frozen=True, eq=False)
class ImageScore:
    """A score (n,) of images, high for hard ones, NaN where it has no value; ``cost`` is None for people."""

    name: str
    values: FloatArray
    cost: TrainingCost | None
    uses_labels: bool = False


@dataclass(frozen=True)
class Rival:
    """One score: its cost, and how it relates to the errors of models outside the ensemble and to other scores.

    ``auroc`` is the probability that an error has a higher score than a correct prediction, mean over models;
    ``difference`` is that minus the one of the confusion score on the same images. ``hardest_error`` is the mean error
    on its hardest tenth. ``tau`` is Kendall's tau-b with the confusion score, ``human_tau`` that with the entropy of
    people's answers. ``cheaper`` compares its cost with that of the confusion score. Undefined values are None.
    """

    score: str
    uses_labels: bool
    cost: TrainingCost | None
    cheaper: bool
    auroc: Estimate | None
    difference: Estimate | None
    hardest_error: Estimate | None
    tau: Estimate | None
    human_tau: Estimate | None


def image_scores(
    checkpoints: Checkpoints,
    training: TrainingScores,
    human: FloatArray | None = None,
    *,
    early: int = EARLY_CHECKPOINTS,
) -> list[ImageScore]:
    """Return the confusion score first, then its rivals; scores that are the same by definition are left out."""
    return [*_without_labels(checkpoints, training), *_with_labels(checkpoints, training, early), *_of_people(human)]


def _without_labels(checkpoints: Checkpoints, training: TrainingScores) -> Iterator[ImageScore]:
    members, epochs = len(checkpoints.members), len(checkpoints.epochs)
    trained = _epochs_until(checkpoints, epochs)
    first = checkpoints.members[0]
    one_model = TrainingCost(1, trained, 1)
    yield ImageScore(CONFUSION, training.entropies.score, TrainingCost(members, members * trained, members * epochs))
    if members > 1 and epochs > 1:
        yield ImageScore(
            "entropy after the last epoch, all members",
            training.entropies.epochs[-1],
            TrainingCost(members, members * trained, members),
        )
    if members > 1 or epochs > 1:
        if epochs > 1 and members > 1:
            own = training.first_member.mean(axis=0, dtype=np.float64)
            yield ImageScore(f"confusion score of member {first}", own, TrainingCost(1, trained, epochs))
        yield ImageScore(f"entropy after the last epoch, member {first}", training.first_member[-1], one_model)
    yield ImageScore(f"margin after the last epoch, member {first}", -training.final_margin, one_model)


def _with_labels(checkpoints: Checkpoints, training: TrainingScores, early: int) -> Iterator[ImageScore]:
    scores = training.by_label
    if scores is None:
        return
    members, epochs, first = len(checkpoints.members), len(checkpoints.epochs), checkpoints.members[0]
    used = min(early, epochs)
    norm_cost = TrainingCost(members, members * _epochs_until(checkpoints, used), members * used)
    one_model = TrainingCost(1, _epochs_until(checkpoints, epochs), epochs)
    counted = "1 checkpoint" if used == 1 else f"the first {used} checkpoints"
    yield ImageScore(f"EL2N of {counted}", scores.el2n, norm_cost, uses_labels=True)
    yield ImageScore(f"AUM, member {first}", -scores.area_under_margin, one_model, uses_labels=True)
    yield ImageScore(f"confidence, member {first}", -scores.confidence, one_model, uses_labels=True)
    if scores.variability is not None:
        yield ImageScore(f"variability, member {first}", scores.variability, one_model, uses_labels=True)


def _of_people(human: FloatArray | None) -> Iterator[ImageScore]:
    if human is not None and np.isfinite(human).any():
        yield ImageScore(HUMAN, human, None)


def _epochs_until(checkpoints: Checkpoints, count: int) -> int:
    """The epochs of training until so many checkpoints are stored; epochs may count from 0 or from 1."""
    return checkpoints.epochs[count - 1] + (checkpoints.epochs[0] == 0)


def compare_rivals(
    scores: Sequence[ImageScore],
    models: Sequence[GradedModel],
    clusters: IntArray | None = None,
    *,
    confidence: float,
) -> tuple[Rival, ...]:
    """Compare the first score with the others, by the errors of models; differences hold simultaneously.

    Images of one of the ``clusters`` (n,) are dependent.
    """
    first = scores[0]
    errors = _Errors.of(models, len(first.values), clusters)
    rankings = [errors.ranking(score.values, np.isfinite(score.values)) for score in scores]
    pairs = [_same_images(errors, scores, rankings, place) for place in range(1, len(scores))]
    defined = sum(pair is not None for pair in pairs)
    level = bonferroni_confidence(defined, confidence)
    human = next((score.values for score in scores if score.name == HUMAN), None)

    def row(score: ImageScore, ranking: ErrorRanking | None, pair: _Pair | None) -> Rival:
        difference = None if pair is None else auroc_difference(*pair, confidence=level)
        return Rival(
            score.name,
            score.uses_labels,
            score.cost,
            score.cost is not None and first.cost is not None and score.cost.less_than(first.cost),
            None if ranking is None else mean_auroc(ranking, confidence=confidence),
            None if difference is None else mark_simultaneous(difference, defined, confidence=confidence),
            errors.in_hardest(score.values, confidence),
            None if score is first else _tau(score.values, first.values, clusters, confidence),
            None if human is None or score.name == HUMAN else _tau(score.values, human, clusters, confidence),
        )

    return tuple(row(*parts) for parts in zip(scores, rankings, [None, *pairs], strict=True))


_Pair = tuple[ErrorRanking, ErrorRanking]


def _same_images(
    errors: _Errors, scores: Sequence[ImageScore], rankings: Sequence[ErrorRanking | None], place: int
) -> _Pair | None:
    """The rankings by a score and by the first one on the images that have both; None if either is undefined."""
    both = np.isfinite(scores[place].values) & np.isfinite(scores[0].values)
    pair = rankings[place], rankings[0]
    if not both.all():
        pair = errors.ranking(scores[place].values, both), errors.ranking(scores[0].values, both)
    return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])


def _tau(first: FloatArray, second: FloatArray, clusters: IntArray | None, confidence: float) -> Estimate | None:
    both = np.isfinite(first) & np.isfinite(second)
    numbers = numbers_in(clusters, both)
    return none_if_undefined(kendall, first[both], second[both], numbers, confidence=confidence)


@dataclass(frozen=True)
class _Errors:
    """The errors (m, n) of models on the images that count for each (m, n), and the clusters (n,) of the images."""

    wrong: BoolArray
    counted: BoolArray
    clusters: IntArray | None

    @classmethod
    def of(cls, models: Sequence[GradedModel], images: int, clusters: IntArray | None) -> _Errors:
        empty = np.zeros((0, images), dtype=bool)
        wrong, counted = (np.stack(rows) if rows else empty for rows in _columns(models))
        return cls(wrong, counted, clusters)

    def ranking(self, values: FloatArray, inside: BoolArray) -> ErrorRanking | None:
        """The ranking of the errors on some images (n,); None if it is undefined."""
        try:
            return rank_errors(values, self.wrong, self.counted & inside, self.clusters)
        except UndefinedError:
            return None

    def in_hardest(self, values: FloatArray, confidence: float) -> Estimate | None:
        """The mean error on the hardest tenth of the images with a score; ties go to the earlier image."""
        usable = np.flatnonzero(np.isfinite(values) & self.counted.any(axis=0))
        count = len(usable) // _HARDEST
        if not count:
            return None
        hardest = usable[np.argsort(-values[usable], kind="stable")[:count]]
        numbers = None if self.clusters is None else self.clusters[hardest]
        shares = error_share(self.wrong, self.counted)[hardest]
        return bounded_mean(shares, numbers, largest=1.0, confidence=confidence)


def _columns(models: Sequence[GradedModel]) -> tuple[list[BoolArray], list[BoolArray]]:
    return [model.wrong for model in models], [model.counted for model in models]


def error_share(wrong: BoolArray, counted: BoolArray) -> FloatArray:
    """Shape (n,): the share of the models (m, n) that err on each image, NaN where none counts."""
    models = counted.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(models > 0, (wrong & counted).sum(axis=0) / np.maximum(models, 1), np.nan)
