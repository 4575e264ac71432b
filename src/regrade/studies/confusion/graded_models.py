"""Predictions of models on one test set, with their correctness and confidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from regrade.core import NO_ANSWER, Checkpoints, MismatchError, Predictions, ScoreKind, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import FinalPredictions
from regrade.metrics.mean_softmax import blocks
from regrade.studies.scoring import Scoring

Scored = Iterable[tuple[Predictions, Scoring]]
"""Predictions, each with its scoring rule."""


@dataclass(frozen=True, eq=False)
class GradedModel:
    """One model's predicted classes (n,) on one set, with their confidence (n,) if known.

    ``wrong`` (n,) is meaningful only where ``counted`` (n,) is true: nowhere on a set without labels.
    """

    classes: IntArray
    class_space: str
    wrong: BoolArray
    counted: BoolArray
    confidence: FloatArray | None = None


def same_size(test_set: TestSet, checkpoints: Checkpoints) -> None:
    """Raise if an ensemble's scores do not match the images of the test set."""
    if len(checkpoints) != len(test_set):
        raise MismatchError(
            f"ensemble {checkpoints.ensemble!r} has scores of {amount(len(checkpoints), 'image')}, test set "
            f"{test_set.name} has {len(test_set):,}"
        )


def same_ensemble(source: Checkpoints, target: Checkpoints) -> None:
    """Raise if checkpoints on two test sets are of different members, epochs or classes."""
    if (target.members, target.epochs, target.class_space) != (source.members, source.epochs, source.class_space):
        raise MismatchError(
            f"the scores of {source.ensemble!r} on {target.test_set} are of other members, epochs or classes "
            f"than those on {source.test_set}: they cannot be compared"
        )


def own_name(checkpoints: Checkpoints) -> str:
    """Return the model name for the ensemble's own predictions."""
    if len(checkpoints.epochs) > 1:
        return f"{checkpoints.ensemble} (after epoch {checkpoints.epochs[-1]})"
    return f"{checkpoints.ensemble} (mean)" if len(checkpoints.members) > 1 else checkpoints.ensemble


def grade_models(
    test_set: TestSet,
    ensemble: Checkpoints,
    last: FinalPredictions,
    predictions: Scored,
    own: Scoring | None,
    *,
    with_confidence: bool,
) -> dict[str, GradedModel]:
    """Return all models by name, including the ensemble itself if ``own`` gives the scoring of its predictions.

    The confidence of a model is computed only if ``with_confidence`` is set.
    """
    graded = {}
    if own is not None:
        model = Predictions(own_name(ensemble), test_set.name, ensemble.class_space, last.classes[:, None])
        graded[model.model] = _graded(model, own, last.confidence)
    for model, scoring in predictions:
        graded[model.model] = _graded(model, scoring, _confidence(model) if with_confidence else None)
    return graded


def _graded(predictions: Predictions, scoring: Scoring, confidence: FloatArray | None) -> GradedModel:
    wrong = ~scoring.top_k(predictions, 1).right
    counted = scoring.counted & predictions.counted
    return GradedModel(predictions.top1, predictions.class_space, wrong, counted, confidence)


def _confidence(predictions: Predictions) -> FloatArray | None:
    """Shape (n,): the probability of the top class, 0 without a prediction; None if no probabilities are stored."""
    present = predictions.top1 != NO_ANSWER  # the scores of an unreadable image are NaN
    confidence = np.zeros(len(predictions))
    if predictions.full_scores is not None and predictions.score_kind is not None:
        scores = predictions.full_scores if present.all() else predictions.full_scores[present]
        parts = blocks([scores], predictions.score_kind, [predictions.model])
        confidence[present] = np.concatenate([np.zeros(0), *(block.mean().max(axis=1) for block in parts)])
        return confidence
    if predictions.scores is not None and predictions.score_kind is ScoreKind.PROBABILITIES:
        confidence[present] = predictions.scores[present, 0]
        return confidence
    return None
