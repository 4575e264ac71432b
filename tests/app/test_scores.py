"""How sure models are: from probabilities, their logarithms and logits, and again when they are stored anew."""

import numpy as np
import pytest

from regrade.app.scores import ModelScore, ScoreShelf, in_words


@pytest.fixture
def place(workspace):
    """An image of the digits, and the class that alpha gives it."""
    target = workspace.store.test_set("digits")
    top = workspace.store.predictions(target, "alpha").top1
    return target, 7, int(top[7])


def test_the_surest_comes_first_and_a_model_can_be_named(workspace, place):
    target, position, own = place
    shelf = ScoreShelf(workspace.store)
    found = shelf.of(*place)
    stored = {name: workspace.store.predictions(target, name) for name in ("alpha", "beta", "gamma")}
    expected = {name: one.scores[position, 0] for name, one in stored.items() if one.top1[position] == own}
    assert {one.model: one.share for one in found} == pytest.approx(expected)
    assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)
    assert [one.model for one in shelf.of(*place, model="alpha")] == ["alpha"]
    assert shelf.of(target, position, (own + 1) % 10, model="alpha") == ()
    assert shelf.of(target, position, own, model="nobody") == ()


@pytest.mark.parametrize("keep", [True, False])
def test_logits_need_all_scores_for_a_softmax(workspace, place, keep):
    target, position, own = place
    logits = np.zeros((len(target), 10))
    logits[:, own] = 2.0
    workspace.add_predictions("logits", logits, test_set="digits", score_kind="logits", keep_scores=keep)
    (found,) = ScoreShelf(workspace.store).of(target, position, own, model="logits")
    assert found.share == (pytest.approx(np.e**2 / (np.e**2 + 9), abs=1e-3) if keep else None)


def test_new_predictions_are_seen_at_once(workspace, place):
    target, position, own = place
    shelf = ScoreShelf(workspace.store)
    assert "late" not in [one.model for one in shelf.of(*place)]
    workspace.add_predictions("late", np.eye(10)[np.full(len(target), own)], test_set="digits")
    assert shelf.of(target, position, own)[0] == ModelScore("late", 1.0)


def test_in_words():
    assert in_words((ModelScore("a", None),)) == "not stored for a"
    assert in_words((ModelScore("a", 0.5),)) == "50.0% by a"
