"""Deciding about pairs in a real browser: by keyboard and mouse, with comparison, undo, skips and unreadable images."""

import numpy as np
import pytest
from page_reader import parse_page
from pair_world import open_pair_queue
from panel_votes import cast_votes
from PIL import Image
from playwright.sync_api import expect
from work_page import answered, answers, faint_texts, item_numbers, ready, saved

from regrade.ledger import Question


@pytest.fixture
def pair_queue(workspace):
    return open_pair_queue(workspace)


@pytest.fixture
def broken_queue(workspace, tmp_path):
    """A pair whose second image is not an image any more."""
    Image.fromarray(np.full((40, 40, 3), 90, dtype=np.uint8)).save(tmp_path / "0.png")
    (tmp_path / "spare.csv").write_text("path,label\n0.png,1\n")
    workspace.testsets.add("spare", tmp_path / "spare.csv", classes="digits")
    (tmp_path / "0.png").write_bytes(b"no image")
    return open_pair_queue(workspace, count=1, against="spare")


@pytest.mark.usefixtures("pair_queue")
@pytest.mark.parametrize("name", ["Rita", "Leo"])
def test_reviewers_and_labelers_decide_by_keyboard_and_mouse(workspace, server, page_of, name):
    page = page_of(server, name)
    page.goto("/")
    page.get_by_role("link", name="Begin with v2 pairs").click()
    expect(page.locator("#count")).to_have_text("1")
    ready(page)
    heights = [page.locator(place).bounding_box()["height"] for place in ("#image", "#second")]
    assert heights[0] == heights[1] > 100
    for key in "dn":
        answered(page, key)
    answered(page, "f")
    ready(page)
    page.get_by_role("button", name="Duplicate").click()
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    saved(page)
    assert sorted(answers(workspace, name).values()) == ["different", "different", "duplicate", "duplicate"]
    assert page.get_by_role("link", name="To discuss").count() == (name == "Rita")


