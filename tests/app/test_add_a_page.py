"""The page of docs/add-a-page.md, with its route, its template, its link in the navigation and its tests."""

import re
from pathlib import Path

import pytest
from jinja2 import ChoiceLoader, DictLoader

from regrade.app import create_app, pages
from regrade.app.routes import ROUTERS

TEXT = (Path(__file__).parents[2] / "docs" / "add-a-page.md").read_text(encoding="utf-8")
TEAM = '    {{ link("/team", "Team") }}\n'
"""The line of base.html below which the page's link goes."""


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```\n", TEXT, flags=re.DOTALL | re.MULTILINE)
    return [code for marked_as, code in fenced if marked_as == language]


def defined(code: str) -> dict:
    names: dict = {}
    exec(code, names)
    return names


ROUTE, TESTS = (defined(code) for code in blocks("python"))


@pytest.fixture
def app(workspace, monkeypatch):
    """The app with the page."""
    (template,), (_, link) = blocks("html"), blocks("")
    environment = pages._TEMPLATES
    base = (pages.HERE / "templates" / "base.html").read_text(encoding="utf-8")
    assert base.count(TEAM) == 1
    written = DictLoader({"progress.html": template, "base.html": base.replace(TEAM, TEAM + link)})
    monkeypatch.setattr(pages, "_TEMPLATES", environment.overlay(loader=ChoiceLoader([written, environment.loader])))
    monkeypatch.setattr("regrade.app.server.ROUTERS", (*ROUTERS, ROUTE["router"]))
    return create_app(workspace, local=False)


def test_page_counts_votes_and_decisions(workspace, judge_queue, visitor):
    TESTS["test_progress_counts_votes_and_decisions"](workspace, judge_queue, visitor)


def test_page_is_for_owners_only(visitor):
    TESTS["test_progress_is_for_owners_only"](visitor)


def test_page_without_queues_says_so(visitor):
    assert "There are no queues yet" in visitor("Olga").get("/progress").text


def test_every_test_of_the_page_runs_here():
    assert [name for name in TESTS if name.startswith("test_")] == [
        "test_progress_counts_votes_and_decisions",
        "test_progress_is_for_owners_only",
    ]
