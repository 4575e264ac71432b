"""Questions to experts: comments that name them, open until they vote or the panel decides."""

import pytest
from judging import item_of, people, queue_of, vote

from regrade.core import AlreadyStored, InputError
from regrade.ledger import Role

PAIR = ("a.jpg", "fox")


@pytest.fixture
def panel(ledger):
    return people(ledger, "Rita", "Rob", "Eve", "Eva")


@pytest.fixture
def queue(ledger):
    return queue_of(ledger, "novel", [PAIR, ("b.jpg", "fox")], overlap=2, test_set="set")


@pytest.fixture
def item(ledger, queue, panel):
    """An item on which Rita and Rob disagree."""
    for person, answer in zip(panel, ("correct", "wrong"), strict=False):
        vote(ledger, queue, person, PAIR, answer)
    return item_of(ledger, queue, *PAIR)


def open_for(ledger, expert):
    return [(queue.name, question.note) for queue, question in ledger.experts.open_for(expert)]


def test_question_is_open_until_the_expert_votes(ledger, queue, item, panel):
    rita, _, eve, eva = panel
    ledger.experts.ask(queue, item, rita, eve, " is the tail white? ")
    assert open_for(ledger, eve) == [("novel", "is the tail white?")]
    assert open_for(ledger, eva) == open_for(ledger, rita) == []
    vote(ledger, queue, eve, PAIR, "correct")
    assert open_for(ledger, eve) == []
    assert ledger.decisions.lock(item, rita).answer == "correct"


def test_question_is_closed_by_the_decision_and_opened_by_reverting_it(ledger, queue, item, panel):
    rita, rob, eve, _ = panel
    ledger.experts.ask(queue, item, rita, eve, "which?")
    ledger.decisions.lock(item, rob)
    assert open_for(ledger, eve) == []
    ledger.decisions.reopen(item, rob, why="too early")
    assert open_for(ledger, eve) == [("novel", "which?")]


def test_question_is_hidden_while_a_vote_is_missing(ledger, queue, item, panel):
    rita, rob, eve, _ = panel
    ledger.experts.ask(queue, item, rita, eve, "which?")
    ledger.votes.retract(item, rob, key="rob-takes-it-back", why="a slip")
    assert open_for(ledger, eve) == []


def test_newest_question_on_an_item_is_shown_once(ledger, queue, item, panel):
    rita, rob, eve, _ = panel
    ledger.experts.ask(queue, item, rita, eve, "first")
    ledger.experts.ask(queue, item, rob, eve, "second")
    assert open_for(ledger, eve) == [("novel", "second")]


def test_questions_are_for_those_who_may_work_on_the_queue(ledger, queue, item, panel):
    rita, rob, eve, eva = panel
    ledger.experts.ask(queue, item, rita, eve, "which?")
    ledger.queues.assign(queue, [rita, rob])
    assert open_for(ledger, eve) == []
    with pytest.raises(InputError, match="novel is not for Eva: assign it to them first"):
        ledger.experts.ask(queue, item, rita, eva, "which?")
    assert [person.name for person in ledger.experts.experts(queue, rita, ledger.people.all())] == ["Rob"]


def test_experts_are_other_reviewers_and_owners(ledger, queue, item, panel):
    rita = panel[0]
    leo, wes = ledger.people.add("Leo", Role.LABELER), ledger.people.add("Wes", Role.WORKER)
    owner = ledger.people.add("Olga", Role.OWNER)
    for person in (leo, wes):
        with pytest.raises(InputError, match=f"{person.name} is a {person.role.value}: an expert is a reviewer or an"):
            ledger.experts.ask(queue, item, rita, person, "which?")
    with pytest.raises(InputError, match="you cannot ask yourself"):
        ledger.experts.ask(queue, item, rita, rita, "which?")
    names = [person.name for person in ledger.experts.experts(queue, rita, ledger.people.all())]
    assert names == ["Rob", "Eve", "Eva", owner.name]


def test_question_needs_an_item_under_discussion_and_a_note(ledger, queue, item, panel):
    rita, rob, eve, _ = panel
    with pytest.raises(InputError, match="the question to an expert is empty"):
        ledger.experts.ask(queue, item, rita, eve, "  ")
    with pytest.raises(InputError, match="votes are missing on this item"):
        ledger.experts.ask(queue, item_of(ledger, queue, "b.jpg", "fox"), rita, eve, "which?")
    with pytest.raises(AlreadyStored, match="Rob has voted on this item: ask another expert"):
        ledger.experts.ask(queue, item, rita, rob, "which?")
    ledger.decisions.lock(item, rob)
    with pytest.raises(AlreadyStored, match="this item is decided: reopen it"):
        ledger.experts.ask(queue, item, rita, eve, "which?")
    assert not [row for row in ledger.rows() if row["kind"] == "comment"]


def test_names_that_begin_with_another_name_are_told_apart(ledger, queue, item, panel):
    rita, _, eve, _ = panel
    longer = ledger.people.add("Eve: the elder", Role.REVIEWER)
    ledger.experts.ask(queue, item, rita, longer, "which?")
    assert open_for(ledger, longer) == [("novel", "which?")]
    assert open_for(ledger, eve) == []


def test_questions_are_comments_in_the_chain_and_the_export(ledger, queue, item, panel):
    rita, _, eve, _ = panel
    ledger.experts.ask(queue, item, rita, eve, "which?")
    assert [(row["person"], row["text"]) for row in ledger.rows() if row["kind"] == "comment"] == [
        ("Rita", "@Eve: which?")
    ]
    (question,) = ledger.experts.of_comments(
        ledger.items.with_id(item), ledger.discussions.seen_by(item, rita).comments, ledger.people.all()
    )
    assert (question.expert, question.by, question.note) == (eve, rita, "which?")
    assert ledger.problems() == ()


def test_other_comments_are_no_questions(ledger, item, panel):
    rita, _, eve, _ = panel
    for text in ("@Nobody: which?", "Eve: which?", "see @Eve: which?"):
        ledger.discussions.comment(item, rita, text)
    comments = ledger.discussions.seen_by(item, rita).comments
    assert ledger.experts.of_comments(ledger.items.with_id(item), comments, ledger.people.all()) == ()
    assert open_for(ledger, eve) == []
