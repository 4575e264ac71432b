"""The guide's routes: access, what labelers see, and invalid input."""

from html import escape
from urllib.parse import quote

import pytest

from regrade.core import ClassSpace
from regrade.ledger import GuideText

THREE = "/guide/digits/3"


@pytest.fixture
def guide(workspace):
    return workspace.ledger.guide


def write_entry(workspace, guide, **parts):
    return guide.write("digits", "3", GuideText(**parts), workspace.ledger.people.named("Rita"), replaces=None)


def test_labelers_read_but_cannot_write(workspace, guide, visitor):
    entry = write_entry(workspace, guide, text="Two bows.")
    leo = visitor("Leo")
    assert leo.get("/guide").status_code == leo.get(THREE).status_code == leo.get(f"{THREE}/history").status_code == 200
    assert leo.get(f"{THREE}/edit").status_code == 403
    assert leo.submit(f"{THREE}/edit", text="mine", replaces=str(entry.id), why="x").status_code == 403
    assert leo.submit(f"{THREE}/restore", revision=entry.id, replaces=entry.id).status_code == 403
    assert leo.write("/api/guide/preview", text="x").status_code == 403
    assert guide.history("digits", "3") == (entry,)


def test_guide_needs_a_session(visitor):
    stranger = visitor()
    for address in ("/guide", THREE, f"{THREE}/edit", f"{THREE}/history", "/guide/none/3"):
        assert stranger.get(address).headers["location"].startswith("/sign-in?next=/guide")
    assert stranger.get("/api/guide/digits/3").status_code == 401


def test_write_without_its_token_is_refused(guide, visitor):
    rita = visitor("Rita")
    assert rita.post(f"{THREE}/edit", data={"text": "x"}).status_code == 403
    assert rita.post("/api/guide/preview", json={"text": "x"}).status_code == 403
    assert guide.entry("digits", "3") is None


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"examples": "reference/none.png"}, "unknown image of reference"),
        ({"examples": "nowhere"}, "expected an example as TESTSET/IMAGE-ID"),
        ({"alike": "11"}, "unknown class id"),
        ({"text": "a\0b"}, "the entry contains an invalid character"),
        ({"traits": "\n".join(map(str, range(101)))}, "at most 100 lines"),
    ],
)
def test_invalid_entry_stays_in_the_form(guide, visitor, typed, message):
    answer = visitor("Rita").submit(f"{THREE}/edit", **{"text": "kept words", **typed})
    assert answer.status_code == 400
    assert message in answer.text
    assert "kept words" in answer.text or "text" in typed
    assert guide.entry("digits", "3") is None


@pytest.mark.parametrize("replaces", ["x", "-1", "9" * 12])
def test_revision_must_be_a_number(visitor, replaces):
    assert visitor("Rita").submit(f"{THREE}/edit", text="x", replaces=replaces).status_code == 422


def test_change_without_a_reason_keeps_the_text(workspace, guide, visitor):
    entry = write_entry(workspace, guide, text="old")
    answer = visitor("Rob").submit(f"{THREE}/edit", text="new words", replaces=str(entry.id))
    assert answer.status_code == 400
    assert "give a reason" in answer.text
    assert "new words" in answer.text
    assert guide.entry("digits", "3") == entry


def test_conflict_shows_both_versions_and_can_be_merged(workspace, guide, visitor):
    entry = write_entry(workspace, guide, text="theirs & <ours>")
    answer = visitor("Rob").submit(f"{THREE}/edit", text="mine", replaces="")
    assert answer.status_code == 409
    assert "Rita changed this entry meanwhile" in answer.text
    assert "theirs &amp; &lt;ours&gt;" in answer.text
    assert "mine" in answer.text
    assert f'name="replaces" value="{entry.id}"' in answer.text
    saved = visitor("Rob").submit(f"{THREE}/edit", text="both", replaces=str(entry.id), why="settled")
    assert (saved.status_code, saved.headers["location"]) == (303, THREE)


def test_restoring_an_outdated_revision_is_refused(workspace, guide, visitor):
    entry = write_entry(workspace, guide, text="old")
    newer = guide.write(
        "digits", "3", GuideText("new"), workspace.ledger.people.named("Rob"), replaces=entry.id, why="x"
    )
    rita = visitor("Rita")
    assert rita.submit(f"{THREE}/restore", revision=entry.id, replaces=newer.id).status_code == 303
    assert rita.submit(f"{THREE}/restore", revision=entry.id, replaces=newer.id).status_code == 409
    assert rita.submit(f"{THREE}/restore", revision=999, replaces=newer.id).status_code == 404
    assert len(guide.history("digits", "3")) == 3


@pytest.mark.parametrize("address", ["/guide/digits/11", "/guide/none/3", "/guide?space=none", f"/guide/{'a' * 400}/3"])
def test_unknown_class_is_404(visitor, address):
    assert visitor("Leo").get(address).status_code == 404
    assert visitor("Leo").get(f"/api{address}").status_code == 404


def test_examples_of_examined_sets_are_hidden(workspace, guide, visitor):
    sets = {name: workspace.store.test_set(name).ids for name in ("digits", "reference")}
    write_entry(
        workspace, guide, text="x", examples=(("digits", sets["digits"][0]), ("reference", sets["reference"][0]))
    )
    leo = visitor("Leo")
    assert len(leo.get("/api/guide/digits/3").json()["examples"]) == 2
    workspace.review.queue_labels("digits", size=5, mode="training", name="learn")
    learn = workspace.ledger.queues.named("learn")
    assert len(leo.get(f"/api/guide/digits/3?queue={learn.id}").json()["examples"]) == 1
    workspace.review.queue_labels("digits", size=5, name="exam")
    assert len(leo.get("/api/guide/digits/3").json()["examples"]) == 1
    assert leo.get(THREE).text.count('alt="Example of 3"') == 1
    assert "not shown to anyone" not in leo.get(THREE).text
    assert "1 example from test sets with an examination" in visitor("Rita").get(THREE).text
    assert sets["digits"][0] not in leo.get(f"{THREE}/history").text
    assert sets["digits"][0] in visitor("Rita").get(f"{THREE}/history").text


def test_guide_api_rejects_queues_of_others(judge_queue, visitor):
    assert visitor("Leo").get(f"/api/guide/digits/3?queue={judge_queue.id}").status_code == 404
    assert visitor("Rita").get(f"/api/guide/digits/3?queue={judge_queue.id}").json()["written"] is False


def test_similar_classes_are_listed_with_their_distance(visitor):
    text = visitor("Leo").get("/guide/imagenet-1k/n02113023").text
    assert "Distance in the hierarchy: max steps, all paths." in text
    assert "Cardigan (corgi)" in text
    assert " › dog › corgi" in text


def test_entries_accept_special_characters_in_class_names(workspace, guide, visitor):
    names = ("a b", "c&d", "é", "x/y", "50%?#")
    workspace.store.class_spaces.add(ClassSpace("odd space", names), None)
    rita = visitor("Rita")
    for name in names:
        sent = rita.submit(f"/guide/odd%20space/{quote(name)}/edit", text=f"about {name}")
        assert sent.status_code == 303, sent.text
        assert f"about {escape(name)}" in rita.get(sent.headers["location"]).text
    assert {entry.class_id for entry in guide.entries("odd space")} == set(names)
