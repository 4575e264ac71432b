"""Pages skip a test set with damaged files, and show a note."""

import shutil

import pytest

from regrade.ledger import GuideText, NewItem, Question

NOTE = "The test set spare is not shown"


@pytest.fixture
def spare(workspace):
    """A test set with the same images as the reference set, named by a guide entry; no queue asks about it."""
    target = workspace.store.test_set("reference")
    workspace.testsets.add("spare", workspace.store.images.read(target).root, classes="digits")
    text = GuideText("x", (), (("spare", target.ids[0]), ("reference", target.ids[1])))
    workspace.ledger.guide.write("digits", "3", text, workspace.ledger.people.named("Rob"), replaces=None)
    return workspace.store.root / "testsets" / "spare.parquet"


@pytest.fixture
def damaged(spare):
    """The file of the spare set no longer matches its checksum."""
    spare.write_bytes(spare.read_bytes()[:-9] + b"123456789")


@pytest.fixture
def label_queue(workspace):
    return workspace.ledger.queues.create("labels", Question.LABEL, test_set="digits")


def pages(judge_queue, label_queue):
    yield from ("/guide", "/guide/digits/3", "/guide/digits/3/edit", "/explore/class?set=digits&class=3")
    yield from (f"/judge/{judge_queue.id}", f"/label/{label_queue.id}", f"/panel/{judge_queue.id}/1")


@pytest.mark.usefixtures("damaged")
def test_pages_skip_a_damaged_test_set_with_a_note(visitor, judge_queue, label_queue):
    for address in pages(judge_queue, label_queue):
        page = visitor("Rita").get(address)
        assert page.status_code == 200 and NOTE in page.text, address
    assert visitor("Rita").get("/guide/digits/3/history").status_code == 200


@pytest.mark.usefixtures("spare")
def test_pages_have_no_note_if_all_test_sets_are_readable(visitor, judge_queue, label_queue):
    for address in pages(judge_queue, label_queue):
        assert NOTE not in visitor("Rita").get(address).text, address


@pytest.mark.usefixtures("damaged")
def test_references_come_from_readable_test_sets(app, visitor, judge_queue):
    rita, target = visitor("Rita"), app.state.site.test_set("reference")
    shown = rita.get("/api/guide/digits/3").json()["examples"]
    assert shown == [app.state.site.images.address("reference", 1)]
    item = rita.get(f"/api/queues/{judge_queue.id}/next").json()["item"]
    class_id = item["class"]["id"]
    more = rita.get(f"/api/queues/{judge_queue.id}/references?class_id={class_id}").json()
    places = [place for place, label in enumerate(target.labels) if target.class_space.ids[label] == class_id]
    assert set(more) == {app.state.site.images.address("reference", place) for place in places}
    assert set(item["references"]) <= set(more)


def test_restored_test_set_is_shown_again(visitor, spare, tmp_path):
    shutil.copy2(spare, tmp_path / "kept")
    spare.write_bytes(b"x")
    assert NOTE in visitor("Rita").get("/guide").text
    shutil.copy2(tmp_path / "kept", spare)
    assert NOTE not in visitor("Rita").get("/guide").text


def test_damaged_signatures_are_not_used_to_find_copies(workspace, visitor, label_queue):
    workspace.study.leakage("reference", by=["phash"])
    for path in (workspace.store.root / "neighbors").rglob("*"):
        if path.is_file():
            path.write_bytes(b"x" + path.read_bytes()[1:])
    workspace.ledger.items.add(label_queue, [NewItem(workspace.store.test_set("digits").ids[0])])
    assert visitor("Rita").get("/guide/digits/3").status_code == 200
