"""The report in a real browser without network: reading, mouse and keyboard, phone and print."""

import io
import re
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from browser import CONTRASTS, opened
from PIL import Image
from report_world import HOSTILE, SKILLS
from skipping import skip

PHONE, DESKTOP = 360, 1280
OVERVIEW = "#table-overview"
DRAWN = ".chart[data-drawn] .vega-embed svg"


STATE = """() => JSON.stringify([
  [...document.querySelectorAll(".table")].map(table => table.innerText),
  [...document.querySelectorAll("th")].map(heading => heading.ariaSort),
  [...document.querySelectorAll("input")].map(input => input.value),
  document.querySelectorAll(".selected, .dimmed, details[open]").length,
  document.getElementById("found").textContent,
])"""
"""The state of the page that a reader can change."""

RESTORE = """() => {
  document.activeElement.blur();
  document.getElementById("finder").value = document.getElementById("found").textContent = "";
  document.querySelectorAll("details[open]").forEach(details => { details.open = false; });
  location.hash = "";
  scrollTo({top: 0, behavior: "instant"});
}"""


@pytest.fixture(scope="module")
def shared_page(browser, report_page):
    """A function that opens the page in a window of a given width; tests share the window."""
    with ExitStack() as stack:

        @cache
        def window(width):
            page = stack.enter_context(opened(browser, report_page, width=width))
            return page, page.page.evaluate(STATE)

        yield window


@contextmanager
def as_first_loaded(shared_page, width):
    """The page in its initial state, except that figures stay drawn."""
    shown, loaded_state = shared_page(width)
    yield shown
    page = shown.page
    page.mouse.move(0, 0)
    page.keyboard.press("Escape")
    page.evaluate(RESTORE)
    if page.evaluate("document.documentElement.dataset.selected"):
        settled(page, None)
    if page.evaluate(STATE) != loaded_state:
        page.reload()
    console, requests = shown.console[:], shown.requests[:]
    shown.console.clear()
    shown.requests.clear()
    assert console == []
    assert requests == []


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def shown(request, shared_page):
    with as_first_loaded(shared_page, request.param) as opened_page:
        yield opened_page


@pytest.fixture
def desktop(shared_page):
    with as_first_loaded(shared_page, DESKTOP) as opened_page:
        yield opened_page


@pytest.fixture
def phone(shared_page):
    with as_first_loaded(shared_page, PHONE) as opened_page:
        yield opened_page


@pytest.fixture
def newly_opened(browser, report_page):
    """The page in a window of its own, with no figure drawn below the first screen."""
    with opened(browser, report_page, width=DESKTOP) as opened_page:
        yield opened_page
        assert opened_page.console == []
        assert opened_page.requests == []


@pytest.fixture(scope="module")
def printed(browser, report_page, tmp_path_factory):
    """The page after it was printed, and the file of the print."""
    path = tmp_path_factory.mktemp("paper") / "report.pdf"
    with opened(browser, report_page, width=DESKTOP) as opened_page:
        draw_all(opened_page.page)
        opened_page.page.pdf(path=str(path), prefer_css_page_size=True)
        yield opened_page.page, path
        assert opened_page.console == []
        assert opened_page.requests == []


def unfold(page):
    """Open all folded parts."""
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")


def draw_all(page):
    """Scroll through the page until every figure has drawn itself."""
    unfold(page)
    if page.locator("figure").count() == page.locator(DRAWN).count():
        return
    for figure in page.locator("figure").all():
        figure.scroll_into_view_if_needed()
        figure.locator(DRAWN).wait_for()


def settled(page, name):
    page.wait_for_function("name => document.documentElement.dataset.selected === name", arg=name or "")


def text_of(path):
    """The text of a PDF."""
    if shutil.which("pdftotext") is None:
        skip("there is no pdftotext here (apt-get install poppler-utils)")
    return subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True).stdout


def first_column(page, table=OVERVIEW):
    return page.locator(f"{table} tbody td:first-child").all_inner_texts()


