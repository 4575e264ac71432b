"""Decisions of a panel: every combination of three votes."""

from itertools import product

import pytest

from regrade.core.errors import UndefinedError
from regrade.core.panel import Answer, Reached, majority

ANSWERS = [answer.value for answer in Answer]


@pytest.mark.parametrize("votes", list(product(ANSWERS, repeat=3)))
def test_decision_of_three_votes(votes):
    decision = majority(votes, tied="unclear")
    if len(set(votes)) == 1:
        assert (decision.answer, decision.reached) == (votes[0], Reached.UNANIMOUSLY)
    elif len(set(votes)) == 2:
        assert (decision.answer, decision.reached) == (max(votes, key=votes.count), Reached.BY_MAJORITY)
    else:
        assert (decision.answer, decision.reached) == ("unclear", Reached.BY_TIE)


def test_ties_and_pluralities():
    assert majority(["correct", "correct", "wrong", "wrong", "unclear"], tied="unclear").reached is Reached.BY_TIE
    decision = majority(["correct", "correct", "wrong", "unclear", "problematic"], tied="unclear")
    assert (decision.answer, decision.reached) == ("correct", Reached.BY_MAJORITY)


def test_tie_without_a_tied_answer_raises():
    with pytest.raises(UndefinedError, match="a and b have equally many votes"):
        majority(["b", "a", "b", "a", "c"], tied=None)
    with pytest.raises(UndefinedError, match="at least one vote"):
        majority([], tied="unclear")
