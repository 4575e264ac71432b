"""What was found to be no mistake is judged again, under the labels that it was held against."""

import pytest
from judging import item_of, people, queue_of, vote

from regrade.core import InputError
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import Ledger, Question
from regrade.workspace.second_review import judge_again

PAIR = ("a.jpg", "n01")


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger.open(tmp_path / "ledger.sqlite")
    yield opened
    opened.engine.dispose()


@pytest.fixture
def grave(ledger):
    mistakes = {"question": Question.MISTAKE, "test_set": "val", "labels": "own@2", "model": "m"}
    return queue_of(ledger, "grave", [PAIR], **mistakes)


@pytest.fixture
def overturned(ledger, grave):
    """A mistake that was found to be none."""
    vote(ledger, grave, people(ledger, "Ada")[0], PAIR, NO_MISTAKE)
    return ledger.item(item_of(ledger, grave, *PAIR))


def test_what_was_judged_under_other_labels_is_not_opened_again(ledger, grave, overturned):
    queue_of(ledger, "real", [PAIR], test_set="val", labels="real@1")
    again = judge_again(ledger, grave, overturned)
    asked = ledger.queue("second look grave")
    assert (again.queue_id, asked.labels, ledger.pairs(asked)) == (asked.id, "own@2", (PAIR,))


def test_what_was_judged_under_an_older_version_is(ledger, grave, overturned):
    judged = queue_of(ledger, "novel", [PAIR], test_set="val", labels="own@1")
    assert judge_again(ledger, grave, overturned).queue_id == judged.id


def test_only_what_is_no_mistake(ledger, grave):
    with pytest.raises(InputError, match="no mistake"):
        judge_again(ledger, grave, ledger.item(item_of(ledger, grave, *PAIR)))
