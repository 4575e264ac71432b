"""Team: invitations, roles, assignment of queues, publishing and export."""

import io
import json
import re
from html import unescape

import pyarrow.parquet
import pytest
from playwright.sync_api import expect

from regrade.ledger import AccountState, Role, VoteContent


def test_owner_invites_a_person_who_joins(visitor, workspace):
    olga, guest = visitor("Olga"), visitor()
    shown = olga.submit("/team/people", name="Nora", role="labeler").text
    link = shown.split('value="http://testserver')[1].split('"')[0]
    assert "Welcome, Nora" in guest.get(link).text
    guest.post(link, data={"password": "a long password", "again": "a long password"})
    assert "Hello, Nora" in guest.get("/").text
    assert workspace.ledger.people.named("Nora").role is Role.LABELER
    assert link not in olga.get("/team").text


def test_team_rejects_a_taken_name(visitor):
    answer = visitor("Olga").submit("/team/people", name="Rita", role="labeler")
    assert answer.status_code == 400
    assert "there is a person" in answer.text


def test_role_change_takes_effect_at_once(visitor, workspace):
    rita = workspace.ledger.people.named("Rita")
    client = visitor("Rita")
    assert client.get("/team").status_code == 403
    visitor("Olga").submit(f"/team/people/{rita.id}/role", role="owner")
    assert client.get("/team").status_code == 200


def test_last_owner_cannot_be_demoted_or_closed(visitor, workspace):
    olga = workspace.ledger.people.named("Olga")
    client = visitor("Olga")
    assert client.submit(f"/team/people/{olga.id}/role", role="labeler").status_code == 400
    assert client.submit(f"/team/people/{olga.id}/close").status_code == 400
    assert client.get("/team").status_code == 200


def test_closed_account_is_reopened_by_invitation(visitor, workspace):
    rob = workspace.ledger.people.named("Rob")
    olga = visitor("Olga")
    assert olga.submit(f"/team/people/{rob.id}/close").status_code == 303
    assert "closed" in olga.get("/team").text
    assert olga.submit(f"/team/people/{rob.id}/invite").status_code == 200
    assert olga.submit("/team/people/99/close").status_code == 404


def test_team_shows_the_state_of_accounts(visitor, app, workspace):
    accounts = app.state.site.accounts
    accounts.invite(workspace.ledger.people.add("Nora", Role.LABELER))
    accounts.close(workspace.ledger.people.named("Rob"))
    shown = visitor("Olga").get("/team").text
    cells = [cell.split("<")[0] for cell in shown.split('class="quiet account">')[1:]]
    assert cells == [*["joined"] * 2, "closed", *["joined"] * 3, "invited just now, expires in 7 days"]


def test_close_ends_sessions_and_invitations(visitor, app, workspace):
    rob = workspace.ledger.people.named("Rob")
    client, word = visitor("Rob"), app.state.site.accounts.invite(rob)
    visitor("Olga").submit(f"/team/people/{rob.id}/close")
    assert client.get("/").status_code == 303
    assert visitor().get(f"/join/{word}").status_code == 404


def test_sign_out_everywhere_ends_all_sessions_of_one_person(visitor, workspace):
    rob = workspace.ledger.people.named("Rob")
    robs, rita, olga = [visitor("Rob"), visitor("Rob")], visitor("Rita"), visitor("Olga")
    assert olga.get("/team").text.count("Sign out everywhere") == 2
    assert olga.submit(f"/team/people/{rob.id}/sign-out").status_code == 303
    assert [client.get("/").status_code for client in robs] == [303, 303]
    assert rita.get("/").status_code == 200
    assert olga.get("/team").text.count("Sign out everywhere") == 1


def test_queue_is_assigned_to_some_people_and_to_everyone(visitor, workspace, judge_queue):
    rita, leo = workspace.ledger.people.named("Rita"), workspace.ledger.people.named("Leo")
    olga = visitor("Olga")
    olga.submit(f"/team/queues/{judge_queue.id}", people=[rita.id])
    assert [person.name for person in workspace.ledger.queues.assigned(judge_queue)] == ["Rita"]
    refused = olga.submit(f"/team/queues/{judge_queue.id}", people=[leo.id])
    assert refused.status_code == 400 and "labeler" in refused.text
    olga.submit(f"/team/queues/{judge_queue.id}")
    assert workspace.ledger.queues.assigned(judge_queue) == ()


def preview_of(page: str) -> str:
    """The preview that the page asks to confirm."""
    return unescape(re.search(r'name="preview" value="([^"]*)"', page)[1])


def published(olga, queue) -> str:
    """Publish a queue as an owner does: look at what would change, and confirm it."""
    preview = olga.submit(f"/team/queues/{queue.id}/publish").text
    return olga.submit(f"/team/queues/{queue.id}/publish", preview=preview_of(preview)).text


