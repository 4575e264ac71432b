"""The order of a queue: shuffled per person, with leases and a limited number of people per item."""

from itertools import pairwise

import pytest

from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.ledger import NewItem, Pace, Question, Role, VoteContent
from regrade.ledger.queue_order import LEASE, own_order, own_place


def answer_all(ledger, queue, person):
    """Answer every item a person is given, and return their images in order."""
    seen = []
    while (item := ledger.items.next(queue, person)) is not None:
        seen.append(item.example)
        ledger.votes.cast(item.id, person, VoteContent(f"{person.name} {queue.name} {item.id}", "correct"))
    return seen


def images(count):
    return [NewItem(f"{number}.jpg", "n01") for number in range(count)]


def test_next_gives_each_person_every_item_in_their_own_order(ledger, queue, panel):
    assert ledger.items.add(queue, images(30)) == 30
    orders = [answer_all(ledger, queue, person) for person in panel]
    assert all(sorted(order) == sorted(f"{n}.jpg" for n in range(30)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    assert orders[0] != [f"{n}.jpg" for n in range(30)]


def test_next_gives_an_item_to_as_many_people_as_needed(ledger, panel):
    queue = ledger.queues.create("two", Question.JUDGE, test_set="val", labels="real@1", overlap=2)
    ledger.items.add(queue, images(90))
    seen = [image for person in panel for image in answer_all(ledger, queue, person)]
    assert len(seen) == 180
    assert all(seen.count(image) == 2 for image in set(seen))


def test_next_reserves_the_item_until_the_lease_expires(ledger, panel, clock):
    queue = ledger.queues.create("one", Question.JUDGE, test_set="val", labels="real@1")
    ledger.items.add(queue, images(1))
    item = ledger.items.next(queue, panel[0])
    assert ledger.items.next(queue, panel[0]) == item
    assert ledger.items.next(queue, panel[1]) is None
    clock.wait(seconds=LEASE.total_seconds() + 10)
    assert ledger.items.next(queue, panel[1]) == item
    assert ledger.items.next(queue, panel[0]) is None


def test_vote_after_the_lease_expired_counts(ledger, panel, clock):
    queue = ledger.queues.create("one", Question.JUDGE, test_set="val", labels="real@1")
    ledger.items.add(queue, images(1))
    item = ledger.items.next(queue, panel[0])
    clock.wait(hours=1)
    ledger.items.next(queue, panel[1])
    ledger.votes.cast(item.id, panel[0], VoteContent("late", "correct"))
    assert ledger.decisions.current(item.id).answer == "correct"


def test_next_returns_an_item_after_its_vote_is_taken_back(ledger, panel):
    queue = ledger.queues.create("one", Question.JUDGE, test_set="val", labels="real@1")
    ledger.items.add(queue, images(1))
    queue_of_two = ledger.queues.create("two", Question.JUDGE, test_set="val", labels="real@1", overlap=2)
    ledger.items.add(queue_of_two, images(1))
    item = ledger.items.next(queue_of_two, panel[0])
    ledger.votes.cast(item.id, panel[0], VoteContent("1", "correct"))
    assert ledger.items.next(queue_of_two, panel[0]) is None
    ledger.votes.cast(item.id, panel[0], VoteContent("2", None, why="undo"))
    assert ledger.items.next(queue_of_two, panel[0]).id == item.id


def test_decision_ends_all_leases(ledger, panel):
    """Otherwise its holder would get it again and again, and every vote would be rejected."""
    queue = ledger.queues.create("two", Question.JUDGE, test_set="val", labels="real@1", overlap=2)
    ledger.items.add(queue, images(1))
    item = ledger.items.next(queue, panel[0])
    for person in panel[1:]:
        ledger.votes.cast(item.id, person, VoteContent(person.name, "correct"))
    assert ledger.decisions.current(item.id) is not None
    assert ledger.items.next(queue, panel[0]) is None


def test_repeated_take_back_does_not_lease_an_answered_item(ledger, panel):
    queue = ledger.queues.create("two", Question.JUDGE, test_set="val", labels="real@1", overlap=2)
    ledger.items.add(queue, images(1))
    item = ledger.items.next(queue, panel[0])
    ledger.votes.cast(item.id, panel[0], VoteContent("slip", "wrong"))
    ledger.votes.retract(item.id, panel[0], key="undo", why="slip")
    ledger.votes.cast(item.id, panel[0], VoteContent("meant", "correct"))
    ledger.votes.retract(item.id, panel[0], key="undo", why="slip")
    assert ledger.items.next(queue, panel[1]) == ledger.items.with_id(item.id)


def test_add_items_appends_and_skips_stored_items(ledger, queue, panel):
    ledger.items.add(queue, images(3))
    first = answer_all(ledger, queue, panel[0])
    assert ledger.items.add(queue, [*images(5), NewItem("0.jpg", "n02"), NewItem("0.jpg", "n02")]) == 3
    assert sorted(answer_all(ledger, queue, panel[0])) == ["0.jpg", "3.jpg", "4.jpg"]
    assert sorted(first) == ["0.jpg", "1.jpg", "2.jpg"]
    assert ledger.items.add(queue, images(5)) == 0


def test_next_finds_the_last_items_of_a_long_queue(ledger, panel):
    queue = ledger.queues.create("long", Question.JUDGE, test_set="val", labels="real@1")
    ledger.items.add(queue, images(290))
    for number in range(285):  # one person completes nearly all items, so that few are left in the other's order
        item = ledger.items.next(queue, panel[0])
        ledger.votes.cast(item.id, panel[0], VoteContent(str(number), "correct"))
    assert len(answer_all(ledger, queue, panel[1])) == 5


def test_names_are_unique_and_looked_up_exactly(ledger, queue, panel):
    with pytest.raises(AlreadyStored, match="there is a person 'Ada' already"):
        ledger.people.add("Ada", Role.LABELER)
    with pytest.raises(AlreadyStored, match="queue 'novel' already"):
        ledger.queues.create("novel", Question.LABEL, test_set="val")
    with pytest.raises(UnknownName, match="Ada"):
        ledger.people.named("Adda")
    with pytest.raises(UnknownName, match="novel"):
        ledger.queues.named("novell")
    with pytest.raises(InputError, match="at least one vote"):
        ledger.queues.create("none", Question.LABEL, test_set="val", overlap=0)
    assert ledger.queues.named("novel") == queue
    assert ledger.people.named("Bob") == panel[1]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000, 1025])
