"""Helpers to use the Label page as a labeler does."""

from playwright.sync_api import Page, expect
from work_page import ready

from regrade.workspace import Workspace


def true_class(workspace: Workspace, item_id: str, test_set: str = "digits") -> str:
    """The class of an item by the test set's label."""
    target = workspace.store.test_set(test_set)
    return target.class_space.ids[
        target.labels[target.position_of[workspace.ledger.items.with_id(int(item_id)).example]]
    ]


def chosen(page: Page, query: str) -> str:
    """Pick a class by keyboard; returns the id of the shown item."""
    item = ready(page)
    page.keyboard.press("/")
    page.keyboard.type(query)
    expect(page.locator("#results [aria-selected=true]")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#chosen")).to_be_visible()
    return item


def labeled(page: Page, query: str) -> None:
    """Answer with the first class that a query finds, and wait for the next image."""
    item = chosen(page, query)
    page.keyboard.press("Enter")
    page.locator(f'body[data-ready="{item}"]').wait_for(state="detached")
    page.locator("body[data-ready], #done:not([hidden])").first.wait_for()