def test_publish_shows_a_preview_with_undecided_items(visitor, workspace, judge_queue):
    for name in ("Rita", "Rob", "Rose"):
        person = workspace.ledger.people.named(name)
        workspace.ledger.votes.cast(1, person, VoteContent(f"{name}-vote", "correct"))
    olga = visitor("Olga")
    preview = olga.submit(f"/team/queues/{judge_queue.id}/publish").text
    assert "Publish novel?" in preview and "1 correct added" in preview
    assert "undecided and not published: 11 items of 12" in preview
    assert workspace.labels.names("digits") == ("multi@1",)
    for name in ("Rita", "Rob", "Rose"):
        person = workspace.ledger.people.named(name)
        workspace.ledger.votes.cast(2, person, VoteContent(f"{name}-second", "correct"))
    again = olga.submit(f"/team/queues/{judge_queue.id}/publish", preview=preview_of(preview)).text
    assert "The queue has changed since the preview" in again and "2 correct added" in again
    assert workspace.labels.names("digits") == ("multi@1",)
    olga.submit(f"/team/queues/{judge_queue.id}/publish", preview=preview_of(again))
    assert workspace.labels.names("digits") == ("multi@1", "multi@2")


def test_overlap_changes_after_a_preview(visitor, workspace, judge_queue):
    workspace.ledger.votes.cast(1, workspace.ledger.people.named("Rita"), VoteContent("first-vote", "correct"))
    olga, address = visitor("Olga"), f"/team/queues/{judge_queue.id}/overlap"
    preview = olga.submit(address, overlap=1).text
    assert "items need 1 vote instead of 3; of 12 items with missing votes, 1 now have enough" in preview
    assert workspace.ledger.queues.named("novel").overlap == 3
    assert olga.submit(address, overlap=1, preview=preview_of(preview)).status_code == 200
    assert workspace.ledger.queues.named("novel").overlap == 1
    assert workspace.ledger.decisions.current(1).answer == "correct"
    assert olga.submit(address, overlap=0).status_code == 422


def test_publishing_changes_the_grades(visitor, workspace, judge_queue):
    panel = [workspace.ledger.people.named(name) for name in ("Rita", "Rob", "Rose")]
    predicted = {}
    target = workspace.store.test_set("digits")
    for model in workspace.models.names("digits"):
        predicted[model] = workspace.store.predictions.read(target, model).classes[:, 0]
    items = {}
    while (item := workspace.ledger.items.next(judge_queue, panel[0])) is not None:
        items[item.id] = item
        for person in panel:
            workspace.ledger.votes.cast(item.id, person, VoteContent(f"{person.name}-{item.id}", "correct"))
    before = {row.model: row.multilabel.value for row in workspace.grade("digits", labels="multi").rows}
    page = published(visitor("Olga"), judge_queue)
    assert "multi@2: 12 correct" in page
    after = {row.model: row.multilabel.value for row in workspace.grade("digits", labels="multi").rows}
    for model, classes in predicted.items():
        gained = sum(
            str(classes[target.position_of[item.example]]) == item.class_id for item in items.values()
        )  # fmt: skip
        assert round(60 * (after[model] - before[model])) == gained
    assert {row.model: row.multilabel.value for row in workspace.grade("digits", labels="multi@1").rows} == before
    assert "nothing new" in visitor("Olga").submit(f"/team/queues/{judge_queue.id}/publish").text


@pytest.mark.usefixtures("judge_queue")
def test_export_has_all_votes_but_no_secrets(visitor, workspace):
    rita = workspace.ledger.people.named("Rita")
    workspace.ledger.votes.cast(1, rita, VoteContent("12345678", "problematic", reason="drawing"))
    olga = visitor("Olga")
    for form in ("csv", "json", "parquet"):
        answer = olga.get(f"/team/export.{form}")
        assert answer.status_code == 200
        assert f"ledger.{form}" in answer.headers["content-disposition"]
        if form == "json":
            assert [row["reason"] for row in json.loads(answer.content) if row["kind"] == "vote"] == ["drawing"]
        if form == "parquet":
            assert "vote" in pyarrow.parquet.read_table(io.BytesIO(answer.content))["kind"].to_pylist()
        assert b"argon2" not in answer.content
        assert workspace.ledger.people.named("Rita").name.encode() in answer.content
    assert olga.get("/team/export.exe").status_code == 422


def test_closing_an_account_asks_for_confirmation(workspace, server, page_of):
    page = page_of(server, "Olga")
    page.goto("/team")
    row = page.get_by_role("row").filter(has_text="Rob")
    page.once("dialog", lambda dialog: dialog.dismiss())
    row.get_by_role("button", name="Close account").click()
    accounts = workspace.ledger.accounts
    assert {member.state for member in accounts.members()} == {AccountState.JOINED}
    page.once("dialog", lambda dialog: dialog.accept())
    row.get_by_role("button", name="Close account").click()
    expect(row).to_contain_text("closed")
    closed = [member.person.name for member in accounts.members() if member.state is AccountState.CLOSED]
    assert closed == ["Rob"]