class TestReading:
    def test_every_figure_is_drawn_and_fits_the_screen(self, shown):
        draw_all(shown.page)
        assert shown.page.locator("figure").count() == shown.page.locator(DRAWN).count() > 8
        sizes = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        across, room = shown.page.evaluate(sizes)
        assert across <= room

    def test_no_figure_overflows_its_container(self, shown):
        draw_all(shown.page)
        fits = shown.page.locator(".chart").evaluate_all("all => all.map(one => one.scrollWidth <= one.clientWidth)")
        assert fits
        assert all(fits)

    def test_all_text_has_enough_contrast(self, shown):
        draw_all(shown.page)
        shown.page.locator("#finder").fill("good")
        settled(shown.page, "good")
        contrasts = shown.page.evaluate(CONTRASTS)
        assert len(contrasts) > 300
        assert [contrast for contrast in contrasts if contrast["ratio"] < contrast["needed"]] == []

    @pytest.mark.parametrize("media", ["screen", "print"])
    def test_all_text_has_enough_contrast_for_readers_who_prefer_dark(self, desktop, media):
        page = desktop.page
        draw_all(page)
        page.locator("#finder").fill("good")
        settled(page, "good")
        page.emulate_media(color_scheme="dark", media=media)
        contrasts = page.evaluate(CONTRASTS)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        filters = page.evaluate(
            "[...new Set([...document.querySelectorAll('.chart svg')].map(svg => getComputedStyle(svg).filter))]"
        )
        page.emulate_media(color_scheme="light", media="screen")
        assert len(contrasts) > 300
        assert [contrast for contrast in contrasts if contrast["ratio"] < contrast["needed"]] == []
        if media == "print":
            assert (background, filters) == ("rgb(255, 255, 255)", ["none"])
        else:
            assert (background, filters) == ("rgb(20, 23, 27)", ["invert(0.93) hue-rotate(180deg)"])

    def test_dark_figures_have_the_background_of_the_page_and_light_marks(self, desktop):
        """The pixels of the first figure, as the tests of contrast compute with the filter rather than see it."""
        page = desktop.page
        chart = page.locator("figure").first.locator(".chart")
        chart.scroll_into_view_if_needed()
        chart.locator("svg").first.wait_for()
        page.emulate_media(color_scheme="dark")
        image = Image.open(io.BytesIO(chart.screenshot())).convert("RGB")
        page.emulate_media(color_scheme="light")
        colors = {color: count for count, color in image.getcolors(1 << 24)}
        assert max(colors, key=colors.get) == image.getpixel((1, 1)) == (20, 23, 27)
        assert min(map(min, colors)) >= 18  # no mark is darker than the page
        assert any(np.abs(np.subtract(color, (0x4B, 0xAD, 0xE4))).max() <= 2 for color in colors)  # COLORS[0], filtered

    def test_tooltips_are_readable_in_both_schemes(self, desktop):
        page = desktop.page
        unfold(page)
        figure = page.locator("figure#figure-grade-new")
        figure.scroll_into_view_if_needed()
        figure.locator(DRAWN).wait_for()
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            figure.locator(".mark-symbol.role-mark > path").first.hover()
            page.locator("#vg-tooltip-element.visible").wait_for()
            contrasts = page.evaluate(CONTRASTS)
            assert any(contrast["text"] == "accuracy" for contrast in contrasts)
            assert [contrast for contrast in contrasts if contrast["ratio"] < contrast["needed"]] == []
            page.mouse.move(0, 0)

    def test_key_findings_come_first_and_lead_to_their_evidence(self, shown):
        page = shown.page
        assert page.locator("h1").inner_text() == "All there is"
        top = "one => one.getBoundingClientRect().top"
        first = page.locator("#findings").evaluate(top)
        assert all(first < chapter.evaluate(top) for chapter in page.locator(".chapter").all())
        if page.viewport_size["width"] == PHONE:
            assert first < page.locator(".contents").evaluate(top)
        findings = page.locator("#findings li")
        assert 3 <= findings.count() <= 7
        for link in findings.locator("a").all():
            target = page.locator(f"[id='{link.get_attribute('href')[1:]}']")
            headline = link.locator("xpath=ancestor::li").locator("h3").inner_text()
            assert headline in target.inner_text()

    def test_headings_have_no_gaps(self, desktop):
        levels = desktop.page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))

    def test_images_and_figures_have_text_alternatives(self, desktop):
        page = desktop.page
        assert page.locator(".gallery img").count() >= 24
        assert page.locator(".gallery img").evaluate_all("all => all.every(one => one.alt)")
        assert page.locator(".chart").evaluate_all("all => all.every(one => one.ariaLabel)")
        for image in page.locator(".gallery img").all()[:3]:
            image.scroll_into_view_if_needed()
            assert image.evaluate("one => one.decode().then(() => one.naturalWidth)") == 32

    def test_contents_mark_the_current_section(self, desktop):
        page = desktop.page
        links = page.locator(".contents li li a")
        assert links.count() >= 6
        for link in links.all():
            link.click()
            page.wait_for_function(
                "href => document.querySelector('.contents a[aria-current]').getAttribute('href') === href",
                arg=link.get_attribute("href"),
            )
            assert page.locator(".contents a[aria-current]").count() == 1

    def test_contents_stay_in_view_on_a_wide_screen(self, desktop):
        desktop.page.evaluate("scrollTo({top: 5000, behavior: 'instant'})")
        assert desktop.page.locator(".contents").is_visible()
        assert -1 <= desktop.page.locator(".contents").evaluate("one => one.getBoundingClientRect().top") <= 1

    def test_page_is_complete_without_scripts(self, browser, report_page):
        with opened(browser, report_page, width=DESKTOP, script=False) as opened_page:
            page = opened_page.page
            assert page.locator(".still svg, .still img").count() == page.locator("figure").count()
            assert page.locator(f"{OVERVIEW} tbody tr").count() == 20
            assert "The first 20 of 26 rows; all of them are in tables/overview.csv." in page.inner_text("body")
            assert not page.locator("#finder").is_visible()
            assert not page.locator(".tools").first.is_visible()


