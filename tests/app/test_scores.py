"""How sure models are: from probabilities, their logarithms and logits, and again when they are stored anew."""

from dataclasses import replace

import numpy as np
import pytest

from regrade.app.scores import ModelScore, ScoreCache, in_words
from regrade.core import ScoreKind


@pytest.fixture
def place(workspace):
    """An image of the digits, and the class that alpha gives it."""
    target = workspace.store.test_set("digits")
    top = workspace.store.predictions(target, "alpha").top1
    return target, 7, int(top[7])


def test_the_surest_comes_first_and_a_model_can_be_named(workspace, place):
    target, position, own = place
    shelf = ScoreCache(workspace.store)
    found = shelf.of(*place)
    stored = {name: workspace.store.predictions(target, name) for name in ("alpha", "beta", "gamma")}
    expected = {name: one.scores[position, 0] for name, one in stored.items() if one.top1[position] == own}
    assert {one.model: one.share for one in found} == pytest.approx(expected)
    assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)
    assert [one.model for one in shelf.of(*place, model="alpha")] == ["alpha"]
    assert shelf.of(target, position, (own + 1) % 10, model="alpha") == ()
    assert shelf.of(target, position, own, model="nobody") == ()


@pytest.mark.parametrize(
    "case",
    [
        (ScoreKind.LOGITS, True, np.e**2 / (np.e**2 + 9)),
        (ScoreKind.LOGITS, False, None),
        (ScoreKind.LOG_PROBABILITIES, False, np.e**2),
        (None, True, None),
    ],
)
def test_a_softmax_of_whatever_is_stored(workspace, place, monkeypatch, case):
    kind, all_kept, expected = case
    target, position, own = place
    logits = np.zeros((len(target), 10))
    logits[:, own] = 2.0
    workspace.add_predictions("logits", logits, test_set="digits")
    stored = workspace.store.predictions(target, "logits")
    full = stored.full_scores if all_kept else None
    changed = replace(stored, score_kind=kind, full_scores=full, scores=None if kind is None else stored.scores)
    monkeypatch.setattr(workspace.store, "predictions", lambda *_: changed)
    (found,) = ScoreCache(workspace.store).of(target, position, own, model="logits")
    assert found.share == (None if expected is None else pytest.approx(expected, abs=1e-3))


def test_new_predictions_are_seen_at_once(workspace, place):
    target, position, own = place
    shelf = ScoreCache(workspace.store)
    assert "late" not in [one.model for one in shelf.of(*place)]
    workspace.add_predictions("late", np.eye(10)[np.full(len(target), own)], test_set="digits")
    assert shelf.of(target, position, own)[0] == ModelScore("late", 1.0)


def test_in_words():
    assert in_words((ModelScore("a", None),)) == "not stored for a"
    assert in_words((ModelScore("a", 0.5),)) == "50.0% by a"