def test_own_place_is_a_permutation(size):
    assert sorted(own_place(turn, size=size, key="Ada") for turn in range(size)) == list(range(size))


def test_own_place_shuffles_differently_per_key():
    orders = [[own_place(turn, size=500, key=key) for turn in range(500)] for key in ("Ada", "Bob")]
    for order in orders:
        rising = sum(first < second for first, second in pairwise(order))
        assert 210 < rising < 290
    same = sum(first == second for first, second in zip(*orders, strict=True))
    assert same < 8


def test_own_order_goes_block_by_block():
    places = list(own_order([(10, 5), (0, 10)], 0, key="Ada"))
    assert sorted(places[:10]) == list(range(10))
    assert sorted(places[10:]) == list(range(10, 15))
    assert list(own_order([(0, 10), (10, 5)], 12, key="Ada")) == places[12:]


def test_next_after_predicts_the_following_item(ledger, queue, panel):
    ledger.items.add(queue, [NewItem(f"{n}.jpg", "n01") for n in range(5)])
    seen = []
    item = ledger.items.next(queue, panel[0])
    while item is not None:
        seen.append(item.id)
        assert ledger.items.next(queue, panel[0]) == item
        ahead = ledger.items.next(queue, panel[0], after=item.id)
        ledger.votes.cast(item.id, panel[0], VoteContent(f"k{item.id}", "wrong"))
        item = ledger.items.next(queue, panel[0])
        assert item == ahead
    assert len(set(seen)) == 5


def test_pace_counts_open_items_and_takes_the_median_time(ledger, queue, panel):
    ledger.items.add(queue, [NewItem(f"{n}.jpg", "n01") for n in range(5)])
    assert ledger.queues.pace(queue, panel[0]) == Pace(5, None)
    for seconds in (1.0, 9.0, 2.0):
        item = ledger.items.next(queue, panel[0])
        ledger.votes.cast(item.id, panel[0], VoteContent(f"k{item.id}", "wrong", seconds=seconds))
    assert ledger.queues.pace(queue, panel[0]) == Pace(2, 2.0)
    assert ledger.queues.pace(queue, panel[0]).time_left == 4.0
    assert ledger.queues.pace(queue, panel[1]) == Pace(5, None)


def test_pace_leaves_out_items_completed_by_others(ledger, panel):
    queue = ledger.queues.create("alone", Question.JUDGE, test_set="val")
    ledger.items.add(queue, [NewItem(f"{n}.jpg", "n01") for n in range(3)])
    item = ledger.items.next(queue, panel[0])
    ledger.votes.cast(item.id, panel[0], VoteContent("k1", "wrong"))
    assert ledger.queues.pace(queue, panel[1]).left == 2


def test_for_person_rejects_people_who_may_not_work_on_it(ledger, queue, panel):
    labeler = ledger.people.add("Leo", Role.LABELER)
    assert ledger.queues.for_person(panel[0], queue.id) == queue
    for person, queue_id in ((labeler, queue.id), (panel[0], 99)):
        with pytest.raises(UnknownName):
            ledger.queues.for_person(person, queue_id)
    ledger.queues.assign(queue, [panel[1]])
    assert ledger.queues.for_person(panel[1], queue.id) == queue
    with pytest.raises(UnknownName):
        ledger.queues.for_person(panel[0], queue.id)
