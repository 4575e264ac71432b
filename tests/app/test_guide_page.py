"""The guide in a real browser: editing, concurrent edits, history, and hostile text."""

import pytest
from hostile_markdown import HOSTILE
from playwright.sync_api import expect
from work_page import faint_texts

from regrade.ledger import GuideText

THREE = "/guide/digits/3"


@pytest.fixture
def guide(workspace):
    return workspace.ledger.guide


@pytest.fixture
def entry(workspace, guide):
    text = GuideText("Two bows, **open** to the left.", ("two bows",), (), ("8",))
    return guide.write("digits", "3", text, workspace.ledger.people.named("Rita"), replaces=None)


def test_reviewer_writes_an_entry_and_labeler_reads_it(workspace, guide, server, page_of):
    page = page_of(server, "Rita")
    page.goto("/guide")
    page.locator("#search").fill("3")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Write the entry").click()
    page.get_by_label("Distinguishing traits").fill("two bows\nopen to the left")
    page.locator("#text").fill("Has **no** loop.\n\n- like an E\n- mirrored")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#previewed strong")).to_have_text("no")
    page.locator("#search").fill("8")
    page.keyboard.press("Enter")
    expect(page.locator("#chips li")).to_have_text(["8×"])
    page.get_by_label("Examples").fill(f"reference/{workspace.store.test_set('reference').ids[3]}")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="3", exact=True)).to_be_visible()
    saved = guide.entry("digits", "3").content
    assert saved.traits == ("two bows", "open to the left")
    assert saved.alike == ("8",)
    assert saved.examples == (("reference", workspace.store.test_set("reference").ids[3]),)
    reader = page_of(server, "Leo")
    reader.goto("/guide")
    reader.get_by_role("link", name="3", exact=True).click()
    expect(reader.locator(".prose strong")).to_have_text("no")
    expect(reader.locator(".traits li")).to_have_text(["two bows", "open to the left"])
    expect(reader.get_by_role("img", name="Example of 3")).to_be_visible()
    expect(reader.get_by_role("link", name="8")).to_be_visible()
    expect(reader.get_by_role("link", name="Edit")).to_have_count(0)


def test_search_waits_for_the_classes(server, page_of):
    page, held = page_of(server, "Rita"), []

    def hold(route):
        held.append(route)

    page.route("**/api/classes/**", hold)
    with page.expect_request("**/api/classes/**"):
        page.goto("/guide", wait_until="commit")
    expect(page.locator("#search")).to_be_disabled()
    held[0].continue_()
    page.locator("#search").fill("3")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="3", exact=True)).to_be_visible()


def test_concurrent_edits_lose_no_text(guide, entry, server, page_of):
    rita, rob = page_of(server, "Rita"), page_of(server, "Rob")
    for page, text in ((rita, "Rita's words"), (rob, "Rob's words")):
        page.goto(f"{THREE}/edit")
        page.locator("#text").fill(text)
        page.get_by_label("Reason for the change").fill(f"so says {text}")
    for page in (rita, rob):
        page.get_by_role("button", name="Save").click()
    expect(rob.get_by_role("heading", name="Rita changed this entry meanwhile")).to_be_visible()
    expect(rob.locator("pre.theirs")).to_have_text("Rita's words")
    expect(rob.locator("#text")).to_have_value("Rob's words")
    expect(rob.get_by_label("Reason for the change")).to_have_value("so says Rob's words")
    assert guide.entry("digits", "3").content.text == "Rita's words"
    rob.locator("#text").fill("Both their words")
    rob.get_by_role("button", name="Save").click()
    expect(rob.locator(".prose")).to_have_text("Both their words")
    texts = [revision.content.text for revision in guide.history("digits", "3")]
    assert texts == ["Both their words", "Rita's words", entry.content.text]


def test_history_shows_changes_and_restores_a_revision(workspace, guide, entry, server, page_of):
    rob = workspace.ledger.people.named("Rob")
    guide.write("digits", "3", GuideText("Two bows, closed."), rob, replaces=entry.id, why="a slip")
    page = page_of(server, "Rita")
    page.goto(THREE)
    page.get_by_role("link", name="History").click()
    newest = page.locator(".edits li").first
    expect(newest).to_contain_text("Rob")
    expect(newest).to_contain_text("a slip")
    expect(newest.locator("ins").first).to_have_text("closed.")
    expect(newest.locator("del").filter(has_text="**open**")).to_have_count(1)
    page.get_by_role("button", name="Restore this revision").click()
    expect(page.locator(".edits li")).to_have_count(3)
    revisions = guide.history("digits", "3")
    assert revisions[0].content == entry.content
    assert (revisions[0].by, revisions[0].replaces) == ("Rita", revisions[1].id)
    assert revisions[0].why.startswith("as Rita had it on")


