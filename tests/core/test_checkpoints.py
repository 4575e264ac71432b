"""Checkpoints of an ensemble."""

import numpy as np
import pytest

from regrade.core import Checkpoints, InputError, ScoreKind, checkpoints_of

SCORES = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)


def test_scores_by_member_and_epoch():
    checkpoints = checkpoints_of(SCORES, kind=ScoreKind.LOGITS, ensemble="E", members=("a", "b"), epochs=(0, 5, 9))
    assert (len(checkpoints), checkpoints.classes, checkpoints.members, checkpoints.epochs) == (
        4,
        5,
        ("a", "b"),
        (0, 5, 9),
    )
    assert (checkpoints.scores(1, 2) == SCORES[1, 2]).all()
    assert checkpoints.name_of(1, 2) == "E, member b, epoch 9"


def test_one_member_needs_no_member_axis():
    checkpoints = checkpoints_of(SCORES[0], kind=ScoreKind.LOGITS)
    assert (checkpoints.members, checkpoints.epochs) == (("0",), (0, 1, 2))
    assert (checkpoints.scores(0, 1) == SCORES[0, 1]).all()


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (SCORES[0, 0], {}, "expected .members, epochs, examples, classes."),
        ([[SCORES[0, 0]], [SCORES[0, 0], SCORES[0, 1]]], {}, "same number of epochs, got 1 and 2"),
        ([], {}, "at least one member"),
        (SCORES, {"members": ("a",)}, "2 members and 3 epochs, but 1 and 3"),
        (SCORES, {"epochs": (3, 2, 1)}, "must be increasing"),
        (SCORES[..., :1], {}, "two classes"),
        (SCORES[:, :, :0], {}, "at least one image"),
        ([[SCORES[0]]], {}, "shape .examples, classes."),
    ],
)
def test_checkpoints_rejects_inconsistent_input(scores, options, message):
    with pytest.raises(InputError, match=message):
        checkpoints_of(scores, kind=ScoreKind.LOGITS, **options)


def test_scores_rejects_arrays_of_another_shape():
    checkpoints = Checkpoints("E", "", "", ScoreKind.LOGITS, ("0",), (0,), 4, 5, lambda *_: SCORES[0, 0][:3])
    with pytest.raises(InputError, match=r"E, member 0, epoch 0 have shape \(3, 5\), expected \(4, 5\)"):
        checkpoints.scores(0, 0)
