"""An examination of images of two test sets: nothing tells them apart, and each answer counts on its own test set."""

import itertools
from contextlib import contextmanager

import numpy as np
import pytest
from judging import item_of
from label_page import labeled
from playwright.sync_api import expect
from work_page import answers, ready, saved

from regrade.ledger import NewItem, Role, VoteContent

SETS = ("digits", "reference")


@contextmanager
def kept(path):
    """Move a file or folder of images away, and put it back at the end: all tests share the images."""
    moved = path.rename(path.with_name(f"{path.name}.kept"))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        moved.rename(path)


def marks(workspace, queue):
    """The test set of each item, by its id."""
    items = [workspace.ledger.items.with_id(item_id) for item_id in item_ids(workspace, queue)]
    return {item.id: item.class_id or queue.test_set for item in items}


def item_ids(workspace, queue):
    discussions = workspace.ledger.discussions
    leo = workspace.ledger.people.named("Leo")
    return [standing.item.id for standing in discussions.standings(queue, leo)]


def true_label(workspace, queue, item_id):
    item = workspace.ledger.items.with_id(int(item_id))
    target = workspace.store.test_set(item.class_id or queue.test_set)
    return target.class_space.ids[target.labels[target.position(item.example)]]


@pytest.fixture
def exam(workspace):
    workspace.review.queue_labels(SETS, per_class=1, people=["Leo"], name="exam")
    return workspace.ledger.queues.named("exam")


@pytest.fixture
def training(workspace):
    workspace.review.queue_labels(SETS, per_class=1, mode="training", people=["Leo"], name="learn")
    return workspace.ledger.queues.named("learn")


def test_answers_of_the_server_have_the_same_form_for_both_sets(workspace, exam, visitor):
    """No reply names a test set, and nothing but the image differs between them."""
    leo, sets = visitor("Leo"), marks(workspace, exam)
    forms = {name: set() for name in SETS}
    for _ in sets:
        reply = leo.get(f"/api/queues/{exam.id}/next")
        item = reply.json()["item"]
        assert not [name for name in SETS if name in reply.text]
        image = leo.get(item["image"])
        headers = {name: value for name, value in image.headers.items() if name not in ("content-length", "date")}
        voted = leo.write(f"/api/queues/{exam.id}/votes", item=item["id"], key=f"key-{item['id']:08}", answer="3")
        form = (tuple(item), len(item["image"]), image.status_code, tuple(sorted(headers.items())), tuple(voted.json()))
        forms[sets[item["id"]]].add(form)
    assert forms["digits"] == forms["reference"]
    assert len(forms["digits"]) == 1
    assert "reference" not in leo.get(f"/label/{exam.id}").text  # "digits" is also the name of the class space


def test_order_of_a_person_mixes_the_sets(workspace, exam, visitor):
    leo, sets = visitor("Leo"), marks(workspace, exam)
    order, item = [], leo.get(f"/api/queues/{exam.id}/next").json()["item"]
    for number in range(len(sets)):
        order.append(sets[item["id"]])
        leo.write(f"/api/queues/{exam.id}/votes", item=item["id"], key=f"order-{number:05}", answer="3")
        item = leo.get(f"/api/queues/{exam.id}/next").json()["item"]
    changes = sum(before != after for before, after in itertools.pairwise(order))
    assert changes >= 4
    assert sorted(sets, key=sets.get) != sorted(sets)  # nor do the ids of items tell the set


def test_images_of_both_sets_are_those_that_were_drawn(app, workspace, exam, visitor):
    leo, images = visitor("Leo"), app.state.site.images
    for item_id, name in marks(workspace, exam).items():
        item = workspace.ledger.items.with_id(item_id)
        position = workspace.store.test_set(name).position(item.example)
        shown = leo.get(f"/api/queues/{exam.id}/items/{item_id}").json()["item"]["image"]
        assert shown == images.address_in_queue(name, position, exam.id)
        assert leo.get(shown).content == images.get(images.address(name, position).rpartition("/")[2], None).content


def test_changed_image_of_the_second_set_is_not_shown(app, workspace, exam, visitor):
    item_id = next(item_id for item_id, name in marks(workspace, exam).items() if name == "reference")
    target = workspace.store.test_set("reference")
    position = target.position(workspace.ledger.items.with_id(item_id).example)
    source = workspace.store.images.read(target)
    place = source.path / source.locations[position]
    address = app.state.site.images.address_in_queue("reference", position, exam.id)
    with kept(place):
        place.write_bytes((source.path / source.locations[position - 1]).read_bytes())
        assert visitor("Leo").get(address).status_code == 410


