"""How sure a model was of its predictions, where it stored probabilities."""

from __future__ import annotations

import numpy as np

from regrade.core import NO_ANSWER, Predictions, ScoreKind
from regrade.core.arrays import FloatArray


def stored_confidences(predictions: Predictions) -> FloatArray | None:
    """Shape (n,): the probability of each predicted class, not a number without a prediction; none for other scores.

    Logits would have to be read for all classes, which `grade` does not.
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