class TestSelection:
    def test_searched_model_is_highlighted_everywhere(self, desktop):
        page = desktop.page
        draw_all(page)
        page.locator("#finder").fill("poor")
        settled(page, "poor")
        dimmed, highlighted = page.locator(".chart .dimmed").count(), page.locator(".chart text.selected").count()
        assert dimmed > 100
        assert highlighted >= 5
        for figure in page.locator("figure:has(text.selected)").all():
            assert figure.locator(".dimmed").count() > 0
        assert first_column(page)[0] == "poor"
        rows = page.locator("tr.selected")
        assert rows.count() >= 8
        assert all("poor" in row.inner_text() for row in rows.all())

    def test_figure_dims_marks_of_other_models(self, desktop):
        page = desktop.page
        unfold(page)
        figure = page.locator("figure#figure-comparison-old")
        figure.scroll_into_view_if_needed()
        figure.locator(DRAWN).wait_for()
        page.locator("#finder").fill("fair")
        settled(page, "fair")
        names = (
            "figure => [...figure.querySelectorAll('.mark-symbol.role-mark > path')]"
            ".filter(one => !one.classList.contains('dimmed')).map(one => one.__data__.datum.model)"
        )
        assert figure.evaluate(names) == ["fair"]

    def test_clicking_a_mark_toggles_its_model(self, desktop):
        page = desktop.page
        unfold(page)
        figure = page.locator("figure#figure-grade-new")
        figure.scroll_into_view_if_needed()
        figure.locator(DRAWN).wait_for()
        mark = figure.locator(".mark-symbol.role-mark > path").first
        name = mark.evaluate("one => one.__data__.datum.model")
        mark.click()
        settled(page, name)
        assert page.locator("#finder").input_value() == name
        mark.click()
        settled(page, None)
        assert page.locator(".dimmed, tr.selected").count() == 0

    def test_clicking_an_axis_name_selects_the_model(self, desktop):
        page = desktop.page
        unfold(page)
        figure = page.locator("figure#figure-grade-new")
        figure.scroll_into_view_if_needed()
        figure.locator(DRAWN).wait_for()
        figure.locator(".role-axis-label text", has_text="poor").click()
        settled(page, "poor")

    def test_keyboard_selects_a_name_in_a_table_and_escape_clears(self, desktop):
        page = desktop.page
        name = page.locator(f"{OVERVIEW} tbody .name", has_text="good").first
        name.focus()
        page.keyboard.press("Enter")
        settled(page, "good")
        assert "good is highlighted in all figures" in page.locator("#found").inner_text()
        page.keyboard.press("Escape")
        settled(page, None)
        assert page.locator("#found").inner_text() == ""
        assert page.locator("#finder").input_value() == ""

    def test_finder_accepts_parts_of_names_and_reports_unknown_ones(self, desktop):
        page = desktop.page
        page.locator("#finder").fill("wor")
        page.keyboard.press("Enter")
        settled(page, "worst")
        page.locator("#clear").click()
        settled(page, None)
        page.locator("#finder").fill("nobody")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.getElementById('found').textContent === 'No model is called nobody.'")

    def test_figure_drawn_later_shows_the_selection(self, newly_opened):
        page = newly_opened.page
        page.locator("#finder").fill("poor")
        settled(page, "poor")
        figure = page.locator("figure#figure-similarity-old")
        assert figure.locator(DRAWN).count() == 0
        figure.scroll_into_view_if_needed()
        figure.locator(".dimmed").first.wait_for()

    def test_tooltip_shows_the_numbers_of_a_model(self, desktop):
        page = desktop.page
        unfold(page)
        figure = page.locator("figure#figure-grade-new")
        figure.scroll_into_view_if_needed()
        figure.locator(DRAWN).wait_for()
        mark = figure.locator(".mark-symbol.role-mark > path").first
        mark.hover()
        page.locator("#vg-tooltip-element.visible").wait_for()
        tooltip = page.locator("#vg-tooltip-element").inner_text()
        assert mark.evaluate("one => one.__data__.datum.model") in tooltip
        assert re.search(r"\d\d\.\d% \[\d\d\.\d, \d\d\.\d\]", tooltip)

    def test_hostile_names_are_inert(self, desktop):
        page = desktop.page
        draw_all(page)
        page.locator("#finder").fill(HOSTILE)
        settled(page, HOSTILE)
        assert first_column(page)[0] == HOSTILE
        assert page.locator("img[onerror]").count() == 0


