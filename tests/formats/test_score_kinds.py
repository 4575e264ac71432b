"""The kind of scores by their sums, compared with what the file states."""

import numpy as np
import pytest

from regrade.classes import class_space
from regrade.core import InputError, ScoreKind
from regrade.formats import predictions_from_scores
from regrade.formats.score_kinds import kind_note, kind_of_all, kind_of_best, stated_kind

PROBABILITIES = np.random.default_rng(0).dirichlet(np.ones(4), 6)
LOGITS = np.random.default_rng(0).normal(size=(6, 4))


def test_kind_of_all_is_determined_by_the_sums():
    assert kind_of_all(PROBABILITIES, name="m") is ScoreKind.PROBABILITIES
    assert kind_of_all(PROBABILITIES.astype(np.float16), name="m") is ScoreKind.PROBABILITIES
    assert kind_of_all(LOGITS, name="m") is ScoreKind.LOGITS
    assert kind_of_all(np.log(PROBABILITIES), name="m") is ScoreKind.LOGITS


@pytest.mark.parametrize(
    ("scores", "words"),
    [(PROBABILITIES * 1.5, "row 1 sum to 1.5, not to 1"), (LOGITS, r"row \d are below 0")],
)
def test_kind_of_all_rejects_invalid_probabilities(scores, words):
    with pytest.raises(InputError, match=f"said to be probabilities, but those of {words}"):
        kind_of_all(scores, name="m", stated=ScoreKind.PROBABILITIES)


def test_kind_of_all_refuses_percentages():
    with pytest.raises(InputError, match="every row sums to 100, as percentages do: divide them by 100"):
        kind_of_all(PROBABILITIES * 100, name="m")


def test_kind_of_all_refuses_a_row_that_differs_from_most():
    scores = PROBABILITIES.copy()
    scores[4] *= 1.5
    scores[4] = scores[4].clip(max=1)
    with pytest.raises(InputError, match=r"those of row 5 sum to 1.*, those of most rows to 1"):
        kind_of_all(scores, name="m")


def test_kind_note_names_logits_between_0_and_1():
    scores = PROBABILITIES * 0.5
    assert kind_of_all(scores, name="m") is ScoreKind.LOGITS
    assert "rows sum to 0.5 to 0.5, not to 1" in kind_note(scores, ScoreKind.LOGITS)[0]
    assert kind_note(LOGITS, ScoreKind.LOGITS) == ()
    assert kind_note(PROBABILITIES, ScoreKind.PROBABILITIES) == ()
    assert "taken as probabilities" in kind_note(PROBABILITIES, ScoreKind.PROBABILITIES, stated=ScoreKind.LOGITS)[0]


def test_kind_of_best_allows_sums_of_at_most_1():
    best = np.sort(PROBABILITIES)[:, ::-1][:, :2]
    assert kind_of_best(best, name="m", stated=ScoreKind.PROBABILITIES) is ScoreKind.PROBABILITIES
    assert kind_of_best(best * 10, name="m") is ScoreKind.LOGITS
    with pytest.raises(InputError, match="said to be probabilities"):
        kind_of_best(best * 10, name="m", stated=ScoreKind.PROBABILITIES)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("probabilities", ScoreKind.PROBABILITIES),
        ("Probs", ScoreKind.PROBABILITIES),
        ("logits", ScoreKind.LOGITS),
        ("scores", None),
        ("confidence", None),
        ("", None),
    ],
)
def test_stated_kind_reads_the_name(name, kind):
    assert stated_kind(name) is kind


@pytest.mark.parametrize("kind", ["longdouble", "complex64", "O", "M8[s]", "bool", "U5"])
def test_predictions_from_scores_rejects_other_dtypes(kind):
    space = class_space("cifar-10")
    with pytest.raises(InputError, match="expected float16, float32 or float64"):
        predictions_from_scores(np.zeros((3, 10), kind), space, name="m")
