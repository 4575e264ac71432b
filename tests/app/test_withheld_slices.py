"""Slices whose numbers would reveal which models are right on pending images."""

import numpy as np
import pytest
from page_reader import parse_page
from work_page import item_numbers

from regrade.ledger import NewItem, Question

WITHHELD = "No numbers are shown for this slice"


@pytest.fixture
def corrupted(workspace):
    """The digits in fog and in snow, with a model that is right on all of them."""
    workspace.testsets.corrupt("digits", name="digits-c", corruptions=["fog", "snow"], severities=[1])
    target = workspace.store.test_set("digits-c")
    workspace.models.add_predictions("alpha", np.eye(10)[target.labels], test_set="digits-c")
    return workspace


@pytest.fixture
def pending(corrupted):
    """A queue that asks Rita about the first digit."""
    ledger = corrupted.ledger
    queue = ledger.queues.create("pending", Question.JUDGE, test_set="digits", labels="multi", overlap=3)
    ledger.items.add(queue, [NewItem(corrupted.store.test_set("digits").ids[0], "1")])
    return queue


def shown(visitor, slice_name):
    return parse_page(visitor("Rita").get("/explore", params={"set": "digits-c", "slice": slice_name}))


@pytest.mark.usefixtures("corrupted")
def test_explore_offers_no_slices_per_image(visitor):
    text = visitor("Rita").get("/explore", params={"set": "digits-c"}).text
    assert "corruption=fog" in text
    assert "image=" not in text


@pytest.mark.usefixtures("pending")
def test_explore_withholds_small_slices_while_an_image_is_pending(corrupted, visitor):
    first, second = corrupted.store.test_set("digits").ids[:2]
    for slice_name in (f"image={first}", f"image={second}"):
        page = shown(visitor, slice_name)
        assert WITHHELD in page.text
        assert "alpha" not in [row[0] for row in page.rows]
        assert "100.0" not in page.text
    assert "100.0" in " ".join(shown(visitor, "corruption=fog").row("alpha"))


@pytest.mark.usefixtures("pending")
def test_explore_withholds_the_complement_of_a_small_slice(corrupted, visitor):
    """Subtracted from the numbers of all images, its numbers would be those of the small slice."""
    first = corrupted.store.test_set("digits").ids[0]
    for slice_name in (f"not image={first}", f"without image={first}", f"not not image={first}"):
        page = shown(visitor, slice_name)
        assert WITHHELD in page.text
        assert "alpha" not in [row[0] for row in page.rows]
    assert "100.0" in " ".join(shown(visitor, "not corruption=fog").row("alpha"))


def test_explore_shows_small_slices_once_nothing_is_pending(corrupted, pending, visitor):
    rita, slice_name = visitor("Rita"), f"image={corrupted.store.test_set('digits').ids[0]}"
    item = item_numbers(corrupted, pending)[0]
    assert WITHHELD in shown(visitor, slice_name).text
    reply = rita.write(f"/api/queues/{pending.id}/votes", item=item, key="withheld-slice", answer="wrong")
    assert reply.status_code == 200
    assert shown(visitor, slice_name).row("alpha")[-1] == "2"


def test_explore_withholds_a_fully_hidden_slice(corrupted, visitor, tmp_path):
    ledger, target = corrupted.ledger, corrupted.store.test_set("digits")
    queue = ledger.queues.create("half", Question.JUDGE, test_set="digits", labels="multi", overlap=3)
    ledger.items.add(queue, [NewItem(image_id, "1") for image_id in target.ids[:30]])
    lines = [f"{image_id},{'first' if place < 30 else 'second'}" for place, image_id in enumerate(target.ids)]
    (tmp_path / "half.csv").write_text("\n".join(["image,half", *lines]) + "\n")
    corrupted.testsets.import_slices(tmp_path / "half.csv", test_set="digits", name="halves")
    rita = visitor("Rita")
    for half, withheld in (("first", True), ("second", False)):
        page = parse_page(rita.get("/explore", params={"set": "digits", "slice": f"halves:half={half}"}))
        assert (WITHHELD in page.text) == withheld
