"""Several models on the same images: which each has right, what it answers, and on what this rests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import InputError, Predictions, TestSet
from regrade.core.arrays import BoolArray, IntArray
from regrade.metrics import MultilabelRule
from regrade.studies.comparison import Basis
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.review import problem_notes, with_verdicts
from regrade.studies.review_differences import ReviewDifferences, review_differences, review_rows
from regrade.studies.scoring import Scoring


@dataclass(frozen=True, eq=False)
class SameImages:
    """Models on the images that count for all of them.

    ``correct`` (m, n) says what is right and ``classes`` (m, n) what is answered, in the classes of ``class_spaces``
    (m,); ``novel`` (m,) counts wrong answers that no one has judged. ``images`` (n,) are their places in the test set.
    ``review`` gives differences that are valid at any stopping point, where a review of the labels was begun.
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
    """Put two or more models, taken one after another, side by side on the images that count for all of them.

    With ``labels`` right means right under them, verdicts of a review included; a novel prediction counts as wrong.
    """
    inside = np.ones(len(test_set), dtype=bool) if slice_name is None else test_set.slice(slice_name)
    found = [judged_answers(answers, scoring, labels) for answers, scoring in predictions]
    if len(found) < 2:
        raise InputError(f"a comparison needs at least two models, got {len(found)}")
    shared = np.logical_and.reduce([one.counted for one in found]) & inside
    basis = Basis(test_set.name, int(shared.sum()), confidence, slice=slice_name, notes=_notes(found, shared, labels))
    if labels:
        judged = labels.scoring
        basis = replace(basis, labels=judged.labels.name, labels_version=judged.labels.version, rule=judged.rule.value)
    correct = np.stack([one.right[shared] for one in found])
    return SameImages(
        basis,
        tuple(one.model for one in found),
        correct,
        np.stack([one.classes[shared] for one in found]),
        tuple(one.class_space for one in found),
        np.array([one.novel[shared].sum() for one in found]),
        np.flatnonzero(shared),
        _review(found, shared, correct, labels),
    )


def _review(
    found: list[JudgedAnswers], shared: BoolArray, correct: BoolArray, labels: ReviewedLabels | None
) -> ReviewDifferences | None:
    rows = [answers.review_rows[shared] for answers in found if answers.review_rows is not None]
    if labels is None or len(rows) < len(found):
        return None
    return review_differences(labels.review, labels.scoring.rule, rows, correct)


@dataclass(frozen=True)
class JudgedAnswers:
    """One model on all images (n,): what is right, what counts, and what is novel or cannot be told.

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


def judged_answers(predictions: Predictions, scoring: Scoring, labels: ReviewedLabels | None) -> JudgedAnswers:
    """Hold one model's answers against the labels; an image it was not asked about does not count."""
    none = np.zeros(len(predictions), dtype=bool)
    who = (predictions.model, predictions.class_space, _narrow(predictions.top1))
    if labels is None:
        top1 = scoring.top_k(predictions, 1)
        return JudgedAnswers(
            *who, top1.right, scoring.counted & predictions.counted, none, top1.undetermined, scoring.rule
        )
    judged = labels.scoring.judge(predictions, scoring.test_set)
    now = with_verdicts(predictions, judged, labels.review, labels.scoring.rule)
    rows = None if labels.review is None else review_rows(predictions, judged, labels.review)
    return JudgedAnswers(*who, now.right, now.scored & predictions.counted, now.novel, none, "", rows)


def _narrow(classes: IntArray) -> IntArray:
    """Class indices in as few bytes as they need, to hold those of many models."""
    small = classes.max(initial=0) <= np.iinfo(np.int16).max
    return classes.astype(np.int16 if small else np.int32)


def _notes(found: list[JudgedAnswers], shared: BoolArray, labels: ReviewedLabels | None) -> tuple[str, ...]:
    notes = sorted({one.rule for one in found} - {""})
    if any((one.counted != found[0].counted).any() for one in found):
        notes.append("only the images that count for every model")
    if labels:
        notes.append(f"right if {labels.scoring.accepted_in_words}")
        notes += problem_notes(labels.review)
        if labels.scoring.rule is MultilabelRule.CLASSES:
            notes.append("accuracies and tests here are over images: McNemar's test has no form over classes")
    if any(one.novel[shared].any() for one in found):
        notes.append("novel: predictions that no one has judged; they count as wrong here")
    missing = {one.model: int(one.undetermined[shared].sum()) for one in found}
    if any(missing.values()):
        words = ", ".join(f"{model} {count:,}" for model, count in missing.items() if count)
        notes.append(f"none of the stored best classes is among the scored ones, counted as wrong: {words}")
    return tuple(notes)
