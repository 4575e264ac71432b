"""Confidences of predictions, where a model stored probabilities."""

from __future__ import annotations

import numpy as np

from regrade.core import NO_ANSWER, Predictions, ScoreKind
from regrade.core.arrays import FloatArray


def stored_confidences(predictions: Predictions) -> FloatArray | None:
    """Shape (n,): the probability of each predicted class, NaN without a prediction; None for other kinds of scores.

    Confidences from logits would need the scores of all classes, which `grade` does not read.
    """
    if predictions.score_kind is not ScoreKind.PROBABILITIES:
        return None
    answered = np.flatnonzero(predictions.top1 != NO_ANSWER)
    confidences = np.full(len(predictions), np.nan)
    if predictions.scores is not None:
        confidences[answered] = predictions.scores[answered, 0]
    elif predictions.full_scores is not None:
        confidences[answered] = predictions.full_scores[answered, predictions.top1[answered]]
    else:
        return None
    return confidences
