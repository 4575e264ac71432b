"""The API of the work pages: undo with a reason, skipped items, and unreadable images."""

from contextlib import contextmanager

import numpy as np
import pytest
from panel_votes import cast_votes
from PIL import Image
from work_page import item_numbers

from regrade.core import UnreadableImage
from regrade.ledger import NewItem, Question
from regrade.workspace.image_contents import fill_contents

KEY = "0123456789abcdef"


@pytest.fixture
def pair_queue(workspace):
    """Three predictions, for two people each."""
    queue = workspace.ledger.queues.create("pairs", Question.JUDGE, test_set="digits", labels="multi", overlap=2)
    ids = workspace.store.test_set("digits").ids
    workspace.ledger.items.add(queue, [NewItem(ids[number], "3") for number in range(3)])
    return queue


def test_vote_reports_that_it_revealed_the_other_votes(workspace, pair_queue, visitor):
    first, second, _ = item_numbers(workspace, pair_queue)
    cast_votes(workspace, first, Rob="wrong")
    rita, address = visitor("Rita"), f"/api/queues/{pair_queue.id}/votes"
    assert rita.write(address, item=first, key=f"{KEY}1", answer="correct").json()["revealed"] is True
    assert rita.write(address, item=second, key=f"{KEY}2", answer="correct").json()["revealed"] is None


def test_undo_after_the_reveal_asks_for_a_reason(workspace, pair_queue, visitor):
    item = item_numbers(workspace, pair_queue)[0]
    cast_votes(workspace, item, Rob="wrong")
    rita, address = visitor("Rita"), f"/api/queues/{pair_queue.id}"
    rita.write(f"{address}/votes", item=item, key=f"{KEY}1", answer="correct")
    assert rita.get(f"{address}/last").json()["revealed"] is True
    refused = rita.write(f"{address}/undo", item=item, key=f"{KEY}undo")
    assert (refused.status_code, refused.json()["code"]) == (400, "reason needed")
    undone = rita.write(f"{address}/undo", item=item, key=f"{KEY}undo", why="it is a nine", vote=f"{KEY}1")
    assert undone.json()["item"]["id"] == item
    anew = {"item": item, "key": f"{KEY}2", "answer": "wrong"}
    assert rita.write(f"{address}/votes", **anew).json()["code"] == "reason needed"
    assert rita.write(f"{address}/votes", **anew, why="it is a nine").status_code == 200
    assert workspace.ledger.decisions.current(item).answer == "wrong"


def test_panel_state_says_when_a_vote_needs_a_reason(workspace, pair_queue, visitor):
    item = item_numbers(workspace, pair_queue)[0]
    rita, rob = visitor("Rita"), visitor("Rob")
    address = f"/api/panel/{pair_queue.id}/{item}"
    assert rita.get(address).json()["state"]["reason_needed"] is False
    cast_votes(workspace, item, Rita="correct", Rob="wrong")
    workspace.ledger.votes.retract(item, workspace.ledger.people.named("Rita"), key="undo", why="it is a nine")
    state = rita.get(address).json()["state"]
    assert (state["mine"], state["reason_needed"], state["open"]) == (None, True, False)
    assert rob.get(address).json()["state"]["reason_needed"] is True
    assert visitor("Rose").get(address).json()["state"]["reason_needed"] is False


def test_undo_of_a_vote_that_changed_elsewhere_is_refused(workspace, pair_queue, visitor):
    item = item_numbers(workspace, pair_queue)[0]
    rita, address = visitor("Rita"), f"/api/queues/{pair_queue.id}"
    rita.write(f"{address}/votes", item=item, key=f"{KEY}1", answer="correct")
    rita.write(f"{address}/votes", item=item, key=f"{KEY}2", answer="wrong", why="looked again")
    refused = rita.write(f"{address}/undo", item=item, key=f"{KEY}undo", vote=f"{KEY}1")
    assert (refused.status_code, "changed elsewhere" in refused.json()["error"]) == (409, True)


def test_last_vote_is_none_without_votes(pair_queue, visitor):
    assert visitor("Rita").get(f"/api/queues/{pair_queue.id}/last").json() == {"item": None, "revealed": False}


def test_item_of_another_queue_is_not_shown(workspace, pair_queue, judge_queue, visitor):
    item = item_numbers(workspace, judge_queue)[0]
    rita = visitor("Rita")
    assert rita.get(f"/api/queues/{judge_queue.id}/items/{item}").json()["item"]["id"] == item
    assert rita.get(f"/api/queues/{pair_queue.id}/items/{item}").status_code == 404
    for call in ("skip", "reports", "undo"):
        sent = {"item": item, **({"key": KEY} if call == "undo" else {})}
        assert rita.write(f"/api/queues/{pair_queue.id}/{call}", **sent).status_code == 404


def test_skip_gives_the_next_item_until_only_skipped_ones_are_left(pair_queue, visitor):
    rita, address = visitor("Rita"), f"/api/queues/{pair_queue.id}"
    item, seen = rita.get(f"{address}/next").json()["item"], []
    while item:
        seen.append(item["id"])
        answer = rita.write(f"{address}/skip", item=item["id"]).json()
        item = answer["item"]
    assert (len(set(seen)), len(seen), answer["skipped"]) == (3, 3, 3)
    assert rita.get(f"{address}/next").json() == {"item": None, "skipped": 3, "held": ""}
    assert rita.write(f"{address}/return-skipped").json()["item"]["id"] in seen
    assert rita.get(f"{address}/next").json()["skipped"] == 0


