"""Models on one set, ready to be held against its scores: their answers, which are wrong, and how sure they were."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from regrade.core import NO_ANSWER, Checkpoints, MismatchError, Predictions, ScoreKind, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import LastAnswers
from regrade.metrics.mean_softmax import blocks
from regrade.studies.scoring import Scoring

Scored = Iterable[tuple[Predictions, Scoring]]
"""Predictions, each with how it is held against the labels."""


@dataclass(frozen=True, eq=False)
class Answered:
    """One model on one set: its answers (n,), and how sure it was of them (n,), if that is known.

    ``wrong`` (n,) counts only where ``counted`` (n,) says so: nowhere on a set without labels.
    """

    classes: IntArray
    class_space: str
    wrong: BoolArray
    counted: BoolArray
    confidence: FloatArray | None = None


def same_size(test_set: TestSet, checkpoints: Checkpoints) -> None:
    """Raise where an ensemble's scores are not of a test set's images."""
    if len(checkpoints) != len(test_set):
        raise MismatchError(
            f"ensemble {checkpoints.ensemble!r} has scores of {amount(len(checkpoints), 'image')}, test set "
            f"{test_set.name} has {len(test_set):,}"
        )


def own_name(checkpoints: Checkpoints) -> str:
    """What the row of an ensemble's own answers is called."""
    if len(checkpoints.epochs) > 1:
        return f"{checkpoints.ensemble} (after epoch {checkpoints.epochs[-1]})"
    return f"{checkpoints.ensemble} (mean)" if len(checkpoints.members) > 1 else checkpoints.ensemble


def answered_by_all(
    test_set: TestSet, ensemble: Checkpoints, last: LastAnswers, predictions: Scored, own: Scoring | None, *, sure: bool
) -> dict[str, Answered]:
    """All models by name, the ensemble's own answers among them where ``own`` says how these are scored.

    How sure a model was is found only where ``sure`` says that it is wanted.
    """
    found = {}
    if own is not None:
        answers = Predictions(own_name(ensemble), test_set.name, ensemble.class_space, last.classes[:, None])
        found[answers.model] = _answered(answers, own, last.confidence)
    for answers, scoring in predictions:
        found[answers.model] = _answered(answers, scoring, _confidence(answers) if sure else None)
    return found


def _answered(answers: Predictions, scoring: Scoring, confidence: FloatArray | None) -> Answered:
    wrong = ~scoring.top_k(answers, 1).right
    return Answered(answers.top1, answers.class_space, wrong, scoring.counted & answers.counted, confidence)


def _confidence(answers: Predictions) -> FloatArray | None:
    """Shape (n,): the probability of the best class, if it was stored in any form; 0 where there is no answer."""
    answered = answers.top1 != NO_ANSWER  # scores of a image that could not be read are no numbers
    sure = np.zeros(len(answers))
    if answers.full_scores is not None and answers.score_kind is not None:
        scores = answers.full_scores if answered.all() else answers.full_scores[answered]
        parts = blocks([scores], answers.score_kind, [answers.model])
        sure[answered] = np.concatenate([np.zeros(0), *(block.mean().max(axis=1) for block in parts)])
        return sure
    if answers.scores is not None and answers.score_kind is ScoreKind.PROBABILITIES:
        sure[answered] = answers.scores[answered, 0]
        return sure
    return None