def test_hostile_text_does_not_run(workspace, guide, server, page_of):
    everything = "\n\n".join(HOSTILE)
    text = GuideText(everything, HOSTILE[:3], (), ())
    first = guide.write("digits", "3", text, workspace.ledger.people.named("Rita"), replaces=None)
    changed = GuideText(f"{everything}\n\nmore", text.traits, (), ())
    guide.write("digits", "3", changed, workspace.ledger.people.named("Rita"), replaces=first.id, why=HOSTILE[0])
    workspace.review.queue_labels("digits", size=5, name="exam")
    queue = workspace.ledger.queues.named("exam")
    page = page_of(server, "Rita")
    messages, requested = [], []
    page.on("dialog", lambda dialog: (messages.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda message: messages.append(message.text))
    page.on("request", lambda request: requested.append(request.url))
    for address in ("/guide", THREE, f"{THREE}/edit", f"{THREE}/history", f"/label/{queue.id}"):
        page.goto(address)
        if address.endswith("/edit"):
            page.get_by_role("button", name="Preview").click()
            expect(page.locator("#previewed")).to_contain_text("more")
        if address.startswith("/label"):
            page.get_by_role("treeitem", name="3", exact=True).click()
            expect(page.locator("#sides .prose")).to_contain_text("more")
        page.wait_for_load_state("networkidle")
        main = page.locator("main")
        for selector in (
            "script",
            "iframe",
            "svg",
            "style",
            "img[src^='http']",
            "img[src='x']",
            "[onerror]",
            "[onload]",
        ):
            assert main.locator(selector).count() == 0, (address, selector)
        links = main.locator("a").evaluate_all("all => all.map((link) => link.getAttribute('href'))")
        assert all(link is None or link.startswith(("/guide", "/images", "/", "https://example.org")) for link in links)
        assert not [link for link in links if link and (link.startswith("//") or link == "/team")]
    assert messages == []
    assert all(url.startswith(server.address) for url in requested)


def test_browser_rebuilds_html_from_allowed_elements(server, page_of):
    """Defense in depth: the browser filters the server's HTML again."""
    page = page_of(server, "Rita")
    page.goto("/guide")
    html = (
        '<p onclick="x()">a<script>alert(1)</script><img src=x onerror=alert(1)></p>'
        '<a href="javascript:x">b</a><a href="https://example.org" onclick="x()">c</a><svg onload="x()"></svg>'
    )
    built = page.evaluate(
        """async (html) => {
          const { safeNodes } = await import("/static/guide_block.js");
          const place = document.createElement("div");
          place.append(...safeNodes(html));
          return place.innerHTML;
        }""",
        html,
    )
    link = '<a href="https://example.org" target="_blank" rel="noopener noreferrer nofollow">c</a>'
    assert built == f"<p>aalert(1)</p><a>b</a>{link}"


def test_judge_page_shows_the_guide_entry(judge_queue, workspace, guide, server, page_of):
    rita = workspace.ledger.people.named("Rita")
    for number in range(10):
        guide.write("digits", str(number), GuideText("Look **closely**."), rita, replaces=None)
    page = page_of(server, "Rita")
    page.goto(f"/judge/{judge_queue.id}")
    page.locator("#entry summary").click()
    expect(page.locator("#entry strong")).to_have_text("closely")


@pytest.mark.parametrize("width", [360, 1280])
def test_pages_can_be_read_and_fit_their_window(workspace, entry, server, page_of, width):
    longer, rob = GuideText("Two bows.", ("a" * 90,)), workspace.ledger.people.named("Rob")
    workspace.ledger.guide.write("digits", "3", longer, rob, replaces=entry.id, why="x")
    workspace.review.queue_labels("digits", size=5, mode="training", name="learn")
    queue = workspace.ledger.queues.named("learn")
    page = page_of(server, "Rita", width=width)
    for address in ("/guide", THREE, f"{THREE}/edit", f"{THREE}/history", f"/label/{queue.id}", "feedback"):
        if address != "feedback":
            page.goto(address)
        else:
            page.get_by_role("treeitem", name="3", exact=True).click()
            page.locator("body[data-ready]").wait_for()
            page.get_by_role("button", name="It is this").click()
            expect(page.locator("#outcome")).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        assert faint_texts(page) == [], address
