"""Who is asked what next: own order, leases, as many people as an item wants, and time that does not grow."""

from itertools import pairwise

import pytest

from regrade.core import AlreadyStored, InputError, UnknownName
from regrade.core.own_order import own_place
from regrade.ledger import NewItem, Pace, Question, Role, VoteContent
from regrade.ledger.queue_order import LEASE, own_order


def answer_all(ledger, queue, person):
    """The images someone is asked about until there are none, each answered."""
    seen = []
    while (item := ledger.next_item(queue, person)) is not None:
        seen.append(item.example)
        ledger.vote(item.id, person, VoteContent(f"{person.name} {queue.name} {item.id}", "correct"))
    return seen


def images(count):
    return [NewItem(f"{number}.jpg", "n01") for number in range(count)]


def test_everyone_gets_every_item_once_in_an_order_of_their_own(ledger, queue, panel):
    assert ledger.add_items(queue, images(30)) == 30
    orders = [answer_all(ledger, queue, person) for person in panel]
    assert all(sorted(order) == sorted(f"{n}.jpg" for n in range(30)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    assert orders[0] != [f"{n}.jpg" for n in range(30)]


def test_an_item_goes_to_as_many_people_as_it_wants(ledger, panel):
    queue = ledger.open_queue("two", Question.JUDGE, test_set="val", labels="real@1", overlap=2)
    ledger.add_items(queue, images(90))
    seen = [image for person in panel for image in answer_all(ledger, queue, person)]
    assert len(seen) == 180
    assert all(seen.count(image) == 2 for image in set(seen))


def test_an_item_is_kept_for_whom_it_was_given_to(ledger, panel, clock):
    queue = ledger.open_queue("one", Question.JUDGE, test_set="val", labels="real@1")
    ledger.add_items(queue, images(1))
    item = ledger.next_item(queue, panel[0])
    assert ledger.next_item(queue, panel[0]) == item
    assert ledger.next_item(queue, panel[1]) is None
    clock.wait(seconds=LEASE.total_seconds() + 10)
    assert ledger.next_item(queue, panel[1]) == item
    assert ledger.next_item(queue, panel[0]) is None


def test_who_comes_late_with_a_vote_is_still_heard(ledger, panel, clock):
    queue = ledger.open_queue("one", Question.JUDGE, test_set="val", labels="real@1")
    ledger.add_items(queue, images(1))
    item = ledger.next_item(queue, panel[0])
    clock.wait(hours=1)
    ledger.next_item(queue, panel[1])
    ledger.vote(item.id, panel[0], VoteContent("late", "correct"))
    assert ledger.decision(item.id).answer == "correct"


def test_what_was_taken_back_comes_again(ledger, panel):
    queue = ledger.open_queue("one", Question.JUDGE, test_set="val", labels="real@1")
    ledger.add_items(queue, images(1))
    queue_of_two = ledger.open_queue("two", Question.JUDGE, test_set="val", labels="real@1", overlap=2)
    ledger.add_items(queue_of_two, images(1))
    item = ledger.next_item(queue_of_two, panel[0])
    ledger.vote(item.id, panel[0], VoteContent("1", "correct"))
    assert ledger.next_item(queue_of_two, panel[0]) is None
    ledger.vote(item.id, panel[0], VoteContent("2", None, why="undo"))
    assert ledger.next_item(queue_of_two, panel[0]).id == item.id


def test_what_is_decided_is_kept_for_no_one(ledger, panel):
    """Whoever held it would be asked again and again, and refused each time."""
    queue = ledger.open_queue("two", Question.JUDGE, test_set="val", labels="real@1", overlap=2)
    ledger.add_items(queue, images(1))
    item = ledger.next_item(queue, panel[0])
    for person in panel[1:]:
        ledger.vote(item.id, person, VoteContent(person.name, "correct"))
    assert ledger.decision(item.id) is not None
    assert ledger.next_item(queue, panel[0]) is None


def test_taking_back_twice_does_not_keep_an_item_that_was_answered_again(ledger, panel):
    queue = ledger.open_queue("two", Question.JUDGE, test_set="val", labels="real@1", overlap=2)
    ledger.add_items(queue, images(1))
    item = ledger.next_item(queue, panel[0])
    ledger.vote(item.id, panel[0], VoteContent("slip", "wrong"))
    ledger.take_back(item.id, panel[0], key="undo", why="slip")
    ledger.vote(item.id, panel[0], VoteContent("meant", "correct"))
    ledger.take_back(item.id, panel[0], key="undo", why="slip")
    assert ledger.next_item(queue, panel[1]) == ledger.item(item.id)


def test_new_items_come_after_the_old_ones_and_only_once(ledger, queue, panel):
    ledger.add_items(queue, images(3))
    first = answer_all(ledger, queue, panel[0])
    assert ledger.add_items(queue, [*images(5), NewItem("0.jpg", "n02"), NewItem("0.jpg", "n02")]) == 3
    assert sorted(answer_all(ledger, queue, panel[0])) == ["0.jpg", "3.jpg", "4.jpg"]
    assert sorted(first) == ["0.jpg", "1.jpg", "2.jpg"]
    assert ledger.add_items(queue, images(5)) == 0


def test_the_last_items_of_a_long_queue_are_found(ledger, panel):
    queue = ledger.open_queue("long", Question.JUDGE, test_set="val", labels="real@1")
    ledger.add_items(queue, images(290))
    for number in range(285):  # all but a few are done by one, so that the other's own order is nearly all behind
        item = ledger.next_item(queue, panel[0])
        ledger.vote(item.id, panel[0], VoteContent(str(number), "correct"))
    assert len(answer_all(ledger, queue, panel[1])) == 5


def test_names_are_taken_once(ledger, queue, panel):
    with pytest.raises(AlreadyStored, match="someone is called 'Ada' already"):
        ledger.add_person("Ada", Role.LABELER)
    with pytest.raises(AlreadyStored, match="queue 'novel' already"):
        ledger.open_queue("novel", Question.LABEL, test_set="val")
    with pytest.raises(UnknownName, match="Ada"):
        ledger.person("Adda")
    with pytest.raises(UnknownName, match="novel"):
        ledger.queue("novell")
    with pytest.raises(InputError, match="at least one vote"):
        ledger.open_queue("none", Question.LABEL, test_set="val", overlap=0)
    assert ledger.queue("novel") == queue
    assert ledger.person("Bob") == panel[1]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000, 1025])
