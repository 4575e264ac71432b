"""Text without a visible character counts as empty: as a reason, a comment, a name and a password."""

import pytest
from panel_votes import cast_votes
from work_page import item_numbers

from regrade.app.forms import is_visible
from regrade.ledger import GuideText, Role

INVISIBLE = {"zero width": "\u200b", "spaces": " \u00a0\u3000", "Hangul filler": "\u3164", "variation": "\ufe0f"}

each_invisible = pytest.mark.parametrize("text", INVISIBLE.values(), ids=INVISIBLE)


@each_invisible
def test_is_visible_needs_one_visible_character(text):
    assert not is_visible(text)
    assert is_visible(f"{text}9{text}")
    assert is_visible("é") and is_visible("字") and is_visible("?")


@each_invisible
def test_undo_rejects_an_invisible_reason(workspace, judge_queue, visitor, text):
    item = item_numbers(workspace, judge_queue)[0]
    cast_votes(workspace, item, Rita="correct", Rob="correct", Rose="correct")
    form = {"item": item, "key": "invisible-reason", "why": text}
    reply = visitor("Rita").write(f"/api/queues/{judge_queue.id}/undo", **form)
    assert (reply.status_code, reply.json()["code"]) == (400, "reason needed")


@each_invisible
def test_panel_rejects_invisible_comments_and_reasons(workspace, judge_queue, visitor, text):
    item = item_numbers(workspace, judge_queue)[0]
    cast_votes(workspace, item, Rita="correct", Rob="correct", Rose="correct")
    rita, place = visitor("Rita"), f"/api/panel/{judge_queue.id}/{item}"
    assert rita.write(f"{place}/comments", text=text).status_code == 400
    assert rita.write(f"{place}/reopen", why=text).status_code == 400
    assert workspace.ledger.decisions.current(item) is not None


@each_invisible
def test_guide_rejects_an_invisible_reason(workspace, visitor, text):
    guide = workspace.ledger.guide
    entry = guide.write("digits", "3", GuideText("old"), workspace.ledger.people.named("Rita"), replaces=None)
    reply = visitor("Rob").submit("/guide/digits/3/edit", text="new words", replaces=str(entry.id), why=text)
    assert reply.status_code == 400
    assert "new words" in reply.text
    assert guide.entry("digits", "3") == entry


@each_invisible
def test_team_rejects_an_invisible_name(workspace, visitor, text):
    people = workspace.ledger.people.all()
    assert visitor("Olga").submit("/team/people", name=text, role="labeler").status_code in (400, 422)
    assert workspace.ledger.people.all() == people


@each_invisible
def test_join_rejects_an_invisible_password(app, workspace, visitor, text):
    word = app.state.site.accounts.invite(workspace.ledger.people.named("Rose"))
    reply = visitor().post(f"/join/{word}", data={"password": 12 * text, "again": 12 * text})
    assert reply.status_code == 400
    assert "at least one visible character" in reply.text


def test_join_names_the_role(app, workspace, visitor):
    accounts = app.state.site.accounts
    word = accounts.invite(workspace.ledger.people.add("Ole", Role.OWNER))
    assert "as an owner." in visitor().get(f"/join/{word}").text
    word = accounts.invite(workspace.ledger.people.named("Rose"))
    assert "as a reviewer." in visitor().get(f"/join/{word}").text
