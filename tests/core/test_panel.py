"""What a panel makes of its votes: every combination of three votes against the rule, written out."""

from itertools import product

import pytest

from regrade.core.errors import UndefinedError
from regrade.core.panel import Answer, Reached, verdict

ANSWERS = [answer.value for answer in Answer]


@pytest.mark.parametrize("votes", list(product(ANSWERS, repeat=3)))
def test_three_votes(votes):
    found = verdict(votes, tied="unclear")
    if len(set(votes)) == 1:
        assert (found.answer, found.reached) == (votes[0], Reached.UNANIMOUSLY)
    elif len(set(votes)) == 2:
        assert (found.answer, found.reached) == (max(votes, key=votes.count), Reached.BY_MAJORITY)
    else:
        assert (found.answer, found.reached) == ("unclear", Reached.BY_TIE)


def test_two_against_two_is_a_tie_and_plurality_is_enough():
    assert verdict(["correct", "correct", "wrong", "wrong", "unclear"], tied="unclear").reached is Reached.BY_TIE
    found = verdict(["correct", "correct", "wrong", "unclear", "problematic"], tied="unclear")
    assert (found.answer, found.reached) == ("correct", Reached.BY_MAJORITY)


def test_without_an_answer_for_ties_a_tie_raises():
    with pytest.raises(UndefinedError, match="a and b have equally many votes"):
        verdict(["b", "a", "b", "a", "c"], tied=None)
    with pytest.raises(UndefinedError, match="at least one vote"):
        verdict([], tied="unclear")
