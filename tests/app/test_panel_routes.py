"""The panel's routes: nothing of others before all have voted, roles, filters, and hostile words shown as text."""

import re
from functools import partial

import pytest
from desk import item_numbers
from paneling import said, wrong_answers

from regrade.app.routes.panel import PAGE
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import NewItem, Question

HOSTILE = """<script>alert(1)</script> "'); DROP TABLE vote; -- javascript:alert(1) <img src=x onerror=a()> {{ 7 }}"""


@pytest.fixture
def mistake_queue(workspace):
    """Four of gamma's mistakes, for two people each."""
    return wrong_answers(workspace, "grave", Question.MISTAKE, count=4, overlap=2, model="gamma")


@pytest.fixture
def votes(workspace):
    """Lets people vote: ``votes(item, Rita="correct")``."""
    return partial(said, workspace)


def addresses(queue, item):
    """Every address that shows an item or its list."""
    return (
        f"/panel/{queue.id}", f"/panel/{queue.id}?show=decided", f"/panel/{queue.id}/{item}",
        f"/api/panel/{queue.id}/{item}", f"/judge/{queue.id}", "/",
    )  # fmt: skip


def state(visitor, queue, item):
    return visitor.get(f"/api/panel/{queue.id}/{item}").json()["state"]


class TestBlindness:
    SECRET = "a reason that only Rita knows"

    @pytest.mark.parametrize("viewer", ["Rob", "Rose", "Olga"])
    def test_no_one_sees_a_vote_before_all_have_voted(self, workspace, judge_queue, visitor, votes, viewer):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="problematic", reason=self.SECRET)
        if viewer == "Rob":
            votes(item, Rob="wrong")
        guest = visitor(viewer)
        for address in addresses(judge_queue, item):
            text = guest.get(address).text
            assert self.SECRET not in text, address
        found = state(guest, judge_queue, item)
        assert (found["votes"], found["comments"], found["changes"], found["verdict"]) == ([], [], [], None)
        assert found["newest"] is None and found["open"] is False
        assert found["mine"] == (
            {"person": "Rob", "answer": "wrong", "severity": None, "reason": ""} if viewer == "Rob" else None
        )

    def test_the_version_does_not_tell_what_others_said(self, workspace, judge_queue, visitor, votes):
        one, other, *_ = item_numbers(workspace, judge_queue)
        votes(one, Rita="problematic", reason=self.SECRET)
        votes(other, Rita="correct")
        rob = visitor("Rob")
        first, second = (state(rob, judge_queue, item) for item in (one, other))
        shown = {name: value for name, value in first.items() if name not in ("version", "score")}
        assert shown == {name: second[name] for name in shown}

    def test_all_is_open_once_all_have_voted(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="problematic", reason=self.SECRET)
        votes(item, Rob="wrong", Rose="wrong")
        found = state(visitor("Rob"), judge_queue, item)
        assert [(one["person"], one["answer"]) for one in found["votes"]] == [
            ("Rita", "problematic"), ("Rob", "wrong"), ("Rose", "wrong"),
        ]  # fmt: skip
        assert found["votes"][0]["reason"] == self.SECRET
        assert found["verdict"] == {"answer": "wrong", "severity": None, "reached": "by majority", "tie": ""}

    def test_a_vote_taken_back_closes_it_again(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="problematic", reason=self.SECRET)
        votes(item, Rob="wrong", Rose="wrong")
        visitor("Rita").write(f"/api/panel/{judge_queue.id}/{item}/comments", text="look closely")
        workspace.ledger.take_back(item, workspace.ledger.person("Rose"), key="taken back", why="a slip")
        found = state(visitor("Rob"), judge_queue, item)
        assert (found["votes"], found["comments"], found["open"]) == ([], [], False)
        for address in addresses(judge_queue, item):
            text = visitor("Rob").get(address).text
            assert self.SECRET not in text
            assert "look closely" not in text

    def test_nothing_is_said_before(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="correct")
        answer = visitor("Rita").write(f"/api/panel/{judge_queue.id}/{item}/comments", text="clearly a one")
        assert (answer.status_code, answer.json()["error"]) == (400, "the discussion opens once all have voted")
        assert workspace.ledger.comments(item) == ()

    def test_whose_answer_it_is_stays_untold_where_people_answered_too(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        rita = visitor("Rita")
        assert "no one can tell" not in state(rita, judge_queue, item)["score"]
        folder = workspace.store.prediction_folder("digits", "person:Ada")
        folder.mkdir()
        (folder / "manifest.json").write_text("{}")
        for told in (state(rita, judge_queue, item)["score"], rita.get(f"/panel/{judge_queue.id}/{item}").text):
            assert "no one can tell whose answer it is" in told
        votes(item, Rita="correct", Rob="wrong", Rose="wrong")
        assert "no one can tell" not in state(rita, judge_queue, item)["score"]


class TestAccess:
    def test_labelers_are_turned_away(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="correct", Rob="wrong", Rose="wrong")
        leo = visitor("Leo")
        own = f"/panel/{judge_queue.id}/{item}"
        for address in (f"/panel/{judge_queue.id}", own, f"{own}/next", f"/api{own}", "/mistake/1"):
            assert leo.get(address).status_code in (403, 404), address
        for what, form in (("comments", {"text": "x"}), ("lock", {"seen": 1}), ("reopen", {"why": "x"}), ("again", {})):
            assert leo.write(f"/api{own}/{what}", **form).status_code in (403, 404)
        assert workspace.ledger.decision(item) is None

    def test_every_write_needs_its_token(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="correct", Rob="wrong", Rose="wrong")
        rita = visitor("Rita")
        for what, form in (("comments", {"text": "x"}), ("lock", {"seen": 1}), ("reopen", {"why": "x"}), ("again", {})):
            assert rita.post(f"/api/panel/{judge_queue.id}/{item}/{what}", json=form).status_code == 403
        assert visitor().get(f"/api/panel/{judge_queue.id}/{item}").status_code == 401

    def test_what_is_not_there(self, workspace, judge_queue, mistake_queue, visitor):
        rita, item = visitor("Rita"), item_numbers(workspace, judge_queue)[0]
        label = workspace.ledger.open_queue("label", Question.LABEL, test_set="digits")
        for address in (
            "/panel/99", f"/panel/{judge_queue.id}/9999", f"/panel/{mistake_queue.id}/{item}", f"/panel/{label.id}",
            f"/mistake/{judge_queue.id}", f"/api/panel/{mistake_queue.id}/{item}",
        ):  # fmt: skip
            assert rita.get(address).status_code == 404, address
        for address in ("/panel/x", f"/panel/{judge_queue.id}/{10**30}", f"/panel/{judge_queue.id}?show=all"):
            assert rita.get(address).status_code == 422, address


class TestTalk:
    @pytest.fixture
    def item(self, workspace, judge_queue, votes):
        found = item_numbers(workspace, judge_queue)[0]
        votes(found, Rita="correct", Rob="wrong", Rose="unclear")
        return found

    def test_hostile_words_are_text(self, workspace, judge_queue, item, visitor, votes):
        place = f"/api/panel/{judge_queue.id}/{item}"
        rita = visitor("Rita")
        answer = rita.write(f"{place}/comments", text=HOSTILE)
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["state"]["comments"][0]["text"] == HOSTILE
        votes(item, Rita="wrong", reason=HOSTILE, why=HOSTILE)
        for address in addresses(judge_queue, item)[:3]:
            text = rita.get(address).text
            assert "<script>alert" not in text
            assert "<img src=x" not in text
        assert [one.text for one in workspace.ledger.comments(item)] == [HOSTILE]

    def test_the_same_words_twice_are_said_once(self, workspace, judge_queue, item, visitor):
        place = f"/api/panel/{judge_queue.id}/{item}/comments"
        rita, rob = visitor("Rita"), visitor("Rob")
        for who, text in (
            (rita, "see the loop"),
            (rita, "see the loop"),
            (rob, "see the loop"),
            (rita, "see the loop"),
        ):
            assert who.write(place, text=text).status_code == 200
        assert len(workspace.ledger.comments(item)) == 3

    @pytest.mark.parametrize("text", ["", "  ", "x" * 5001, "a\0b", "\ud800"])
    def test_words_that_cannot_be_kept(self, workspace, judge_queue, item, visitor, text):
        rita = visitor("Rita")
        body = '{"text": "' + text.encode("unicode_escape").decode().replace("\\x00", "\\u0000") + '"}'
        headers = {"X-Regrade-Token": rita.token, "Content-Type": "application/json"}
        answer = rita.post(f"/api/panel/{judge_queue.id}/{item}/comments", content=body, headers=headers)
        assert answer.status_code in (400, 422)
        assert workspace.ledger.comments(item) == ()

    def test_lock_needs_the_votes_that_were_seen(self, judge_queue, item, visitor, votes):
        place = f"/api/panel/{judge_queue.id}/{item}"
        rita = visitor("Rita")
        seen = state(rita, judge_queue, item)
        assert seen["verdict"]["answer"] == "unclear"
        votes(item, Rose="wrong", why="looked again")
        answer = rita.write(f"{place}/lock", seen=seen["newest"])
        assert (answer.status_code, answer.json()["error"]) == (
            409, "someone has changed their vote since: look at it once more",
        )  # fmt: skip
        now = state(rita, judge_queue, item)
        assert now["changes"] == [
            {
                "person": "Rose",
                "before": "unclear",
                "after": "wrong",
                "why": "looked again",
                "at": now["changes"][0]["at"],
            }
        ]
        done = rita.write(f"{place}/lock", seen=now["newest"], why="talked").json()["state"]
        assert (done["decision"]["answer"], done["decision"]["reached"], done["decision"]["person"]) == (
            "wrong", "by majority", "Rita",
        )  # fmt: skip
        assert done["verdict"] is None
        assert rita.write(f"{place}/reopen", why=" ").status_code == 400
        reopened = rita.write(f"{place}/reopen", why="a second object").json()["state"]
        assert reopened["decision"] is None
        assert [one["reached"] for one in reopened["past"]] == ["by majority", "reopened"]

    def test_slips_of_before_are_no_one_s_matter(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[1]
        votes(item, Rita="correct")
        votes(item, Rita="wrong", why="wrong key")
        votes(item, Rob="wrong", Rose="unclear")
        assert state(visitor("Rob"), judge_queue, item)["changes"] == []

    def test_nothing_new_tells_nothing(self, judge_queue, item, visitor):
        rita = visitor("Rita")
        version = state(rita, judge_queue, item)["version"]
        place = f"/api/panel/{judge_queue.id}/{item}"
        assert rita.get(place, params={"version": version}).json() == {"state": None}
        visitor("Rob").write(f"{place}/comments", text="new")
        assert rita.get(place, params={"version": version}).json()["state"]["comments"][0]["text"] == "new"


class TestList:
    def test_what_is_where(self, workspace, judge_queue, visitor, votes):
        one, two, three, *_, four = item_numbers(workspace, judge_queue)
        votes(one, Rita="correct", Rob="wrong", Rose="wrong")
        votes(two, Rita="wrong", Rob="wrong", Rose="wrong")
        votes(three, Rita="correct", Rob="wrong")
        votes(four, Rita="unclear", Rob="problematic", Rose="wrong")
        rita = visitor("Rita")

        def listed(query: str = "") -> set[int]:
            text = rita.get(f"/panel/{judge_queue.id}{query}").text
            return {int(n) for n in re.findall(rf'href="/panel/{judge_queue.id}/(\d+)', text)}

        assert listed() == {one, four}
        assert listed("?show=decided") == {two}
        assert listed("?answer=problematic") == {four}
        assert listed("?show=decided&answer=correct") == set()
        asked = workspace.ledger.item(one).class_id
        assert listed(f"?class={asked}") == {one}
        assert listed("?class=%27%20OR%201%3D1%20--") == set()
        assert "Nothing fits this choice" in rita.get(f"/panel/{judge_queue.id}?class=none").text

    def test_nothing_to_discuss(self, judge_queue, visitor):
        assert "Nothing waits for discussion" in visitor("Rita").get(f"/panel/{judge_queue.id}").text
        assert "Nothing is decided yet" in visitor("Rita").get(f"/panel/{judge_queue.id}?show=decided").text

    def test_next_and_previous(self, workspace, judge_queue, visitor, votes):
        one, two, three, four, *_ = item_numbers(workspace, judge_queue)
        for item in (one, three, four):
            votes(item, Rita="correct", Rob="wrong", Rose="wrong")
        rita, place = visitor("Rita"), f"/panel/{judge_queue.id}"

        def leads(item: int, where: str, query: str = "") -> str:
            return rita.get(f"{place}/{item}/{where}{query}").headers["location"]

        assert leads(one, "next") == f"{place}/{three}"
        assert leads(two, "next") == f"{place}/{three}"
        assert leads(four, "previous") == f"{place}/{three}"
        assert leads(four, "next") == place
        assert leads(one, "previous", "?answer=wrong") == f"{place}?answer=wrong"

    def test_pages_and_the_number_of_questions_to_the_database(self, workspace, visitor, votes):
        from sqlalchemy import event

        ledger, target = workspace.ledger, workspace.store.test_set("digits")
        queue = ledger.open_queue("many", Question.JUDGE, test_set="digits", labels="multi", overlap=2)
        pairs = [NewItem(one, str(n)) for one in target.ids for n in (3, 4)]
        ledger.add_items(queue, pairs)
        numbers = item_numbers(workspace, queue)[: PAGE + 5]
        for item in numbers:
            votes(item, Rita="correct", Rob="wrong")
        rita, asked = visitor("Rita"), list[str]()
        event.listen(ledger.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
        first = rita.get(f"/panel/{queue.id}").text
        assert first.count('class="card topic"') == PAGE
        assert sum(one.startswith("SELECT") for one in asked) < 20
        for number in (2, 99):
            assert rita.get(f"/panel/{queue.id}?page={number}").text.count('class="card topic"') == 5


class TestMistakes:
    def test_the_triage_is_told_after_one_s_own_vote_only(self, mistake_queue, visitor):
        rita = visitor("Rita")
        kinds = ("same superclass", "co-occurring class", "failure")
        shown = rita.get(f"/api/queues/{mistake_queue.id}/next").json()["item"]
        item = shown["id"]
        assert "gamma" in shown["score"] and "%" in shown["score"]
        for address in (
            f"/api/queues/{mistake_queue.id}/next",
            f"/mistake/{mistake_queue.id}",
            *addresses(mistake_queue, item)[:4],
        ):
            assert not any(kind in rita.get(address).text for kind in kinds), address
        cast = rita.write(
            f"/api/queues/{mistake_queue.id}/votes",
            item=item,
            key="my-own-key",
            answer="fine-grained",
            severity="minor",
        ).json()
        assert cast["suggests"] in kinds
        assert state(rita, mistake_queue, item)["suggestion"] == cast["suggests"]
        assert state(visitor("Rob"), mistake_queue, item)["suggestion"] is None

    def test_a_refused_vote_tells_nothing(self, workspace, mistake_queue, visitor):
        rita, item = visitor("Rita"), item_numbers(workspace, mistake_queue)[0]
        place = f"/api/queues/{mistake_queue.id}/votes"
        for form in ({"answer": "fine-grained"}, {"answer": NO_MISTAKE, "severity": "major"}, {"answer": "other"}):
            answer = rita.write(place, item=item, key="my-own-key", **form)
            assert answer.status_code in (400, 404)
            assert "suggests" not in answer.text

    def test_a_tie_between_kinds_says_what_to_do(self, workspace, mistake_queue, visitor, votes):
        item = item_numbers(workspace, mistake_queue)[0]
        votes(item, Rita=("fine-grained", "major"), Rob=("non-prototypical", "minor"))
        rita = visitor("Rita")
        found = state(rita, mistake_queue, item)
        told = "fine-grained and non-prototypical have equally many votes: a reviewer has to change their vote"
        assert found["verdict"]["tie"] == told
        answer = rita.write(f"/api/panel/{mistake_queue.id}/{item}/lock", seen=found["newest"])
        assert (answer.status_code, answer.json()["error"]) == (400, told)

    def test_no_mistake_is_judged_again(self, workspace, mistake_queue, visitor, votes):
        item = item_numbers(workspace, mistake_queue)[0]
        place = f"/api/panel/{mistake_queue.id}/{item}"
        rita = visitor("Rita")
        assert rita.write(f"{place}/again").status_code == 400
        votes(item, Rita=NO_MISTAKE, Rob=NO_MISTAKE, reason="the prediction is correct")
        assert state(rita, mistake_queue, item)["again"] is True
        address = rita.write(f"{place}/again").json()["address"]
        assert rita.write(f"{place}/again").json()["address"] == address
        again = workspace.ledger.queue("second look grave")
        (asked,) = item_numbers(workspace, again)
        assert address == f"/panel/{again.id}/{asked}"
        assert (again.question, again.labels, again.overlap) == (Question.JUDGE, "multi@1", 2)
        votes(asked, Rita="correct", Rob="correct")
        before = {row.model: row.multilabel.value for row in workspace.grade("digits", labels="multi").rows}
        workspace.publish("second look grave")
        after = {row.model: row.multilabel.value for row in workspace.grade("digits", labels="multi").rows}
        assert after["gamma"] > before["gamma"]

    def test_what_was_judged_before_is_opened_again(self, workspace, mistake_queue, visitor, votes):
        item = workspace.ledger.item(item_numbers(workspace, mistake_queue)[0])
        judged = workspace.ledger.open_queue("judged", Question.JUDGE, test_set="digits", labels="multi", overlap=1)
        workspace.ledger.add_items(judged, [NewItem(item.example, item.class_id)])
        votes(item.id, Rita=NO_MISTAKE, Rob=NO_MISTAKE)
        (asked,) = item_numbers(workspace, judged)
        answer = visitor("Rita").write(f"/api/panel/{mistake_queue.id}/{item.id}/again")
        assert answer.json() == {"address": f"/panel/{judged.id}/{asked}"}


@pytest.mark.parametrize("place", ["/panel/{queue}/{item}", "/api/panel/{queue}/{item}", "/api/queues/{queue}/next"])
def test_a_image_that_is_not_there_is_said_so(workspace, visitor, place):
    """A ledger from elsewhere may ask about images that this test set does not have."""
    queue = workspace.ledger.open_queue("stray", Question.JUDGE, test_set="digits", labels="multi", overlap=1)
    workspace.ledger.add_items(queue, [NewItem("gone.png", "3")])
    (item,) = item_numbers(workspace, queue)
    answer = visitor("Rita").get(place.format(queue=queue.id, item=item))
    assert answer.status_code == 404
    assert "unknown image of digits" in answer.text
