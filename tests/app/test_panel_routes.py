"""The panel's routes: blind votes, roles, filters, and hostile text."""

import re
from functools import partial

import pytest
from judging import comments_on
from panel_votes import cast_votes, open_mistake_queue
from work_page import item_numbers

from regrade.app.routes.panel import PAGE_SIZE
from regrade.core.panel import NO_MISTAKE
from regrade.ledger import NewItem, Question

HOSTILE = """<script>alert(1)</script> "'); DROP TABLE vote; -- javascript:alert(1) <img src=x onerror=a()> {{ 7 }}"""


@pytest.fixture
def mistake_queue(workspace):
    """Four of gamma's mistakes, for two people each."""
    return open_mistake_queue(workspace, "grave", Question.MISTAKE, count=4, overlap=2, model="gamma")


@pytest.fixture
def votes(workspace):
    """Lets people vote: ``votes(item, Rita="correct")``."""
    return partial(cast_votes, workspace)


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
    def test_votes_are_hidden_before_all_have_voted(self, workspace, judge_queue, visitor, votes, viewer):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="problematic", reason=self.SECRET)
        if viewer == "Rob":
            votes(item, Rob="wrong")
        guest = visitor(viewer)
        for address in addresses(judge_queue, item):
            text = guest.get(address).text
            assert self.SECRET not in text, address
        panel = state(guest, judge_queue, item)
        assert (panel["votes"], panel["comments"], panel["changes"], panel["verdict"]) == ([], [], [], None)
        assert panel["newest"] is None and panel["open"] is False
        assert panel["mine"] == (
            {"person": "Rob", "answer": "wrong", "severity": None, "reason": ""} if viewer == "Rob" else None
        )

    def test_version_does_not_reveal_votes(self, workspace, judge_queue, visitor, votes):
        first_item, second_item, *_ = item_numbers(workspace, judge_queue)
        votes(first_item, Rita="problematic", reason=self.SECRET)
        votes(second_item, Rita="correct")
        rob = visitor("Rob")
        first, second = (state(rob, judge_queue, item) for item in (first_item, second_item))
        shown = {name: value for name, value in first.items() if name not in ("version", "score")}
        assert shown == {name: second[name] for name in shown}

    def test_votes_are_shown_once_all_have_voted(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="problematic", reason=self.SECRET)
        votes(item, Rob="wrong", Rose="wrong")
        panel = state(visitor("Rob"), judge_queue, item)
        assert [(vote["person"], vote["answer"]) for vote in panel["votes"]] == [
            ("Rita", "problematic"), ("Rob", "wrong"), ("Rose", "wrong"),
        ]  # fmt: skip
        assert panel["votes"][0]["reason"] == self.SECRET
        assert panel["verdict"] == {"answer": "wrong", "severity": None, "reached": "by majority", "tie": ""}

    def test_taking_a_vote_back_hides_the_votes_again(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="problematic", reason=self.SECRET)
        votes(item, Rob="wrong", Rose="wrong")
        visitor("Rita").write(f"/api/panel/{judge_queue.id}/{item}/comments", text="look closely")
        workspace.ledger.votes.retract(item, workspace.ledger.people.named("Rose"), key="taken back", why="a slip")
        panel = state(visitor("Rob"), judge_queue, item)
        assert (panel["votes"], panel["comments"], panel["open"]) == ([], [], False)
        for address in addresses(judge_queue, item):
            text = visitor("Rob").get(address).text
            assert self.SECRET not in text
            assert "look closely" not in text

    def test_comments_are_refused_before_all_have_voted(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="correct")
        answer = visitor("Rita").write(f"/api/panel/{judge_queue.id}/{item}/comments", text="clearly a one")
        assert (answer.status_code, answer.json()["error"]) == (400, "comments open once all have voted")
        assert comments_on(workspace.ledger, item) == []

    def test_answer_source_is_hidden_if_people_answered_too(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        rita = visitor("Rita")
        assert "source stays unknown" not in state(rita, judge_queue, item)["score"]
        folder = workspace.store.predictions.path("digits", "person:Ada")
        folder.mkdir()
        (folder / "manifest.json").write_text("{}")
        for text in (state(rita, judge_queue, item)["score"], rita.get(f"/panel/{judge_queue.id}/{item}").text):
            assert "so that its source stays unknown" in text
        votes(item, Rita="correct", Rob="wrong", Rose="wrong")
        assert "source stays unknown" not in state(rita, judge_queue, item)["score"]


class TestAccess:
    def test_panel_refuses_labelers(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="correct", Rob="wrong", Rose="wrong")
        leo = visitor("Leo")
        own = f"/panel/{judge_queue.id}/{item}"
        for address in (f"/panel/{judge_queue.id}", own, f"{own}/next", f"/api{own}", "/mistake/1"):
            assert leo.get(address).status_code in (403, 404), address
        for what, form in (("comments", {"text": "x"}), ("lock", {"seen": 1}), ("reopen", {"why": "x"}), ("again", {})):
            assert leo.write(f"/api{own}/{what}", **form).status_code in (403, 404)
        assert workspace.ledger.decisions.current(item) is None

    def test_writes_need_a_token(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[0]
        votes(item, Rita="correct", Rob="wrong", Rose="wrong")
        rita = visitor("Rita")
        for what, form in (("comments", {"text": "x"}), ("lock", {"seen": 1}), ("reopen", {"why": "x"}), ("again", {})):
            assert rita.post(f"/api/panel/{judge_queue.id}/{item}/{what}", json=form).status_code == 403
        assert visitor().get(f"/api/panel/{judge_queue.id}/{item}").status_code == 401

    def test_unknown_queues_and_items_are_404(self, workspace, judge_queue, mistake_queue, visitor):
        rita, item = visitor("Rita"), item_numbers(workspace, judge_queue)[0]
        label = workspace.ledger.queues.create("label", Question.LABEL, test_set="digits")
        for address in (
            "/panel/99", f"/panel/{judge_queue.id}/9999", f"/panel/{mistake_queue.id}/{item}", f"/panel/{label.id}",
            f"/mistake/{judge_queue.id}", f"/api/panel/{mistake_queue.id}/{item}",
        ):  # fmt: skip
            assert rita.get(address).status_code == 404, address
        for address in ("/panel/x", f"/panel/{judge_queue.id}/{10**30}", f"/panel/{judge_queue.id}?show=all"):
            assert rita.get(address).status_code == 422, address


class TestDiscussion:
    @pytest.fixture
    def item(self, workspace, judge_queue, votes):
        first = item_numbers(workspace, judge_queue)[0]
        votes(first, Rita="correct", Rob="wrong", Rose="unclear")
        return first

    def test_hostile_comments_are_escaped(self, workspace, judge_queue, item, visitor, votes):
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
        assert [comment.text for comment in comments_on(workspace.ledger, item)] == [HOSTILE]

    def test_repeated_comment_is_stored_once(self, workspace, judge_queue, item, visitor):
        place = f"/api/panel/{judge_queue.id}/{item}/comments"
        rita, rob = visitor("Rita"), visitor("Rob")
        for who, text in (
            (rita, "see the loop"),
            (rita, "see the loop"),
            (rob, "see the loop"),
            (rita, "see the loop"),
        ):
            assert who.write(place, text=text).status_code == 200
        assert len(comments_on(workspace.ledger, item)) == 3

    @pytest.mark.parametrize("text", ["", "  ", "x" * 5001, "a\0b", "\ud800"])
    def test_invalid_comments_are_refused(self, workspace, judge_queue, item, visitor, text):
        rita = visitor("Rita")
        body = '{"text": "' + text.encode("unicode_escape").decode().replace("\\x00", "\\u0000") + '"}'
        headers = {"X-Regrade-Token": rita.token, "Content-Type": "application/json"}
        answer = rita.post(f"/api/panel/{judge_queue.id}/{item}/comments", content=body, headers=headers)
        assert answer.status_code in (400, 422)
        assert comments_on(workspace.ledger, item) == []

    def test_lock_is_refused_if_votes_changed_meanwhile(self, judge_queue, item, visitor, votes):
        place = f"/api/panel/{judge_queue.id}/{item}"
        rita = visitor("Rita")
        seen = state(rita, judge_queue, item)
        assert seen["verdict"]["answer"] == "unclear"
        votes(item, Rose="wrong", why="looked again")
        answer = rita.write(f"{place}/lock", seen=seen["newest"])
        assert (answer.status_code, answer.json()["error"]) == (
            409, "a vote on this item has changed in the meantime: look at the votes again",
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
        assert [decision["reached"] for decision in reopened["past"]] == ["by majority", "reopened"]

    def test_changes_before_the_reveal_are_not_shown(self, workspace, judge_queue, visitor, votes):
        item = item_numbers(workspace, judge_queue)[1]
        votes(item, Rita="correct")
        votes(item, Rita="wrong", why="wrong key")
        votes(item, Rob="wrong", Rose="unclear")
        assert state(visitor("Rob"), judge_queue, item)["changes"] == []

    def test_state_is_empty_if_nothing_changed(self, judge_queue, item, visitor):
        rita = visitor("Rita")
        version = state(rita, judge_queue, item)["version"]
        place = f"/api/panel/{judge_queue.id}/{item}"
        assert rita.get(place, params={"version": version}).json() == {"state": None}
        visitor("Rob").write(f"{place}/comments", text="new")
        assert rita.get(place, params={"version": version}).json()["state"]["comments"][0]["text"] == "new"


class TestList:
    def test_list_shows_items_by_stage_and_filter(self, workspace, judge_queue, visitor, votes):
        first, second, third, *_, fourth = item_numbers(workspace, judge_queue)
        votes(first, Rita="correct", Rob="wrong", Rose="wrong")
        votes(second, Rita="wrong", Rob="wrong", Rose="wrong")
        votes(third, Rita="correct", Rob="wrong")
        votes(fourth, Rita="unclear", Rob="problematic", Rose="wrong", reason="drawing")
        rita = visitor("Rita")

        def listed(query: str = "") -> set[int]:
            text = rita.get(f"/panel/{judge_queue.id}{query}").text
            return {int(n) for n in re.findall(rf'href="/panel/{judge_queue.id}/(\d+)', text)}

        assert listed() == {first, fourth}
        assert listed("?show=decided") == {second}
        assert listed("?answer=problematic") == {fourth}
        assert listed("?show=decided&answer=correct") == set()
        class_id = workspace.ledger.items.with_id(first).class_id
        assert listed(f"?class={class_id}") == {first}
        assert listed("?class=%27%20OR%201%3D1%20--") == set()
        assert "No item matches the filters" in rita.get(f"/panel/{judge_queue.id}?class=none").text

    def test_list_without_items_says_so(self, judge_queue, visitor):
        assert "Nothing to discuss" in visitor("Rita").get(f"/panel/{judge_queue.id}").text
        assert "Nothing is decided yet" in visitor("Rita").get(f"/panel/{judge_queue.id}?show=decided").text

    def test_next_and_previous_follow_the_filter(self, workspace, judge_queue, visitor, votes):
        first, second, third, fourth, *_ = item_numbers(workspace, judge_queue)
        for item in (first, third, fourth):
            votes(item, Rita="correct", Rob="wrong", Rose="wrong")
        rita, place = visitor("Rita"), f"/panel/{judge_queue.id}"

        def leads(item: int, where: str, query: str = "") -> str:
            return rita.get(f"{place}/{item}/{where}{query}").headers["location"]

        assert leads(first, "next") == f"{place}/{third}"
        assert leads(second, "next") == f"{place}/{third}"
        assert leads(fourth, "previous") == f"{place}/{third}"
        assert leads(fourth, "next") == place
        assert leads(first, "previous", "?answer=wrong") == f"{place}?answer=wrong"

    def test_list_is_paged_with_few_statements(self, workspace, visitor, votes):
        from sqlalchemy import event

        ledger, target = workspace.ledger, workspace.store.test_set("digits")
        queue = ledger.queues.create("many", Question.JUDGE, test_set="digits", labels="multi", overlap=2)
        pairs = [NewItem(example, str(n)) for example in target.ids for n in (3, 4)]
        ledger.items.add(queue, pairs)
        numbers = item_numbers(workspace, queue)[: PAGE_SIZE + 6]  # two per image
        for item in numbers:
            votes(item, Rita="correct", Rob="wrong")
        rita, statements = visitor("Rita"), list[str]()
        event.listen(ledger.engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
        first = rita.get(f"/panel/{queue.id}").text
        assert first.count('class="card topic"') == PAGE_SIZE
        assert sum(statement.startswith("SELECT") for statement in statements) < 20
        for number in (2, 99):
            assert rita.get(f"/panel/{queue.id}?page={number}").text.count('class="card topic"') == 6


class TestMistakes:
    def test_triage_is_shown_only_after_the_own_vote(self, mistake_queue, visitor):
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

    def test_triage_is_withheld_while_the_image_is_pending_in_another_queue(self, workspace, mistake_queue, visitor):
        item = workspace.ledger.items.with_id(item_numbers(workspace, mistake_queue)[0])
        judged = workspace.ledger.queues.create("judged", Question.JUDGE, test_set="digits", labels="multi", overlap=1)
        workspace.ledger.items.add(judged, [NewItem(item.example, item.class_id)])
        rita, place = visitor("Rita"), f"/api/queues/{mistake_queue.id}/votes"
        form = {"item": item.id, "answer": "fine-grained", "severity": "minor"}
        assert rita.write(place, key="first-key", **form).json()["suggests"] is None
        (judged_item,) = item_numbers(workspace, judged)
        rita.write(f"/api/queues/{judged.id}/votes", item=judged_item, key="other-key", answer="wrong")
        assert rita.write(place, key="first-key", **form).json()["suggests"] is not None

    def test_refused_vote_returns_no_triage(self, workspace, mistake_queue, visitor):
        rita, item = visitor("Rita"), item_numbers(workspace, mistake_queue)[0]
        place = f"/api/queues/{mistake_queue.id}/votes"
        for form in ({"answer": "fine-grained"}, {"answer": NO_MISTAKE, "severity": "major"}, {"answer": "other"}):
            answer = rita.write(place, item=item, key="my-own-key", **form)
            assert answer.status_code in (400, 404)
            assert "suggests" not in answer.text

    @pytest.mark.parametrize("reason", [{}, {"reason": " "}, {"reason": "\u200b"}])
    def test_no_mistake_without_a_reason_is_refused(self, workspace, mistake_queue, visitor, reason):
        rita, place = visitor("Rita"), f"/api/queues/{mistake_queue.id}/votes"
        vote = {"item": item_numbers(workspace, mistake_queue)[0], "key": "my-own-key", "answer": NO_MISTAKE}
        refused = rita.write(place, **vote, **reason)
        message = "this vote needs a reason: say why the answer is 'no mistake'"
        assert (refused.status_code, refused.json()) == (400, {"error": message})
        assert workspace.ledger.queues.progress(mistake_queue).by_person == {}
        assert rita.write(place, **vote, reason="the prediction is correct").status_code == 200

    def test_tie_between_categories_says_what_to_do(self, workspace, mistake_queue, visitor, votes):
        item = item_numbers(workspace, mistake_queue)[0]
        votes(item, Rita=("fine-grained", "major"), Rob=("non-prototypical", "minor"))
        rita = visitor("Rita")
        panel = state(rita, mistake_queue, item)
        message = "fine-grained and non-prototypical have equally many votes: a reviewer has to change their vote"
        assert panel["verdict"]["tie"] == message
        answer = rita.write(f"/api/panel/{mistake_queue.id}/{item}/lock", seen=panel["newest"])
        assert (answer.status_code, answer.json()["error"]) == (400, message)

    def test_no_mistake_can_be_judged_again(self, workspace, mistake_queue, visitor, votes):
        item = item_numbers(workspace, mistake_queue)[0]
        place = f"/api/panel/{mistake_queue.id}/{item}"
        rita = visitor("Rita")
        assert rita.write(f"{place}/again").status_code == 400
        votes(item, Rita=NO_MISTAKE, Rob=NO_MISTAKE, reason="the prediction is correct")
        assert state(rita, mistake_queue, item)["again"] is True
        address = rita.write(f"{place}/again").json()["address"]
        assert rita.write(f"{place}/again").json()["address"] == address
        again = workspace.ledger.queues.named("second look grave")
        (new_item,) = item_numbers(workspace, again)
        assert address == f"/panel/{again.id}/{new_item}"
        assert (again.question, again.labels, again.overlap) == (Question.JUDGE, "multi@1", 2)
        votes(new_item, Rita="correct", Rob="correct")
        before = {row.model: row.multilabel.value for row in workspace.grade("digits", labels="multi").rows}
        workspace.review.publish("second look grave")
        after = {row.model: row.multilabel.value for row in workspace.grade("digits", labels="multi").rows}
        assert after["gamma"] > before["gamma"]

    def test_judging_again_reopens_an_earlier_item(self, workspace, mistake_queue, visitor, votes):
        item = workspace.ledger.items.with_id(item_numbers(workspace, mistake_queue)[0])
        judged = workspace.ledger.queues.create("judged", Question.JUDGE, test_set="digits", labels="multi", overlap=1)
        workspace.ledger.items.add(judged, [NewItem(item.example, item.class_id)])
        votes(item.id, Rita=NO_MISTAKE, Rob=NO_MISTAKE, reason="the prediction is correct")
        (earlier_item,) = item_numbers(workspace, judged)
        answer = visitor("Rita").write(f"/api/panel/{mistake_queue.id}/{item.id}/again")
        assert answer.json() == {"address": f"/panel/{judged.id}/{earlier_item}"}


@pytest.mark.parametrize("place", ["/panel/{queue}/{item}", "/api/panel/{queue}/{item}", "/api/queues/{queue}/next"])
def test_panel_page_reports_missing_images(workspace, visitor, place):
    """A ledger of another workspace may ask about images that this test set does not contain."""
    queue = workspace.ledger.queues.create("stray", Question.JUDGE, test_set="digits", labels="multi", overlap=1)
    workspace.ledger.items.add(queue, [NewItem("gone.png", "3")])
    (item,) = item_numbers(workspace, queue)
    answer = visitor("Rita").get(place.format(queue=queue.id, item=item))
    assert answer.status_code == 404
    assert "unknown image of digits" in answer.text


def test_queue_without_items_has_pages(workspace, visitor):
    """Everything in it was decided for other models: publishing reuses it."""
    queue = open_mistake_queue(workspace, "all reused", Question.MISTAKE, count=0, overlap=2, model="gamma")
    guest = visitor("Rita")
    for address in (f"/mistake/{queue.id}", f"/panel/{queue.id}", "/", f"/api/queues/{queue.id}/next"):
        assert guest.get(address).status_code == 200, address
