"""Expected errors of models on an unlabeled set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regrade.core import Checkpoints, Estimate, TestSet, UndefinedError
from regrade.core.arrays import FloatArray, IntArray
from regrade.metrics import confusion_score, final_predictions
from regrade.studies.confusion.distribution import ScoreBins, distribution, none_if_undefined
from regrade.studies.confusion.expected_error import (
    ExpectedError,
    SetClusters,
    SetScores,
    expectation_gap,
    expected_by_agreement,
    expected_by_confidence,
    expected_by_score,
    expected_by_threshold,
)
from regrade.studies.confusion.graded_models import GradedModel, Scored, grade_models, same_ensemble, same_size
from regrade.studies.confusion.result import UnlabeledSet
from regrade.studies.image_clusters import mean_credit, numbers_in
from regrade.studies.scoring import Scoring


@dataclass(frozen=True, eq=False)
class UnlabeledInputs:
    """An unlabeled set: the ensemble's checkpoints on it, and models' predictions.

    If it has labels, they are only used to check the estimates. ``own`` is as in `confusion`. Images of one of the
    ``clusters`` (u,) are dependent.
    """

    test_set: TestSet
    checkpoints: Checkpoints
    predictions: Scored = ()
    own: Scoring | None = None
    clusters: IntArray | None = None


@dataclass(frozen=True, eq=False)
class LabeledSet:
    """The ensemble on the labeled set, its scores (n,), the graded models by name, and the clusters (n,) of images."""

    checkpoints: Checkpoints
    scores: FloatArray
    models: Mapping[str, GradedModel]
    clusters: IntArray | None = None


def expected_errors(
    labeled: LabeledSet,
    unlabeled: UnlabeledInputs,
    bins: ScoreBins,
    *,
    unit: float,
    rng: np.random.Generator,
    confidence: float,
) -> UnlabeledSet:
    """Estimate the error of every model graded on the labeled set; ``unit`` is the number of bits per unit of score.

    Confidence and agreement also need the model's predictions on the unlabeled set. Raises if the ensemble's members,
    epochs or classes differ between the two sets.
    """
    source, target = labeled.checkpoints, unlabeled.checkpoints
    same_size(unlabeled.test_set, target)
    same_ensemble(source, target)
    models = {name: model for name, model in labeled.models.items() if model.counted.any()}
    if not models:
        raise UndefinedError(
            f"nothing can be learned on {source.test_set}: it has no labels, or no model has predictions on it"
        )
    scores = np.clip(confusion_score(target) / unit, 0.0, bins.top)
    on_target = grade_models(
        unlabeled.test_set,
        target,
        final_predictions(target),
        unlabeled.predictions,
        unlabeled.own,
        with_confidence=True,
    )
    both = [name for name in models if name in on_target]
    pairs = [models[name] for name in both], [on_target[name] for name in both]
    clusters = SetClusters(labeled.clusters, unlabeled.clusters)
    estimates = expected_by_agreement(*pairs, clusters, rng=rng, confidence=confidence)
    lines = dict(zip(both, estimates, strict=True))
    both_scores = SetScores(labeled.scores, scores)
    rows = [
        _expected(_Model(name, model, on_target.get(name), lines.get(name)), both_scores, clusters, level=confidence)
        for name, model in models.items()
    ]
    low, high = labeled.scores.min(), labeled.scores.max()
    return UnlabeledSet(
        unlabeled.test_set.name,
        distribution(scores, bins, unlabeled.clusters, confidence=confidence),
        len(scores),
        int(((scores < low) | (scores > high)).sum()),
        tuple(sorted(rows, key=lambda row: (row.labeled.value, row.model))),
    )


@dataclass(frozen=True)
class _Model:
    """A model on the labeled set, on the unlabeled set if it has predictions, and its agreement-on-the-line error."""

    name: str
    labeled: GradedModel
    unlabeled: GradedModel | None
    line: Estimate | None


def _expected(model: _Model, scores: SetScores, clusters: SetClusters, *, level: float) -> ExpectedError:
    counted = model.labeled.counted
    wrong = model.labeled.wrong[counted]
    confidence, target_confidence = model.labeled.confidence, model.unlabeled.confidence if model.unlabeled else None
    own = clusters.of(counted)
    by_score = expected_by_score(wrong, SetScores(scores.labeled[counted], scores.unlabeled), own, confidence=level)
    actual = _error(model.unlabeled, clusters.unlabeled, level)
    return ExpectedError(
        model.name,
        mean_credit(wrong, numbers_in(clusters.labeled, counted), confidence=level),
        by_score,
        None
        if target_confidence is None
        else expected_by_confidence(target_confidence, clusters.unlabeled, confidence=level),
        None
        if target_confidence is None or confidence is None
        else none_if_undefined(
            expected_by_threshold, wrong, confidence[counted], target_confidence, own, confidence=level
        ),
        model.line,
        actual,
        None if actual is None else expectation_gap(by_score, actual, confidence=level),
    )


def _error(model: GradedModel | None, clusters: IntArray | None, level: float) -> Estimate | None:
    if model is None or not model.counted.any():
        return None
    wrong = model.wrong[model.counted]
    return mean_credit(wrong, numbers_in(clusters, model.counted), confidence=level)
