"""Top-1, top-5 and multi-label accuracy of models on the same images, and the images with several right labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import Estimate, InputError, Predictions, TestSet, UndefinedError
from regrade.core.arrays import BoolArray, IntArray
from regrade.stats import (
    bonferroni_confidence,
    clustered_mean,
    mark_simultaneous,
    median_change,
    paired_share_difference,
)
from regrade.studies.grade.analysis import top5_of
from regrade.studies.image_basis import judge_predictions
from regrade.studies.image_clusters import ImageClusters, mean_credit, numbers_of
from regrade.studies.multilabel.ambiguous import MIN_IMAGES, ambiguous_classes
from regrade.studies.multilabel.class_answers import OriginalAnswers
from regrade.studies.multilabel.kinds import RightLabels, frequent_pairs, kind_shares
from regrade.studies.multilabel.result import Multilabel, MultilabelRow
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.review import problem_notes
from regrade.studies.scoring import Scoring

_PAIRS = 100  # the most pairs of classes that are kept


def multilabel(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    labels: ReviewedLabels,
    *,
    rng: np.random.Generator,
    people: Iterable[tuple[Predictions, Scoring]] = (),
    min_images: int | None = None,
    clusters: ImageClusters | None = None,
    confidence: float = 0.95,
) -> Multilabel:
    """Compare multi-label accuracy with top-1 and top-5 accuracy, and describe images with several right labels.

    Accuracies are means over the images that the labels score, that have an original label, and on which every model
    has a prediction. A class of an image is right if its state is correct; under the rule ``classes`` predictions of
    unclear classes count as right too. Original classes with ``min_images`` scored images (default: 10) are listed by
    how often the labels, and the answers of ``people``, give their images another class. With ``clusters``, all
    intervals are over clusters of images.
    """
    models = [_Judged.of(model_predictions, scoring, labels) for model_predictions, scoring in predictions]
    if not models:
        raise InputError(f"no model has predictions on {test_set.name} yet")
    inside = np.logical_and.reduce([model.counted for model in models])
    if inside.sum() < 2:
        raise UndefinedError(
            f"{labels.scoring.labels.full_name} scores fewer than two images of {test_set.name} with an original label "
            "on which every model has a prediction"
        )
    cut = [model.on(inside) for model in models]
    right = RightLabels.of(labels.scoring.labels, test_set.class_space, labels.scored)
    scored, several = int(labels.scored.sum()), right.several
    ambiguous = ambiguous_classes(
        test_set,
        labels.scoring.labels,
        right,
        OriginalAnswers.of(people, len(test_set)),
        min_images=MIN_IMAGES if min_images is None else min_images,
        clusters=clusters,
        confidence=confidence,
    )
    numbers = numbers_of(clusters, inside)
    return Multilabel(
        test_set.name,
        labels.scoring.labels.full_name,
        labels.scoring.rule.value,
        confidence,
        int(inside.sum()),
        scored,
        tuple(sorted(_rows(cut, numbers, confidence), key=lambda row: (-row.multilabel.value, row.model))),
        median_change(
            [model.right.astype(np.int8) - model.top1 for model in cut], numbers, rng=rng, confidence=confidence
        ),
        _top5_change(cut, numbers, rng, confidence),
        mean_credit(several[labels.scored], numbers_of(clusters, labels.scored), confidence=confidence),
        _mean_count(right, clusters, confidence),
        kind_shares(right, clusters, confidence=confidence),
        frequent_pairs(right, most=_PAIRS),
        (*_notes(cut, labels, inside), *(() if clusters is None else clusters.notes(labels.scored))),
        ambiguous,
        min_images is not None,
    )


@dataclass(frozen=True, eq=False)
class _Judged:
    """One model on images (n,): right by the labels, by top-1 and by top-5.

    Top-5 is None if fewer classes are stored, or if ties across the fifth place leave it to chance on ``tied`` images.
    """

    model: str
    right: BoolArray
    top1: BoolArray
    top5: BoolArray | None
    counted: BoolArray
    novel: BoolArray
    tied: int = 0

    @classmethod
    def of(cls, predictions: Predictions, scoring: Scoring, labels: ReviewedLabels) -> _Judged:
        judged = judge_predictions(predictions, scoring, labels)
        top1, top5 = scoring.top_k(predictions, 1), top5_of(predictions, scoring)
        counted = judged.counted & scoring.counted
        tied = 0 if top5 is None else top5.tied_images(counted)
        right_top5 = None if top5 is None or tied else top5.right
        return cls(predictions.model, judged.right, top1.right, right_top5, counted, judged.novel, tied)

    def on(self, inside: BoolArray) -> _Judged:
        """The model on these images (n,) only."""
        top5 = None if self.top5 is None else self.top5[inside]
        parts = (self.right[inside], self.top1[inside], top5, self.counted[inside], self.novel[inside])
        return _Judged(self.model, *parts, self.tied)


def _rows(models: Sequence[_Judged], clusters: IntArray | None, confidence: float) -> Iterator[MultilabelRow]:
    for model in models:
        top1, multilabel, top5 = (
            None if right is None else mean_credit(right, clusters, confidence=confidence)
            for right in (model.top1, model.right, model.top5)
        )
        assert top1 is not None and multilabel is not None
        change = _change(model.right, model.top1, clusters, len(models), confidence)
        top5_change = None
        if model.top5 is not None:
            top5_change = _change(model.right, model.top5, clusters, len(models), confidence)
        gained, lost = int((model.right & ~model.top1).sum()), int((model.top1 & ~model.right).sum())
        novel = int(model.novel.sum())
        yield MultilabelRow(model.model, top1, multilabel, change, top5, top5_change, gained, lost, novel)


def _change(right: BoolArray, before: BoolArray, clusters: IntArray | None, models: int, confidence: float) -> Estimate:
    """The accuracy by the labels minus another one, with a paired interval that is simultaneous for all models."""
    level = bonferroni_confidence(models, confidence)
    change = paired_share_difference(right, before, clusters, confidence=level)
    return mark_simultaneous(change, models, confidence=confidence)


def _top5_change(
    models: Sequence[_Judged], clusters: IntArray | None, rng: np.random.Generator, confidence: float
) -> Estimate | None:
    """The median change from top-5 over the models that have it; None without any."""
    changes = [model.right.astype(np.int8) - model.top5 for model in models if model.top5 is not None]
    return median_change(changes, clusters, rng=rng, confidence=confidence) if changes else None


def _mean_count(right: RightLabels, clusters: ImageClusters | None, confidence: float) -> Estimate | None:
    """The mean number of right labels of images with several; None with fewer than two of them, or their clusters."""
    counts, numbers = right.counts[right.several], numbers_of(clusters, right.several)
    members = np.arange(len(counts)) if numbers is None else numbers
    return clustered_mean(counts, members, confidence=confidence)[0] if len(np.unique(members)) > 1 else None


def _notes(models: Sequence[_Judged], labels: ReviewedLabels, inside: BoolArray) -> Iterator[str]:
    yield f"right by the labels if {labels.scoring.accepted_in_words}; means over {inside.sum():,} images"
    scored = int(labels.scored.sum())
    if inside.sum() < scored:
        yield f"only images with an original label that count for every model: {scored - inside.sum():,} are left out"
    yield from problem_notes(labels.review)
    if novel := [f"{model.model} {model.novel.sum():,}" for model in models if model.novel.any()]:
        yield f"novel predictions, which no one has judged, count as wrong: {_few(novel)}"
    if tied := [f"{model.model} {model.tied:,}" for model in models if model.tied]:
        yield f"without top-5, since ties across the fifth place leave it to chance on images of {_few(tied)}"


def _few(words: Sequence[str]) -> str:
    return ", ".join(words[:5]) + (f" and {len(words) - 5:,} more" if len(words) > 5 else "")
