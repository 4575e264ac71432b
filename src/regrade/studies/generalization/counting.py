"""Counting the correct predictions of models and people on one test set, by the measure of a generalization study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from regrade.core import NO_ANSWER, Answerer, Predictions, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray
from regrade.metrics import FALSE_ALARMS, MultilabelRule, looks_reversed
from regrade.studies.generalization.measure import AccuracyMeasure
from regrade.studies.image_basis import judge_predictions
from regrade.studies.image_clusters import ImageClusters
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.review import problem_notes
from regrade.studies.scoring import Scoring
from regrade.studies.set_counts import (
    ClusterWorth,
    ImageNoiseCollector,
    ModelCounts,
    SetCounts,
    counts_with_noise,
    slice_mask,
)

Scored = Iterable[tuple[Predictions, Scoring]]
"""Predictions of models and people, one at a time, with how they are scored."""


def counts_by_measure(
    test_set: TestSet,
    scored: Scored,
    measure: AccuracyMeasure,
    labels: ReviewedLabels | None,
    *,
    covered: BoolArray | None = None,
    clusters: ImageClusters | None = None,
    confidence: float,
) -> SetCounts:
    """The counts on a test set: top-1, top-k, or against ``labels``, on all images or on the slice of the measure.

    With people, only the images count that all of them have ``covered`` (n,), for models too. Images of one of the
    ``clusters`` are treated as dependent.
    """
    watched = _Watched(scored, covered)
    if labels is None and measure.top == 1:
        counts = counts_with_noise(
            test_set, watched, slice_name=measure.slice, clusters=clusters, confidence=confidence
        )
    else:
        judge = _AgainstLabels(labels) if labels else _TopK(measure.top)
        counts = _counted(test_set, watched, judge, measure, clusters)
    return replace(counts, notes=(*counts.notes, *watched.notes(test_set, counts)))


@dataclass(eq=False)
class _Watched:
    """Passes predictions on, for ``covered`` images (n,) only, and keeps the models whose columns look reversed."""

    scored: Scored
    covered: BoolArray | None
    reversed: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[Predictions, Scoring]]:
        for predictions, scoring in self.scored:
            counted = scoring.counted & predictions.counted
            if scoring.class_map is None and looks_reversed(predictions.classes[counted], scoring.labels[counted]):
                self.reversed.append(predictions.model)
            yield predictions if self.covered is None else _on_images(predictions, self.covered), scoring

    def notes(self, test_set: TestSet, counts: SetCounts) -> Iterator[str]:
        """What limits the images, and cautions about what was passed on."""
        if self.covered is not None and not self.covered.all():
            images = max(counts.models[name].images for name in counts.models)
            yield (
                f"{test_set.name}: everyone is scored on the images that all people were asked about, "
                f"{int(self.covered.sum()):,} of {len(test_set):,}, of which {images:,} count"
            )
        for model in self.reversed:
            yield (
                f"caution: the predictions of {model} on {test_set.name} look reversed: the last column is more "
                f"accurate than each of the others (a false alarm for at most 1 of {1 / FALSE_ALARMS:,.0f} models); "
                f"check the file, and import it again with --reversed {model}"
            )


def _on_images(predictions: Predictions, images: BoolArray) -> Predictions:
    """The predictions as if they had been asked for on some images (n,) only."""
    covered = predictions.counted & images
    return replace(predictions, classes=np.where(covered[:, None], predictions.classes, NO_ANSWER), covered=covered)


@dataclass(frozen=True, eq=False)
class _Judged:
    """One model or person on all images (n,): which predictions are right, count, and were not judged by anyone."""

    right: BoolArray
    counted: BoolArray
    novel: BoolArray
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _TopK:
    """Whether the label is among the best k classes; ties go to the lower class index."""

    k: int

    def __call__(self, predictions: Predictions, scoring: Scoring) -> _Judged:
        if predictions.by is Answerer.PERSON:
            raise UndefinedError(f"{predictions.model} gave one answer per image: top-{self.k} is undefined for people")
        top_k, counted = scoring.top_k(predictions, self.k), scoring.counted & predictions.counted
        tied = top_k.tied_images(counted)
        words = f"{predictions.model}: {amount(tied, 'image')} tied across place {self.k}, decided by class order"
        notes = (*([scoring.rule] if scoring.rule else []), *([words] if tied else []))
        return _Judged(top_k.right, counted, np.zeros(len(predictions), dtype=bool), notes)


@dataclass(frozen=True)
class _AgainstLabels:
    """Whether judged labels accept the best class; a novel prediction counts as wrong."""

    labels: ReviewedLabels

    def __call__(self, predictions: Predictions, scoring: Scoring) -> _Judged:
        judged = judge_predictions(predictions, scoring, self.labels)
        return _Judged(judged.right, judged.counted, judged.novel)

    def notes(self, inside: BoolArray) -> Iterator[str]:
        """Which judgments count, and how many images of the slice (n,) are left out."""
        scoring, labels = self.labels.scoring, self.labels.scoring.labels
        problematic = int((labels.covered & labels.problematic & inside).sum())
        unlabeled = int((~labels.covered & inside).sum())
        reasons = [(problematic, "problematic"), (unlabeled, "without judged labels")]
        left_out = " and ".join(f"{count:,} {reason}" for count, reason in reasons if count)
        yield (
            f"against {labels.full_name}: right if {scoring.accepted_in_words}; mean over "
            f"{amount(int((labels.scored & inside).sum()), 'image')}" + (f", without {left_out}" if left_out else "")
        )
        yield from problem_notes(self.labels.review)
        if scoring.rule is MultilabelRule.CLASSES:
            yield "accuracies are means over images, also by the rule classes"


def _counted(
    test_set: TestSet,
    scored: Scored,
    judge: _TopK | _AgainstLabels,
    measure: AccuracyMeasure,
    clusters: ImageClusters | None,
) -> SetCounts:
    models: dict[str, ModelCounts] = {}
    inside = slice_mask(test_set, measure.slice)
    collector, worth = ImageNoiseCollector(clusters), ClusterWorth(test_set.name, clusters)
    notes = dict.fromkeys(judge.notes(inside) if isinstance(judge, _AgainstLabels) else ())
    for predictions, scoring in scored:
        judged = judge(predictions, scoring)
        counted = judged.counted & inside
        notes |= dict.fromkeys(judged.notes)
        if not counted.any():
            continue
        models[predictions.model] = _counts(judged, counted)
        worth.add(predictions.model, judged.right, counted)
        if predictions.by is Answerer.MODEL:
            collector.add(predictions.model, judged.right, None, counted)
    if not models:
        raise UndefinedError(f"no image of {measure.place(test_set.name)} counts: its accuracy is undefined")
    rules = tuple(f"{test_set.name}: {note}" for note in notes)
    return worth.added_to(SetCounts(test_set.name, models, rules, collector.noise()))


def _counts(judged: _Judged, counted: BoolArray) -> ModelCounts:
    right, images, novel = (int(np.count_nonzero(part & counted)) for part in (judged.right, counted, judged.novel))
    return ModelCounts(right, images, novel=novel)
