"""Labeling at the app's Label page as a labeler does."""

from desk import ready
from playwright.sync_api import Page, expect

from regrade.workspace import Workspace


def true_class(workspace: Workspace, item_id: str, test_set: str = "digits") -> str:
    """The class that the test set gives an item."""
    target = workspace.store.test_set(test_set)
    return target.class_space.ids[target.labels[target.position_of[workspace.ledger.item(int(item_id)).example]]]


def chosen(page: Page, query: str) -> str:
    """Find a class by keyboard and look at it; says which item is asked about."""
    item = ready(page)
    page.keyboard.press("/")
    page.keyboard.type(query)
    expect(page.locator("#results [aria-selected=true]")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#chosen")).to_be_visible()
    return item


def labeled(page: Page, query: str) -> None:
    """Answer with the first class that a query finds, and wait until the next image is there."""
    item = chosen(page, query)
    page.keyboard.press("Enter")
    page.locator(f'body[data-ready="{item}"]').wait_for(state="detached")
    page.locator("body[data-ready], #done:not([hidden])").first.wait_for()