def test_an_own_order_has_every_place_once(size):
    assert sorted(own_place(turn, size=size, key="Ada") for turn in range(size)) == list(range(size))


def test_own_orders_look_shuffled():
    orders = [[own_place(turn, size=500, key=key) for turn in range(500)] for key in ("Ada", "Bob")]
    for order in orders:
        rising = sum(one < two for one, two in pairwise(order))
        assert 210 < rising < 290
    same = sum(one == two for one, two in zip(*orders, strict=True))
    assert same < 8


def test_blocks_come_one_after_another():
    places = list(own_order([(10, 5), (0, 10)], 0, key="Ada"))
    assert sorted(places[:10]) == list(range(10))
    assert sorted(places[10:]) == list(range(10, 15))
    assert list(own_order([(0, 10), (10, 5)], 12, key="Ada")) == places[12:]


def test_the_item_after_the_one_at_hand_is_the_one_that_comes_then(ledger, queue, panel):
    ledger.add_items(queue, [NewItem(f"{n}.jpg", "n01") for n in range(5)])
    seen = []
    item = ledger.next_item(queue, panel[0])
    while item is not None:
        seen.append(item.id)
        assert ledger.next_item(queue, panel[0]) == item
        ahead = ledger.next_item(queue, panel[0], after=item.id)
        ledger.vote(item.id, panel[0], VoteContent(f"k{item.id}", "wrong"))
        item = ledger.next_item(queue, panel[0])
        assert item == ahead
    assert len(set(seen)) == 5


def test_what_is_left_and_how_long_it_takes(ledger, queue, panel):
    ledger.add_items(queue, [NewItem(f"{n}.jpg", "n01") for n in range(5)])
    assert ledger.pace(queue, panel[0]) == Pace(5, None)
    for seconds in (1.0, 9.0, 2.0):
        item = ledger.next_item(queue, panel[0])
        ledger.vote(item.id, panel[0], VoteContent(f"k{item.id}", "wrong", seconds=seconds))
    assert ledger.pace(queue, panel[0]) == Pace(2, 2.0)
    assert ledger.pace(queue, panel[0]).time_left == 4.0
    assert ledger.pace(queue, panel[1]) == Pace(5, None)


def test_what_others_have_finished_is_not_left(ledger, panel):
    queue = ledger.open_queue("alone", Question.JUDGE, test_set="val")
    ledger.add_items(queue, [NewItem(f"{n}.jpg", "n01") for n in range(3)])
    item = ledger.next_item(queue, panel[0])
    ledger.vote(item.id, panel[0], VoteContent("k1", "wrong"))
    assert ledger.pace(queue, panel[1]).left == 2


def test_a_queue_is_for_those_it_was_given_to(ledger, queue, panel):
    labeler = ledger.add_person("Leo", Role.LABELER)
    assert ledger.queue_for(panel[0], queue.id) == queue
    for who, number in ((labeler, queue.id), (panel[0], 99)):
        with pytest.raises(UnknownName):
            ledger.queue_for(who, number)
    ledger.assign(queue, [panel[1]])
    assert ledger.queue_for(panel[1], queue.id) == queue
    with pytest.raises(UnknownName):
        ledger.queue_for(panel[0], queue.id)
