"""Confidence of models from probabilities, log probabilities and logits, and after new predictions."""

from dataclasses import replace

import numpy as np
import pytest

from regrade.app.image_lookup import ModelScore, ScoreCache, format_scores
from regrade.core import ScoreKind


@pytest.fixture
def place(workspace):
    """An image of the digits, and the class that alpha predicts for it."""
    target = workspace.store.test_set("digits")
    top = workspace.store.predictions.read(target, "alpha").top1
    return target, 7, int(top[7])


def test_scores_are_sorted_by_confidence_and_filtered_by_model(workspace, place):
    target, position, own = place
    cache = ScoreCache(workspace.store)
    scores = cache.of(*place)
    stored = {name: workspace.store.predictions.read(target, name) for name in ("alpha", "beta", "gamma")}
    expected = {name: model.scores[position, 0] for name, model in stored.items() if model.top1[position] == own}
    assert {score.model: score.confidence for score in scores} == pytest.approx(expected)
    assert [score.confidence for score in scores] == sorted((score.confidence for score in scores), reverse=True)
    assert [score.model for score in cache.of(*place, model="alpha")] == ["alpha"]
    assert cache.of(target, position, (own + 1) % 10, model="alpha") == ()
    assert cache.of(target, position, own, model="nobody") == ()


@pytest.mark.parametrize(
    "case",
    [
        (ScoreKind.LOGITS, True, np.e**2 / (np.e**2 + 9)),
        (ScoreKind.LOGITS, False, None),
        (ScoreKind.LOG_PROBABILITIES, False, np.e**2),
        (None, True, None),
    ],
)
def test_confidence_for_every_score_kind(workspace, place, monkeypatch, case):
    kind, all_kept, expected = case
    target, position, own = place
    logits = np.zeros((len(target), 10))
    logits[:, own] = 2.0
    workspace.models.add_predictions("logits", logits, test_set="digits")
    stored = workspace.store.predictions.read(target, "logits")
    full = stored.full_scores if all_kept else None
    changed = replace(stored, score_kind=kind, full_scores=full, scores=None if kind is None else stored.scores)
    monkeypatch.setattr(workspace.store.predictions, "read", lambda *_: changed)
    (score,) = ScoreCache(workspace.store).of(target, position, own, model="logits")
    assert score.confidence == (None if expected is None else pytest.approx(expected, abs=1e-3))


def test_scores_follow_new_predictions(workspace, place):
    target, position, own = place
    cache = ScoreCache(workspace.store)
    assert "late" not in [score.model for score in cache.of(*place)]
    workspace.models.add_predictions("late", np.eye(10)[np.full(len(target), own)], test_set="digits")
    assert cache.of(target, position, own)[0] == ModelScore("late", 1.0)


def test_format_scores():
    assert format_scores((ModelScore("a", None),)) == "not stored for a"
    assert format_scores((ModelScore("a", 0.5),)) == "50.0% by a"
