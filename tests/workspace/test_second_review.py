"""Second review: a class whose mistake was decided to be "no mistake" is judged again under the same labels."""

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
def mistakes_queue(ledger):
    options = {"question": Question.MISTAKE, "test_set": "val", "labels": "own@2", "model": "m"}
    return queue_of(ledger, "grave", [PAIR], **options)


@pytest.fixture
def overturned(ledger, mistakes_queue):
    """A mistake that was decided to be "no mistake"."""
    vote(ledger, mistakes_queue, people(ledger, "Ada")[0], PAIR, NO_MISTAKE)
    return ledger.items.with_id(item_of(ledger, mistakes_queue, *PAIR))


def test_judge_again_ignores_queues_of_other_labels(ledger, mistakes_queue, overturned):
    queue_of(ledger, "real", [PAIR], test_set="val", labels="real@1")
    again = judge_again(ledger, mistakes_queue, overturned)
    queue = ledger.queues.named("second look grave")
    assert (again.queue_id, queue.labels, ledger.items.pairs(queue)) == (queue.id, "own@2", (PAIR,))


def test_judge_again_reuses_queues_of_an_older_version(ledger, mistakes_queue, overturned):
    judged = queue_of(ledger, "novel", [PAIR], test_set="val", labels="own@1")
    assert judge_again(ledger, mistakes_queue, overturned).queue_id == judged.id


def test_judge_again_requires_a_no_mistake_decision(ledger, mistakes_queue):
    with pytest.raises(InputError, match="no mistake"):
        judge_again(ledger, mistakes_queue, ledger.items.with_id(item_of(ledger, mistakes_queue, *PAIR)))
