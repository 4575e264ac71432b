"""Explore in a real browser: from a number to its images, to one image, to its class, and back."""

import re

from playwright.sync_api import expect
from work_page import faint_texts


def test_links_lead_from_a_number_to_images_image_and_class(workspace, server, page_of):
    page = page_of(server, "Rita")
    page.goto("/")
    page.get_by_role("link", name="Explore").click()
    expect(page.get_by_role("heading", name="Explore digits")).to_be_visible()
    page.get_by_label("Labels").select_option("multi@1")
    expect(page).to_have_url(re.compile(r"labels=multi%401"))
    row = page.get_by_role("row").filter(has_text="gamma")
    wrong = next(row for row in workspace.grade("digits").rows if row.model == "gamma").top1
    row.get_by_role("link", name=f"{100 * wrong.value:.1f}").first.click()
    expect(page.locator("#count")).to_have_text(f"{round(wrong.n * (1 - wrong.value))} images")
    grid = page.url
    page.locator(".grid a").nth(1).click()
    expect(page.locator("#image")).to_be_visible()
    expect(page.locator("#image")).to_have_js_property("naturalWidth", 8)
    first = page.locator("h1").inner_text()
    page.keyboard.press("j")
    expect(page.locator("h1")).not_to_have_text(first)
    page.keyboard.press("k")
    expect(page.locator("h1")).to_have_text(first)
    page.locator(".facts a").first.click()
    expect(page.get_by_role("heading", name="Hardest images")).to_be_visible()
    for _ in range(4):
        page.go_back()
    expect(page).to_have_url(grid)
    expect(page.locator(".chosen")).to_contain_text("wrong for gamma")
    page.go_back()
    expect(page.get_by_label("Labels")).to_have_value("multi@1")


def test_filters_are_set_by_form_and_removed_by_chip(server, page_of):
    page = page_of(server, "Rita")
    page.goto("/explore/images?set=digits")
    page.get_by_label("Model", exact=True).fill("gamma")
    page.get_by_label("Its prediction is").first.select_option("wrong")
    page.get_by_label("Another model").fill("alpha")
    page.get_by_label("Its prediction is").nth(1).select_option("right")
    page.get_by_label("Another model").press("Enter")
    expect(page).to_have_url(re.compile(r"\?set=digits&model=gamma&outcome=wrong&other=alpha&other_outcome=right$"))
    both = int(page.locator("#count").inner_text().split()[0])
    page.get_by_role("link", name="right for alpha").click()
    expect(page.locator(".chosen li")).to_have_count(1)
    assert int(page.locator("#count").inner_text().split()[0]) >= both


def test_image_is_zoomed_by_keyboard(server, page_of):
    page = page_of(server, "Rita")
    page.goto("/explore/image?set=digits&image=3")
    expect(page.locator("#image.tiny")).to_have_count(1)
    page.keyboard.press("+")
    assert "scale" in page.locator("#image").evaluate("image => image.style.transform")
    page.keyboard.press("0")
    assert page.locator("#image").evaluate("image => image.style.transform") == ""


PAGES = (
    "/explore?set=digits&labels=multi", "/explore/images?set=digits&model=gamma&outcome=wrong",
    "/explore/image?set=digits&image=3&labels=multi", "/explore/class?set=digits&class=3", "/explore?set=reference",
)  # fmt: skip


def test_explore_pages_are_legible_and_fit_a_phone(server, page_of):
    page = page_of(server, "Rita", width=360)
    for address in PAGES:
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address
        assert faint_texts(page) == [], address


def test_plot_points_link_to_images(server, page_of):
    page = page_of(server, "Rita")
    page.goto("/explore?set=digits&models=gamma")
    page.locator(".mark circle").first.click()
    expect(page.locator(".chosen")).to_contain_text("wrong for gamma")