@pytest.mark.usefixtures("exam")
def test_home_names_both_test_sets(visitor):
    assert "digits and reference" in visitor("Leo").get("/").text


def test_pending_images_of_both_sets_are_hidden_from_the_examinee(app, workspace, exam, visitor):
    """By the rules for all pages, and on the pages of Explore that a reviewer sees."""
    workspace.ledger.people.set_role(workspace.ledger.people.named("Leo"), Role.REVIEWER)
    hidden, leo = app.state.site.hidden_from(workspace.ledger.people.named("Leo")), visitor("Leo")
    pending = {name: set() for name in SETS}
    for item_id, name in marks(workspace, exam).items():
        pending[name].add(workspace.store.test_set(name).position(workspace.ledger.items.with_id(item_id).example))
    for name, positions in pending.items():
        assert set(np.flatnonzero(hidden.mask(workspace.store.test_set(name))).tolist()) == positions
    assert "10 images that you still have to answer are not shown" in leo.get("/explore/images?set=digits").text
    for position in pending["digits"]:
        assert "<img" not in leo.get(f"/explore/image?set=digits&image={position}").text


def test_explore_names_the_question_of_an_item_of_the_second_set(workspace, visitor):
    """Digits are the second test set here, and have pages in Explore."""
    workspace.review.queue_labels(["reference", "digits"], per_class=1, people=["Leo"], name="exam")
    exam = workspace.ledger.queues.named("exam")
    item_id = next(item_id for item_id, name in marks(workspace, exam).items() if name == "digits")
    item, leo = workspace.ledger.items.with_id(item_id), workspace.ledger.people.named("Leo")
    workspace.ledger.votes.cast(item_id, leo, VoteContent("leo-answers", "3"))
    position = workspace.store.test_set("digits").position(item.example)
    page = visitor("Rita").get(f"/explore/image?set=digits&image={position}").text
    assert "<h3>Which class is it?" in page


def test_label_page_opens_without_the_images_of_one_set(workspace, exam, visitor):
    source = workspace.store.images.read(workspace.store.test_set("reference"))
    with kept(source.path):
        leo = visitor("Leo")
        assert leo.get(f"/label/{exam.id}").status_code == 200
        assert leo.get(f"/api/queues/{exam.id}/next").json()["item"]["image"]


def test_team_page_refuses_people_who_have_seen_images(workspace, exam, judge_queue, visitor):
    """Rita has judged an image of the examination, which is for Leo."""
    olga, ledger = visitor("Olga"), workspace.ledger
    item_id = next(item_id for item_id, name in marks(workspace, exam).items() if name == "digits")
    example = ledger.items.with_id(item_id).example
    ledger.items.add(judge_queue, [NewItem(example, "7")])
    rita = ledger.people.named("Rita")
    ledger.votes.cast(item_of(ledger, judge_queue, example, "7"), rita, VoteContent("rita-judges", "wrong"))
    refused = olga.submit(f"/team/queues/{exam.id}", people=[rita.id])
    assert refused.status_code == 400
    assert "exam is an examination of 20 images, of which Rita has seen 1" in refused.text
    assert [person.name for person in ledger.queues.assigned(exam)] == ["Leo"]
    rob = ledger.people.named("Rob")
    assert olga.submit(f"/team/queues/{exam.id}", people=[rob.id]).status_code == 303
    assert [person.name for person in ledger.queues.assigned(exam)] == ["Rob"]


def test_training_feedback_is_that_of_the_image_s_own_set(workspace, training, visitor):
    leo = visitor("Leo")
    for item_id in marks(workspace, training):
        true = true_label(workspace, training, item_id)
        reply = leo.write(f"/api/queues/{training.id}/votes", item=item_id, key=f"train-{item_id:05}", answer="3")
        assert reply.json()["feedback"] == {"outcome": "right" if true == "3" else "wrong", "right": [true]}


def test_examination_is_labeled_by_keyboard_and_published_by_test_set(workspace, exam, server, page_of):
    page = page_of(server, "Leo")
    page.goto("/")
    page.get_by_role("link", name="Begin with exam").click()
    for number in range(20):
        expect(page.locator("#count")).to_have_text(str(number + 1))
        labeled(page, true_label(workspace, exam, ready(page)))
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    saved(page)
    assert len(answers(workspace, "Leo")) == 20
    assert workspace.review.publish("exam").changes == {
        "images of person:Leo in digits": 10, "images of person:Leo in reference": 10,
    }  # fmt: skip
    for name in SETS:
        target = workspace.store.test_set(name)
        row = workspace.store.predictions.read(target, "person:Leo")
        assert (row.top1[row.counted] == target.labels[row.counted]).all() and row.counted.sum() == 10
