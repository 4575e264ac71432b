"""Summaries of ensembles: mean score and accuracy on a test set, and the scores of training images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np

from regrade.core import Checkpoints, Estimate, TestSet
from regrade.core.arrays import FloatArray, IntArray
from regrade.metrics import confusion_score, final_predictions
from regrade.stats import bounded_mean
from regrade.studies.confusion.distribution import ScoreBins, distribution, skewness
from regrade.studies.confusion.graded_models import grade_models, own_name, same_ensemble
from regrade.studies.confusion.result import EnsembleSummary, TrainingSet
from regrade.studies.image_clusters import mean_credit, numbers_in
from regrade.studies.scoring import Scoring


def summarize_ensembles(
    test_set: TestSet,
    ensembles: Sequence[Checkpoints],
    scores: Mapping[str, FloatArray],
    scorings: Sequence[Scoring | None],
    clusters: IntArray | None = None,
    *,
    unit: float,
    confidence: float,
) -> tuple[EnsembleSummary, ...]:
    """Return mean score and accuracy of each ensemble, from its scores (n,) by name; no accuracy without a scoring.

    Images of one of the ``clusters`` (n,) are dependent.
    """
    rows = []
    for ensemble, scoring in zip_longest(ensembles, scorings[: len(ensembles)]):
        top = float(np.log2(ensemble.classes)) / unit
        own = np.clip(scores[ensemble.ensemble], 0.0, top)
        mean = bounded_mean(own, clusters, largest=top, confidence=confidence)
        accuracy = _accuracy(test_set, ensemble, scoring, clusters, confidence=confidence)
        sizes = len(ensemble.members), len(ensemble.epochs)
        rows.append(EnsembleSummary(ensemble.ensemble, *sizes, mean, skewness(own), accuracy))
    return tuple(rows)


def _accuracy(
    test_set: TestSet, ensemble: Checkpoints, scoring: Scoring | None, clusters: IntArray | None, *, confidence: float
) -> Estimate | None:
    if scoring is None:
        return None
    graded = grade_models(test_set, ensemble, final_predictions(ensemble), (), scoring, with_confidence=False)
    model = graded[own_name(ensemble)]
    right = ~model.wrong[model.counted]
    return mean_credit(right, numbers_in(clusters, model.counted), confidence=confidence) if len(right) else None


def score_training_set(
    ensemble: Checkpoints,
    train: Checkpoints,
    bins: ScoreBins,
    clusters: IntArray | None = None,
    *,
    unit: float,
    confidence: float,
) -> TrainingSet:
    """Summarize the scores of training images by the same ensemble; other members, epochs or classes raise.

    Training images of one of the ``clusters`` (k,) are dependent.
    """
    same_ensemble(ensemble, train)
    scores = np.clip(confusion_score(train) / unit, 0.0, bins.top)
    return TrainingSet(train.test_set, len(train), distribution(scores, bins, clusters, confidence=confidence))
