"""Aligning several models on the same images: their predictions, and which of them are correct."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from regrade.core import InputError, Predictions, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.record import json_key
from regrade.metrics import MultilabelRule
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.review import apply_review, problem_notes
from regrade.studies.review_differences import ReviewDifferences, review_differences, review_rows
from regrade.studies.scoring import Scoring


@dataclass(frozen=True)
class Basis:
    """What a comparison is based on: the images of a test set or of a slice, and the labels and scoring rule.

    ``equivalence`` is the margin, as a fraction, within which two models count as equivalent; None if not tested.
    ``clusters`` is the column of the sampling clusters that tests and intervals are over, if there are any.
    """

    test_set: str
    images: int
    confidence: float = 0.95
    labels: str | None = None
    labels_version: int | None = None
    rule: str | None = None
    slice: str | None = None
    notes: tuple[str, ...] = ()
    equivalence: float | None = None
    clusters: str | None = field(default=None, metadata=json_key("clusters", only_if_set=True))

    @property
    def level(self) -> float:
        """The significance level of the tests, 1 - confidence."""
        return 1 - self.confidence

    @property
    def title(self) -> str:
        """Test set, slice and labels, for headings."""
        part = f", slice {self.slice}" if self.slice else ""
        against = f" against {self.labels}@{self.labels_version}" if self.labels else ""
        return f"{self.test_set}{part}{against}"


@dataclass(frozen=True, eq=False)
class SameImages:
    """Models on the images that are scored for all of them.

    ``classes`` (m, n) are the predicted classes in ``class_spaces`` (m,) and ``correct`` (m, n) whether they are
    correct; ``novel`` (m,) counts predictions that no one has judged. ``images`` (n,) are positions in the test set.
    ``review`` gives differences that are valid at any stopping point, if a review of the labels was started.
    """

    basis: Basis
    models: tuple[str, ...]
    correct: BoolArray
    classes: IntArray
    class_spaces: tuple[str, ...]
    novel: IntArray
    images: IntArray
    review: ReviewDifferences | None = None


def same_images(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    labels: ReviewedLabels | None = None,
    slice_name: str | None = None,
    confidence: float = 0.95,
) -> SameImages:
    """Align two or more models, read one at a time, on the images that are scored for all of them.

    With ``labels``, predictions are scored against them, including decisions of a review; a novel prediction counts as
    wrong.
    """
    inside = np.ones(len(test_set), dtype=bool) if slice_name is None else test_set.slice(slice_name)
    models = [judge_predictions(model_predictions, scoring, labels) for model_predictions, scoring in predictions]
    if len(models) < 2:
        raise InputError(f"a comparison needs at least two models, got {len(models)}")
    shared = np.logical_and.reduce([model.counted for model in models]) & inside
    basis = Basis(test_set.name, int(shared.sum()), confidence, slice=slice_name, notes=_notes(models, shared, labels))
    if labels:
        judged = labels.scoring
        basis = replace(basis, labels=judged.labels.name, labels_version=judged.labels.version, rule=judged.rule.value)
    correct = np.stack([model.right[shared] for model in models])
    return SameImages(
        basis,
        tuple(model.model for model in models),
        correct,
        np.stack([model.classes[shared] for model in models]),
        tuple(model.class_space for model in models),
        np.array([model.novel[shared].sum() for model in models]),
        np.flatnonzero(shared),
        _review(models, shared, correct, labels),
    )


def _review(
    models: list[JudgedPredictions], shared: BoolArray, correct: BoolArray, labels: ReviewedLabels | None
) -> ReviewDifferences | None:
    rows = [model.review_rows[shared] for model in models if model.review_rows is not None]
    if labels is None or len(rows) < len(models):
        return None
    return review_differences(labels.review, labels.scoring.rule, rows, correct)


@dataclass(frozen=True)
class JudgedPredictions:
    """One model on all images (n,): predicted classes, and which are right, counted, novel or undetermined.

    ``review_rows`` are the rows of novel predictions in the review of the labels, if there is one.
    """

    model: str
    class_space: str
    classes: IntArray
    right: BoolArray
    counted: BoolArray
    novel: BoolArray
    undetermined: BoolArray
    rule: str
    review_rows: IntArray | None = None


def judge_predictions(predictions: Predictions, scoring: Scoring, labels: ReviewedLabels | None) -> JudgedPredictions:
    """Score one model's predictions against the labels; images without a requested prediction are not counted."""
    none = np.zeros(len(predictions), dtype=bool)
    fields = (predictions.model, predictions.class_space, _narrow(predictions.top1))
    if labels is None:
        top1 = scoring.top_k(predictions, 1)
        return JudgedPredictions(
            *fields, top1.right, scoring.counted & predictions.counted, none, top1.undetermined, scoring.rule
        )
    judged = labels.scoring.judge(predictions, scoring.test_set)
    updated = apply_review(predictions, judged, labels.review, labels.scoring.rule)
    rows = None if labels.review is None else review_rows(predictions, judged, labels.review)
    counted = updated.scored & predictions.counted
    return JudgedPredictions(*fields, updated.right, counted, updated.novel, none, "", rows)


def _narrow(classes: IntArray) -> IntArray:
    """Class indices in the smallest integer type, since those of many models are kept in memory."""
    small = classes.max(initial=0) <= np.iinfo(np.int16).max
    return classes.astype(np.int16 if small else np.int32)


def _notes(models: list[JudgedPredictions], shared: BoolArray, labels: ReviewedLabels | None) -> tuple[str, ...]:
    notes = sorted({model.rule for model in models} - {""})
    if any((model.counted != models[0].counted).any() for model in models):
        notes.append("only the images that count for every model")
    if labels:
        notes.append(f"right if {labels.scoring.accepted_in_words}")
        notes += problem_notes(labels.review)
        if labels.scoring.rule is MultilabelRule.CLASSES:
            notes.append("accuracies and tests here are over images: McNemar's test has no form over classes")
    if any(model.novel[shared].any() for model in models):
        notes.append("novel: predictions that no one has judged; they count as wrong here")
    missing = {model.model: int(model.undetermined[shared].sum()) for model in models}
    if any(missing.values()):
        words = ", ".join(f"{name} {count:,}" for name, count in missing.items() if count)
        notes.append(f"none of the stored best classes is among the scored ones, counted as wrong: {words}")
    return tuple(notes)