def test_undo_brings_the_pair_back(workspace, pair_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/pair/{pair_queue.id}")
    ready(page)
    shown = [page.locator(place).get_attribute("src") for place in ("#image", "#second")]
    answered(page, "d")
    page.keyboard.press("z")
    expect(page.locator("#second")).to_have_attribute("src", shown[1])
    expect(page.locator("#image")).to_have_attribute("src", shown[0])
    answered(page, "n")
    saved(page)
    assert list(answers(workspace, "Rita").values()) == ["different"]


def test_images_blink_while_space_is_held_even_on_a_focused_button(workspace, pair_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/pair/{pair_queue.id}")
    ready(page)
    page.get_by_role("button", name="Duplicate").focus()
    place = page.locator("#pair-images")
    page.keyboard.down(" ")
    expect(place).to_have_attribute("data-front", "second")
    expect(place).to_have_attribute("data-front", "first")
    boxes = [page.locator(side).bounding_box() for side in ("#image", "#second")]
    assert boxes[0] == boxes[1]
    page.keyboard.up(" ")
    assert place.get_attribute("data-overlay") is None
    expect(page.locator("#count")).to_have_text("1")
    assert answers(workspace, "Rita") == {}
    button = page.get_by_role("button", name="Blink")
    button.hover()
    page.mouse.down()
    expect(place).to_have_attribute("data-overlay", "blink")
    page.mouse.up()
    expect(place).not_to_have_attribute("data-overlay", "blink")


def test_without_motion_the_second_image_is_shown_while_space_is_held(pair_queue, server, page_of):
    page = page_of(server, "Rita")
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"/pair/{pair_queue.id}")
    ready(page)
    page.evaluate(
        """() => { window.fronts = []; new MutationObserver(() => window.fronts.push(
          document.getElementById("pair-images").dataset.front)).observe(
          document.getElementById("pair-images"), { attributes: true, attributeFilter: ["data-front"] }); }"""
    )
    page.keyboard.down(" ")
    page.wait_for_timeout(800)
    page.keyboard.up(" ")
    page.wait_for_function("() => window.fronts.length === 2")
    assert page.evaluate("() => window.fronts[0]") == "second"


def test_difference_and_mirror_are_toggled_and_reset_for_the_next_pair(pair_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/pair/{pair_queue.id}")
    ready(page)
    place, difference = page.locator("#pair-images"), page.get_by_role("button", name="Difference")
    page.keyboard.press("x")
    expect(difference).to_have_attribute("aria-pressed", "true")
    blend = page.evaluate("() => getComputedStyle(document.querySelectorAll('.canvas')[1]).mixBlendMode")
    assert blend == "difference"
    page.get_by_role("button", name="Mirror the second").click()
    expect(place).to_have_class("pair-images mirrored")
    answered(page, "d")
    expect(difference).to_have_attribute("aria-pressed", "false")
    expect(place).to_have_class("pair-images")


def test_a_mirrored_pair_begins_with_the_second_image_mirrored(workspace, server, page_of):
    queue = open_pair_queue(workspace, mirrored=True)
    page = page_of(server, "Rita")
    page.goto(f"/pair/{queue.id}")
    ready(page)
    expect(page.get_by_role("button", name="Mirror the second")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("m")
    expect(page.locator("#pair-images")).to_have_class("pair-images")


def test_both_images_zoom_together(pair_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/pair/{pair_queue.id}")
    ready(page)

    def transforms():
        return page.evaluate("() => ['image', 'second'].map((id) => document.getElementById(id).style.transform)")

    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    first, second = transforms()
    assert first == second != ""
    page.keyboard.press("0")
    assert transforms() == ["", ""]
    box = page.locator(".canvas").nth(1).bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.wheel(0, -100)
    page.wait_for_function("() => document.getElementById('image').style.transform !== ''")
    first, second = transforms()
    assert first == second


def test_skipped_pairs_come_back(workspace, pair_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/pair/{pair_queue.id}")
    before = ready(page)
    page.keyboard.press("s")
    page.locator(f'body[data-ready="{before}"]').wait_for(state="detached")
    for _ in range(3):
        answered_or_done(page, "d")
    expect(page.get_by_role("heading", name="Only skipped images are left")).to_be_visible()
    page.get_by_role("button", name="Show them again").click()
    assert ready(page) == before
    assert len(answers(workspace, "Rita")) == 3


def answered_or_done(page, key):
    before = ready(page)
    page.keyboard.press(key)
    page.locator(f'body[data-ready="{before}"]').wait_for(state="detached")
    page.locator("body[data-ready], #only-skipped:not([hidden])").first.wait_for()
    saved(page)


def test_a_pair_with_an_unreadable_image_is_reported(workspace, broken_queue, server, page_of):
    page = page_of(server, "Rita")
    page.goto(f"/pair/{broken_queue.id}")
    expect(page.get_by_role("heading", name="This image cannot be shown")).to_be_visible()
    expect(page.locator("#no-image-reason")).to_have_text("The image file is missing or damaged.")
    page.keyboard.press("d")
    assert answers(workspace, "Rita") == {}
    page.get_by_role("button", name="Report as unreadable").click()
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    assert workspace.ledger.queues.progress(broken_queue).reported == 1


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (820, 1180), (360, 740)])
def test_page_fits_and_is_legible(pair_queue, server, page_of, width, height):
    page = page_of(server, "Rita", width=width, height=height)
    page.goto(f"/pair/{pair_queue.id}")
    ready(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    for name in ("Duplicate", "Different"):
        box = page.get_by_role("button", name=name).bounding_box()
        assert box["y"] + box["height"] <= height
    assert faint_texts(page) == []


class TestRoutes:
    def test_item_shows_neither_names_nor_distances_nor_labels(self, workspace, pair_queue, visitor):
        shown = visitor("Leo").get(f"/api/queues/{pair_queue.id}/next").json()["item"]
        assert set(shown) == {"id", "image", "second", "mirrored"}
        page = visitor("Leo").get(f"/pair/{pair_queue.id}").text
        assert "reference" not in page and "0.125" not in page
        assert workspace.store.test_set("digits").ids[0] not in page

    def test_both_images_are_served_in_their_queue(self, pair_queue, visitor):
        leo = visitor("Leo")
        shown = leo.get(f"/api/queues/{pair_queue.id}/next").json()["item"]
        assert shown["image"] != shown["second"]
        assert [leo.get(shown[side]).status_code for side in ("image", "second")] == [200, 200]

    def test_an_image_of_another_set_with_the_same_id_is_not_taken_for_a_changed_one(self, workspace, visitor):
        digits, reference = (workspace.store.test_set(name) for name in ("digits", "reference"))
        assert set(digits.ids) & set(reference.ids)
        queue = open_pair_queue(workspace, count=60)
        workspace.review.fill_contents()
        leo = visitor("Leo")
        for item in item_numbers(workspace, queue):
            shown = leo.get(f"/api/queues/{queue.id}/items/{item}").json()["item"]
            assert [leo.get(shown[side]).status_code for side in ("image", "second")] == [200, 200]

    def test_vote_is_refused_while_either_image_cannot_be_shown(self, broken_queue, visitor):
        leo = visitor("Leo")
        shown = leo.get(f"/api/queues/{broken_queue.id}/next").json()["item"]
        statuses = sorted(leo.get(shown[side]).status_code for side in ("image", "second"))
        assert statuses == [200, 400]
        vote = {"item": shown["id"], "key": "pair-vote-1", "answer": "duplicate"}
        refused = leo.write(f"/api/queues/{broken_queue.id}/votes", **vote)
        assert (refused.status_code, "could not be shown" in refused.json()["error"]) == (400, True)

    def test_page_is_only_for_queues_of_pairs(self, workspace, judge_queue, pair_queue, visitor):
        assert visitor("Rita").get(f"/pair/{judge_queue.id}").status_code == 404
        assert visitor("Rita").get(f"/judge/{pair_queue.id}").status_code == 404
        votes = f"/api/queues/{pair_queue.id}/votes"
        [item, *_] = item_numbers(workspace, pair_queue)
        assert visitor("Leo").write(votes, item=item, key="pair-vote-2", answer="correct").status_code == 404

    def test_pair_that_is_not_stored_is_one_clear_line(self, workspace, pair_queue, visitor):
        for path in (workspace.store.root / "pairs" / "digits").iterdir():
            path.unlink()
        (workspace.store.root / "contents.json").unlink()
        answer = visitor("Rita").get(f"/api/queues/{pair_queue.id}/next")
        assert (answer.status_code, "unknown pair of digits" in answer.json()["error"]) == (404, True)


class TestPanel:
    @pytest.fixture
    def disputed(self, workspace):
        queue = open_pair_queue(workspace, overlap=2)
        item = item_numbers(workspace, queue)[0]
        cast_votes(workspace, item, Rita="duplicate", Rob="different")
        return queue, item

    def test_list_shows_both_images_and_filters_by_answer(self, disputed, visitor):
        queue, item = disputed
        text = visitor("Rita").get(f"/panel/{queue.id}").text
        assert f"Pair {item}" in text and text.count("?side=160") == 2
        assert "Are these two images duplicates?" in text and "All classes" not in text
        assert f"Pair {item}" in visitor("Rita").get(f"/panel/{queue.id}?answer=duplicate").text
        assert "No item matches" in visitor("Rita").get(f"/panel/{queue.id}?show=decided&answer=duplicate").text
        assert parse_page(visitor("Rita").get("/")) is not None

    def test_panel_discusses_a_pair_and_changes_votes(self, workspace, disputed, server, page_of):
        queue, item = disputed
        page = page_of(server, "Rita")
        page.goto(f"/panel/{queue.id}")
        page.get_by_role("link", name=f"Pair {item}").click()
        expect(page.locator("#score")).to_contain_text("dssim 0.125; images of digits and reference")
        page.keyboard.press("x")
        expect(page.locator("#pair-images")).to_have_attribute("data-overlay", "difference")
        expect(page.locator("#standing")).to_have_text(
            "If locked now, the decision is “duplicate”, since there is a tie."
        )
        page.keyboard.press("v")
        page.keyboard.press("n")
        page.locator("#why").fill("another day")
        page.get_by_role("button", name="Change it").click()
        expect(page.locator("#decision")).to_have_text("Decision: different unanimously")
        assert [decision.answer for decision in workspace.ledger.decisions.of_queue(queue)] == ["different"]

    def test_a_tie_is_locked_as_duplicate(self, workspace, disputed, server, page_of):
        queue, item = disputed
        page = page_of(server, "Rita")
        page.goto(f"/panel/{queue.id}/{item}")
        page.get_by_role("button", name="Lock").click()
        page.locator("#lock-dialog").get_by_role("button", name="Lock").click()
        expect(page.locator("#decision")).to_contain_text("duplicate by tie, locked by Rita")
        assert [decision.answer for decision in workspace.ledger.decisions.of_queue(queue)] == ["duplicate"]

    def test_distances_are_shown_only_once_all_have_voted(self, workspace, visitor):
        queue = open_pair_queue(workspace, overlap=2)
        item = item_numbers(workspace, queue)[0]
        cast_votes(workspace, item, Rita="duplicate")
        text = visitor("Rita").get(f"/panel/{queue.id}/{item}").text
        assert "shown once all have voted" in text and "0.125" not in text
        state = visitor("Rita").get(f"/api/panel/{queue.id}/{item}").json()["state"]
        assert state["score"] == "shown once all have voted"


def test_home_and_agreement_count_pairs(workspace, visitor):
    queue = open_pair_queue(workspace, overlap=2)
    for item in item_numbers(workspace, queue):
        cast_votes(workspace, item, Rita="duplicate", Rob="duplicate")
    text = visitor("Rita").get("/").text
    assert "Are these two images duplicates?" in text
    [panel] = workspace.review.agreement("v2 pairs").panels
    assert panel.measures[0].equal.value == 1.0


def test_images_of_pending_pairs_are_hidden_in_explore(workspace, visitor):
    queue = open_pair_queue(workspace, count=1)
    rita = visitor("Rita")
    pages = [f"/explore/image?set={name}&image=0" for name in ("digits", "reference")]
    assert ["Not shown yet" in rita.get(page).text for page in pages] == [True, True]
    assert "Not shown yet" not in rita.get("/explore/image?set=reference&image=1").text
    [item] = item_numbers(workspace, queue)
    cast_votes(workspace, item, Rita="duplicate")
    shown = [rita.get(page).text for page in pages]
    assert not any("Not shown yet" in text for text in shown)
    assert "Are these two images duplicates?" in shown[0]
    assert queue.question is Question.PAIR
