"""Helpers to use the work pages as a reviewer does, and to read the votes in the ledger."""

from browser import CONTRASTS
from playwright.sync_api import Page
from sqlalchemy import select

from regrade.ledger import Queue
from regrade.ledger.schema import item
from regrade.workspace import Workspace

PASSWORD = "correct horse battery"
"""The password of everyone in these tests."""


def ready(page: Page) -> str:
    """Wait until the shown image accepts an answer, and return its item id."""
    page.locator("body[data-ready]").wait_for(state="attached")
    return page.locator("body").get_attribute("data-ready") or ""


def answered(page: Page, key: str) -> None:
    """Press a key for the shown image once it accepts an answer, and wait for the next image."""
    before = ready(page)
    page.keyboard.press(key)
    page.locator(f'body[data-ready="{before}"]').wait_for(state="detached")
    page.locator("body[data-ready], #done:not([hidden])").first.wait_for()


def saved(page: Page) -> None:
    """Wait until the server has every answer."""
    page.locator('body[data-unsent="0"]').wait_for(state="attached")


def answers(workspace: Workspace, name: str) -> dict[tuple[str, str], str]:
    """A person's current answers, by image and class."""
    votes = [row for row in workspace.ledger.rows() if row["kind"] == "vote" and row["person"] == name]
    last = {(row["example"], row["class"]): row["answer"] for row in votes}
    return {item: answer for item, answer in last.items() if answer is not None}


def item_numbers(workspace: Workspace, queue: Queue) -> list[int]:
    """The ids of a queue's items, in order."""
    query = select(item.c.id).where(item.c.queue_id == queue.id).order_by(item.c.place)
    with workspace.ledger.engine.connect() as connection:
        return list(connection.execute(query).scalars())


def faint_texts(page: Page) -> list[tuple[str, dict]]:
    """Texts with less contrast than WCAG AA requires, in light and dark mode, each with its scheme."""
    faint = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # colors change at once
        faint += [(scheme, text) for text in page.evaluate(CONTRASTS) if text["ratio"] < text["needed"]]
    return faint
