"""A set without labels: its scores by the same ensemble, and the errors to expect of models there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regrade.core import Checkpoints, Estimate, MismatchError, TestSet, UndefinedError
from regrade.core.arrays import FloatArray
from regrade.metrics import confusion_score, last_answers
from regrade.stats import proportion
from regrade.studies.confusion.distribution import ScoreBins, distribution
from regrade.studies.confusion.expected_error import (
    ExpectedError,
    Sides,
    expectation_gap,
    expected_by_agreement,
    expected_by_confidence,
    expected_by_score,
    expected_by_threshold,
)
from regrade.studies.confusion.model_answers import Answered, Scored, answered_by_all, same_size
from regrade.studies.confusion.result import UnlabeledSet
from regrade.studies.confusion.undefined_scores import defined
from regrade.studies.scoring import Scoring


@dataclass(frozen=True, eq=False)
class WithoutLabels:
    """A set whose error is to be expected: the ensemble's checkpoints on it, and models' predictions.

    Labels that it has are used for nothing but to hold the expectation against them. ``own`` is as in `confusion`.
    """

    test_set: TestSet
    checkpoints: Checkpoints
    predictions: Scored = ()
    own: Scoring | None = None


@dataclass(frozen=True, eq=False)
class LabeledSide:
    """The ensemble on the labeled set, its scores (n,), and the models' answers there by name."""

    checkpoints: Checkpoints
    scores: FloatArray
    models: Mapping[str, Answered]


def expected_errors(
    side: LabeledSide,
    other: WithoutLabels,
    bins: ScoreBins,
    *,
    unit: float,
    rng: np.random.Generator,
    confidence: float,
) -> UnlabeledSet:
    """What to expect of every model that has answers to labeled images; ``unit`` is how many bits one of the score is.

    Confidence and agreement need the model's answers on the other set too. An ensemble that was kept after other
    epochs there raises.
    """
    here, there = side.checkpoints, other.checkpoints
    same_size(other.test_set, there)
    if (there.members, there.epochs, there.class_space) != (here.members, here.epochs, here.class_space):
        raise MismatchError(
            f"the scores of {here.ensemble!r} on {other.test_set.name} are of other members, epochs or classes than "
            f"those on {here.test_set}: they cannot be compared"
        )
    labeled = {name: one for name, one in side.models.items() if one.counted.any()}
    if not labeled:
        raise UndefinedError(
            f"nothing can be learned on {here.test_set}: it has no labels, or no model has answered it"
        )
    scores = np.clip(confusion_score(there) / unit, 0.0, bins.top)
    answers = answered_by_all(
        other.test_set, there, last_answers(there), other.predictions, other.own, sure=True
    )  # fmt: skip
    both = [name for name in labeled if name in answers]
    pairs = [labeled[name] for name in both], [answers[name] for name in both]
    lines = dict(zip(both, expected_by_agreement(*pairs, rng=rng, confidence=confidence), strict=True))
    rows = [
        _expected(_Model(name, one, answers.get(name), lines.get(name)), side.scores, scores, level=confidence)
        for name, one in labeled.items()
    ]
    low, high = side.scores.min(), side.scores.max()
    return UnlabeledSet(
        other.test_set.name,
        distribution(scores, bins, confidence=confidence),
        len(scores),
        int(((scores < low) | (scores > high)).sum()),
        tuple(sorted(rows, key=lambda row: (row.labeled.value, row.model))),
    )


@dataclass(frozen=True)
class _Model:
    """A model on the labeled set, on the other if it has answers there, and what the line through agreements says."""

    name: str
    here: Answered
    there: Answered | None
    line: Estimate | None


def _expected(model: _Model, scores: FloatArray, other: FloatArray, *, level: float) -> ExpectedError:
    counted = model.here.counted
    wrong = model.here.wrong[counted]
    own, sure = model.here.confidence, model.there.confidence if model.there else None
    by_score = expected_by_score(wrong, Sides(scores[counted], other), confidence=level)
    actual = _error(model.there, level)
    return ExpectedError(
        model.name,
        proportion(int(wrong.sum()), len(wrong), confidence=level),
        by_score,
        None if sure is None else expected_by_confidence(sure, confidence=level),
        None
        if sure is None or own is None
        else defined(expected_by_threshold, wrong, own[counted], sure, confidence=level),
        model.line,
        actual,
        None if actual is None else expectation_gap(by_score, actual, confidence=level),
    )


def _error(answered: Answered | None, level: float) -> Estimate | None:
    if answered is None or not answered.counted.any():
        return None
    wrong = answered.wrong[answered.counted]
    return proportion(int(wrong.sum()), len(wrong), confidence=level)
