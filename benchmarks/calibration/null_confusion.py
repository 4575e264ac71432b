"""Null checks of the findings of `study confusion`: scores unrelated to errors, rankings that stay or change."""

from __future__ import annotations

import numpy as np
from scipy import special

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import correct_predictions, model_names
from regrade.core import Checkpoints, ClassSpace, Predictions, ScoreKind, TestSet, checkpoints_of
from regrade.core.arrays import BoolArray, FloatArray
from regrade.studies import Confusion, Scoring
from regrade.studies.confusion.analysis import confusion

_SPACE = ClassSpace("four", tuple("abcd"))


@null_check("confusion: hard for others", case="random scores, 6 models, 400 images")
def scores_by_chance(rng: np.random.Generator) -> Confusion:
    return studied(rng, rng.standard_normal(400), correct_predictions(rng, rng.uniform(0.6, 0.88, 6), images=400))


@null_check("confusion: the score tells own errors", case="random scores, 300 images")
def own_scores_by_chance(rng: np.random.Generator) -> Confusion:
    """The ensemble's predictions are wrong at random, independently of its scores."""
    return studied(rng, rng.standard_normal(300), None)


@null_check("confusion: the order changes", case="the same order everywhere, 8 models close together, 1,000 images")
def same_order(rng: np.random.Generator) -> Confusion:
    difficulty = rng.standard_normal(1_000)
    return studied(rng, difficulty, _right(rng, rng.normal(1.0, 0.15, 8), difficulty))


@null_check("confusion: the order changes", case="the same order everywhere, 8 models, 1,000 images")
def same_order_of_different_models(rng: np.random.Generator) -> Confusion:
    difficulty = rng.standard_normal(1_000)
    return studied(rng, difficulty, _right(rng, rng.normal(1.0, 0.4, 8), difficulty))


@null_check("confusion: the order is kept", case="tau of 0.6 between hard images and the rest, 8 models, 1,000 images")
def half_an_order(rng: np.random.Generator) -> Confusion:
    """Abilities on hard images and on the rest have a tau of 0.6, a correlation of sin(0.3 pi)."""
    difficulty, agreement = rng.standard_normal(1_000), np.sin(0.3 * np.pi)
    ability, own = rng.standard_normal((2, 8))
    on_hard = agreement * ability + np.sqrt(1 - agreement**2) * own
    hard = difficulty >= np.quantile(difficulty, 0.9)
    right = np.where(hard, _right(rng, 1.5 + on_hard, difficulty), _right(rng, 1.5 + ability, difficulty))
    return studied(rng, difficulty, right)


def studied(rng: np.random.Generator, unsure: FloatArray, right: BoolArray | None) -> Confusion:
    """The study of models with this correctness (m, n) and of an ensemble that is ``unsure`` (n,) about images."""
    labels = rng.integers(len(_SPACE), size=len(unsure)).astype(np.int32)
    test_set = TestSet("set", _SPACE, tuple(map(str, range(len(unsure)))), labels)
    ensemble, scoring = _ensemble(rng, unsure), Scoring(test_set)
    if right is None:
        return confusion(test_set, [ensemble], rng=rng, own=scoring)
    answers = np.where(right, labels, (labels + 1) % len(_SPACE)).astype(np.int32)
    predictions = [
        (Predictions(name, "set", _SPACE.name, row[:, None]), scoring)
        for name, row in zip(model_names(len(right)), answers, strict=True)
    ]
    return confusion(test_set, [ensemble], predictions, rng=rng)


def _right(rng: np.random.Generator, abilities: FloatArray, difficulty: FloatArray) -> BoolArray:
    return rng.random((len(abilities), len(difficulty))) < special.ndtr(abilities[:, None] - difficulty)


def _ensemble(rng: np.random.Generator, unsure: FloatArray) -> Checkpoints:
    """One member at two epochs, less confident the more ``unsure`` (n,) it is; the predicted class is random."""
    logits = np.zeros((len(unsure), len(_SPACE)))
    logits[np.arange(len(unsure)), rng.integers(len(_SPACE), size=len(unsure))] = 3 * special.ndtr(-unsure) + 0.1
    return checkpoints_of(
        [[logits, 1.5 * logits]], kind=ScoreKind.LOGITS, ensemble="E", test_set="set", class_space=_SPACE.name
    )