def test_report_is_shown_to_the_owner_who_clears_it(workspace, pair_queue, visitor):
    rita, olga, address = visitor("Rita"), visitor("Olga"), f"/api/queues/{pair_queue.id}"
    first = rita.get(f"{address}/next").json()["item"]["id"]
    following = rita.write(f"{address}/reports", item=first, comment="<b>gray</b>").json()["item"]["id"]
    assert following != first
    shown = olga.get("/team").text
    image = workspace.ledger.items.with_id(first).example
    for text in (image, "pairs", "Rita", "&lt;b&gt;gray&lt;/b&gt;"):
        assert text in shown
    (report,) = workspace.ledger.rows()[-1:]
    assert (report["kind"], report["example"], report["person"]) == ("report", image, "Rita")
    assert rita.submit("/team/reports/1/clear").status_code == 403
    assert olga.submit("/team/reports/1/clear").status_code == 303
    assert olga.submit("/team/reports/99/clear").status_code == 404
    assert "No unreadable images are reported" in olga.get("/team").text


class TestUnreadableImage:
    """A client that could not load an image cannot vote on it, and neither can the pages."""

    @pytest.fixture
    def item(self, pair_queue, visitor):
        """Rita's next item."""
        return visitor("Rita").get(f"/api/queues/{pair_queue.id}/next").json()["item"]

    @pytest.fixture
    def cast(self, pair_queue, visitor, item):
        """Casts a person's vote on the item."""
        address = f"/api/queues/{pair_queue.id}/votes"
        return lambda name, key: visitor(name).write(address, item=item["id"], key=key, answer="correct")

    @pytest.fixture
    def damaged(self, monkeypatch):
        """While entered, no image can be decoded."""

        @contextmanager
        def entered():
            with monkeypatch.context() as patched:
                patched.setattr("regrade.app.images.decode_gray_or_rgb", unreadable)
                yield

        def unreadable(*_, **__):
            raise UnreadableImage("it breaks off")

        return entered

    def test_accepts_no_vote_until_it_is_shown(self, visitor, item, cast, damaged):
        rita = visitor("Rita")
        with damaged():
            assert rita.get(item["image"]).status_code == 400
            assert "the image could not be shown to you" in cast("Rita", f"{KEY}1").json()["error"]
        assert cast("Rita", f"{KEY}1").status_code == 400
        assert rita.get(item["image"]).status_code == 200
        assert cast("Rita", f"{KEY}1").status_code == 200

    def test_accepts_no_vote_if_images_are_missing(self, cast, monkeypatch):
        with monkeypatch.context() as without:
            without.setattr("regrade.store.testsets.ImageSourceCollection.has", lambda *_: False)
            assert "the image could not be shown to you" in cast("Rita", f"{KEY}1").json()["error"]
        assert cast("Rita", f"{KEY}1").status_code == 200

    def test_accepts_the_vote_of_a_person_who_saw_it(self, visitor, item, cast, damaged):
        assert visitor("Rob").get(item["image"]).status_code == 200
        with damaged():
            visitor("Rita").get(item["image"])
        assert cast("Rob", f"{KEY}1").status_code == 200

    def test_repeats_a_stored_vote(self, visitor, item, cast, damaged):
        counted = cast("Rita", f"{KEY}1").json()["vote"]
        with damaged():
            visitor("Rita").get(item["image"])
        assert cast("Rita", f"{KEY}1").json()["vote"] == counted


@pytest.mark.parametrize("question", [Question.LABEL, Question.JUDGE])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_image_that_was_replaced_accepts_no_vote(workspace, tmp_path, visitor, question, mode):
    files = [tmp_path / "new" / str(number) / "a.png" for number in range(2)]
    for number, file in enumerate(files):
        file.parent.mkdir(parents=True)
        Image.fromarray(np.full((40, 30, 3), number, dtype=np.uint8)).convert(mode).save(file)
    workspace.testsets.add("new", tmp_path / "new", classes="digits")
    queues = [workspace.ledger.queues.create(name, question, test_set="new") for name in ("with hashes", "without")]
    for queue in queues:
        items = [
            NewItem(example, "3" if question is Question.JUDGE else "")
            for example in workspace.store.test_set("new").ids
        ]
        workspace.ledger.items.add(queue, items)
    fill_contents(workspace.store, workspace.ledger, queues[0])
    rita = visitor("Rita")

    def shown_and_voted(queue, number):
        item = item_numbers(workspace, queue)[number]
        api = f"/api/queues/{queue.id}"
        image = rita.get(rita.get(f"{api}/items/{item}").json()["item"]["image"])
        cast = rita.write(
            f"{api}/votes",
            item=item,
            key=f"{KEY}{queue.id}{number}",
            answer="3" if question is Question.LABEL else "wrong",
        )
        return image.status_code, cast.status_code

    original = files[0].read_bytes()
    files[0].write_bytes(files[1].read_bytes())
    assert shown_and_voted(queues[0], 0) == (410, 400)
    assert shown_and_voted(queues[0], 1) == (200, 200)
    assert shown_and_voted(queues[1], 0) == (200, 200)
    files[0].write_bytes(original)
    assert shown_and_voted(queues[0], 0) == (200, 200)