class TestTables:
    def test_a_heading_sorts_down_up_and_back(self, shown):
        page = shown.page
        before = first_column(page)
        heading = page.locator(f"{OVERVIEW} th").nth(1)
        values = "rows => rows.map(row => parseFloat(row.cells[1].textContent))"
        for order, sign in (("descending", -1), ("ascending", 1)):
            heading.locator("button").focus()
            page.keyboard.press("Enter")
            page.wait_for_function(
                "order => document.querySelector('#table-overview th:nth-child(2)').ariaSort === order", arg=order
            )
            numbers = page.locator(f"{OVERVIEW} tbody tr").evaluate_all(values)
            assert numbers == sorted(numbers, key=lambda number, sign=sign: sign * number)
        heading.locator("button").click()
        page.wait_for_function("() => document.querySelector('#table-overview th:nth-child(2)').ariaSort === 'none'")
        assert first_column(page) == before

    def test_names_sort_by_letters(self, desktop):
        page = desktop.page
        page.locator(f"{OVERVIEW} th").first.locator("button").click()
        page.wait_for_function("() => document.querySelector('#table-overview th').ariaSort === 'ascending'")
        names = first_column(page)
        assert [name for name in names if name.isalnum() or "-" in name][:3] == ["alike", "extra-00", "extra-01"]

    def test_filter_keeps_matching_rows_and_counts_them(self, shown):
        page = shown.page
        page.locator(f"{OVERVIEW} input").fill("EXTRA-1")
        page.wait_for_function("() => document.querySelector('#table-overview output').textContent === '10 of 26 rows'")
        assert all(name.startswith("extra-1") for name in first_column(page))
        page.locator(f"{OVERVIEW} input").fill("")
        page.wait_for_function("() => document.querySelector('#table-overview output').textContent === '26 rows'")

    def test_all_rows_are_shown_on_demand(self, shown):
        page = shown.page
        assert len(first_column(page)) == 20
        page.locator(f"{OVERVIEW} .all").click()
        page.wait_for_function("() => document.querySelectorAll('#table-overview tbody tr').length === 26")
        page.locator(f"{OVERVIEW} .all").click()
        page.wait_for_function("() => document.querySelectorAll('#table-overview tbody tr').length === 20")

    def test_selected_model_beyond_the_first_rows_is_shown(self, desktop):
        page = desktop.page
        last = next(name for name in ("extra-00", "extra-01") if name not in first_column(page))
        page.locator("#finder").fill(last)
        settled(page, last)
        assert first_column(page)[0] == last

    def test_on_a_phone_the_table_scrolls_and_the_page_does_not(self, phone):
        unfold(phone.page)
        box = phone.page.locator("#table-comparison-old .scroll")
        assert box.evaluate("one => one.scrollWidth > one.clientWidth")
        box.focus()
        assert box.evaluate("one => one === document.activeElement")


