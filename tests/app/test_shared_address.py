"""Two workspaces served at the same address, one after the other: their browser storage stays separate."""

import shutil
from dataclasses import dataclass

import pytest
from browser import new_window
from panel_votes import cast_votes
from playwright.sync_api import BrowserContext, expect
from unsteady_network import Failure, UnsteadyNetwork, hurry
from work_page import answered, item_numbers, ready, saved

import regrade
from regrade.app import create_app
from regrade.app.sessions import Sessions
from regrade.workspace import Workspace


def votes(workspace: Workspace) -> list[str]:
    return [row["answer"] for row in workspace.ledger.rows() if row["kind"] == "vote"]


@dataclass
class SharedAddress:
    """An address at which one workspace is served at a time, and a browser in which Rita is signed in to both."""

    workspaces: list[Workspace]
    apps: list
    network: UnsteadyNetwork
    context: BrowserContext

    def serve(self, number: int) -> None:
        self.network.steady()
        self.network.app = self.apps[number]

    def open(self, path: str):
        page = self.context.new_page()
        page.goto(path)
        return page


@pytest.fixture
def shared_address(workspace, judge_queue, tmp_path, browser, serve_app):
    """The second workspace is a copy of the first: people, queues and items have the same ids in both."""
    assert judge_queue in workspace.ledger.queues.all()
    workspace.ledger.engine.dispose()
    shutil.copytree(workspace.store.root, tmp_path / "copy")
    workspaces = [regrade.open(workspace.store.root), regrade.open(tmp_path / "copy")]
    apps = [create_app(each, local=False) for each in workspaces]
    network = UnsteadyNetwork(apps[0])
    address = serve_app(network)
    context = new_window(browser, base_url=address, viewport={"width": 1280, "height": 800})
    for each in workspaces:
        sessions = Sessions(each.ledger.accounts)
        cookie = sessions.cookie_for(each.ledger.people.named("Rita"))
        context.add_cookies([{"name": sessions.cookie_name, "value": cookie, "url": address, "httpOnly": True}])
    yield SharedAddress(workspaces, apps, network, context)
    context.close()
    for each in workspaces:
        each.ledger.engine.dispose()


def test_unsent_votes_are_sent_to_their_own_ledger(shared_address, judge_queue):
    first, second = shared_address.workspaces
    page = shared_address.open(f"/judge/{judge_queue.id}")
    ready(page)
    shared_address.network.failures = [Failure("/votes$")]
    answered(page, "c")
    page.keyboard.press("w")
    expect(page.locator("body")).to_have_attribute("data-unsent", "2")
    page.close()
    shared_address.serve(1)
    page = shared_address.open(f"/judge/{judge_queue.id}")
    ready(page)
    expect(page.locator("body")).to_have_attribute("data-unsent", "0")
    answered(page, "u")
    saved(page)
    assert votes(second) == ["unclear"]
    page.close()
    shared_address.serve(0)
    page = shared_address.open("/")
    saved(page)
    assert (votes(first), votes(second)) == (["correct", "wrong"], ["unclear"])


def test_open_page_of_another_ledger_sends_and_reads_nothing(shared_address, judge_queue):
    first, second = shared_address.workspaces
    page = shared_address.open(f"/judge/{judge_queue.id}")
    item = ready(page)
    shared_address.serve(1)
    page.keyboard.press("c")
    expect(page.locator("#notice")).to_contain_text("loaded from another workspace")
    expect(page.locator("body")).to_have_attribute("data-unsent", "1")
    hurry(page)
    expect(page.locator("#notice")).to_contain_text("kept in this browser")
    assert votes(second) == []
    shared_address.serve(0)
    hurry(page)
    saved(page)
    assert (votes(first), votes(second)) == (["correct"], [])
    assert ready(page) != item


def test_comment_draft_stays_in_its_workspace(shared_address, judge_queue):
    for each in shared_address.workspaces:
        item = item_numbers(each, judge_queue)[0]
        cast_votes(each, item, Rita="correct", Rob="wrong", Rose="unclear")
    page = shared_address.open(f"/panel/{judge_queue.id}/{item}")
    page.locator("#text").fill("the stroke is too long")
    shared_address.serve(1)
    page.reload()
    expect(page.locator("#discussion")).to_be_visible()
    expect(page.locator("#text")).to_have_value("")
    shared_address.serve(0)
    page.reload()
    expect(page.locator("#text")).to_have_value("the stroke is too long")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_request_of_another_ledger_is_refused(visitor, judge_queue, workspace, method):
    rita = visitor("Rita")
    headers = {"X-Regrade-Token": rita.token, "X-Regrade-Ledger": "0123456789abcdef"}
    if method == "GET":
        reply = rita.get(f"/api/queues/{judge_queue.id}/next", headers=headers)
    else:
        vote = {"item": item_numbers(workspace, judge_queue)[0], "key": "another-ledger", "answer": "correct"}
        reply = rita.post(f"/api/queues/{judge_queue.id}/votes", json=vote, headers=headers)
    assert reply.status_code == 403
    assert "another workspace" in reply.json()["error"]
    assert votes(workspace) == []