class TestControls:
    def test_every_control_has_a_name_and_shows_its_focus(self, newly_opened):
        page = newly_opened.page
        controls = page.locator("button:visible, input:visible, a:visible, summary:visible")
        nameless = (
            "all => all.filter(one => !(one.textContent.trim() || one.labels?.[0]?.textContent.trim()))"
            ".map(one => one.outerHTML)"
        )
        assert controls.evaluate_all(nameless) == []
        page.keyboard.press("Tab")
        outline = (
            "(({outlineStyle, outlineWidth}) => outlineStyle + outlineWidth)(getComputedStyle(document.activeElement))"
        )
        seen = set()
        for _ in range(12):
            assert page.evaluate(outline) == "solid3px"
            seen.add(page.evaluate("document.activeElement.outerHTML.slice(0, 60)"))
            page.keyboard.press("Tab")
        assert len(seen) > 5

    def test_reduced_motion_is_respected(self, newly_opened):
        page = newly_opened.page
        how = "getComputedStyle(document.documentElement).scrollBehavior"
        assert page.evaluate(how) == "smooth"
        page.emulate_media(reduced_motion="reduce")
        assert page.evaluate(how) == "auto"

    def test_linked_files_exist(self, desktop, report_page):
        links = desktop.page.locator(".files a, .note a").evaluate_all(
            "all => all.map(one => one.getAttribute('href'))"
        )
        assert len(links) > 50
        anchors = [link for link in links if link.startswith("#")]
        assert "#checks" in anchors and all(desktop.page.locator(anchor).count() == 1 for anchor in anchors)
        assert [link for link in links if link not in anchors and not (report_page.parent / link).is_file()] == []


class TestPrint:
    def test_print_has_findings_figures_and_notes_without_controls(self, printed):
        page, path = printed
        flat = " ".join(text_of(path).split())
        for headline in page.locator("#findings h3").all_inner_texts():
            assert headline in flat
        assert "The first 20 of 26 rows; all of them are in tables/overview.csv." in flat
        assert "rank ranges are simultaneous for all models, with 95% confidence" in flat
        for control in ("Find a model", "Show all", "Contents", "Filter", "See the evidence"):
            assert control not in flat
        for model in SKILLS:
            if model != HOSTILE:
                assert model in flat

    def test_folded_parts_are_closed_again_after_printing(self, newly_opened):
        page = newly_opened.page
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details:not([open])").count() == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details[open]").count() == 0

    def test_no_figure_is_split_over_pages(self, newly_opened):
        page = newly_opened.page
        page.emulate_media(media="print")
        laid_out = "all => all.map(one => [getComputedStyle(one).breakInside, one.getBoundingClientRect().height])"
        figures = page.locator("figure").evaluate_all(laid_out)
        assert figures
        for break_inside, height in figures:
            assert break_inside == "avoid"
            assert height < 257 / 25.4 * 96


class TestFolding:
    def test_a_link_opens_the_folded_part_of_its_target(self, newly_opened):
        page = newly_opened.page
        folded = page.locator("details.fold:not([open]) > section.part").first
        anchor = folded.get_attribute("id")
        assert not folded.is_visible()
        page.locator(f'.contents a[href="#{anchor}"]').click()
        page.locator(f"#{anchor}").wait_for(state="visible")
        page.wait_for_function(
            "id => document.getElementById(id).getBoundingClientRect().top < innerHeight", arg=anchor
        )

    def test_folded_parts_are_opened_with_the_keyboard(self, newly_opened):
        page = newly_opened.page
        page.locator("details.fold > summary").first.focus()
        page.keyboard.press("Enter")
        assert page.locator("details.fold").first.get_attribute("open") is not None

    def test_most_of_the_page_is_folded(self, newly_opened):
        page, height = newly_opened.page, "document.documentElement.scrollHeight"
        folded = page.evaluate(height)
        unfold(page)
        assert folded < page.evaluate(height) / 2

    def test_a_wide_table_shows_that_it_scrolls_until_its_end(self, phone):
        page = phone.page
        table = page.locator(OVERVIEW)
        assert table.locator(".sideways").is_visible()
        assert "more" in table.locator(".frame").get_attribute("class")
        table.locator(".scroll").evaluate("region => { region.scrollLeft = region.scrollWidth; }")
        page.wait_for_function(f"() => !document.querySelector('{OVERVIEW} .frame').classList.contains('more')")
        table.locator(".scroll").evaluate("region => { region.scrollLeft = 0; }")
