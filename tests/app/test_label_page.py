"""Labeling in a real browser: an examination by keyboard, training with feedback, the tree, comparing, undo, reload."""

import re

import pytest
from label_page import chosen, labeled, true_class
from PIL import Image
from playwright.sync_api import expect
from running import run_well
from work_page import answers, ready, saved

from regrade.ledger import GuideText
from regrade.studies import Contender


@pytest.fixture
def exam(workspace):
    workspace.review.queue_labels("digits", size=20, name="exam")
    return workspace.ledger.queues.named("exam")


@pytest.fixture
def training(workspace):
    workspace.review.queue_labels("digits", size=10, mode="training", name="learn")
    return workspace.ledger.queues.named("learn")


@pytest.mark.usefixtures("exam")
def test_examined_labeler_is_graded_among_the_models(workspace, server, page_of):
    page = page_of(server, "Leo")
    page.goto("/")
    page.get_by_role("link", name="Begin with exam").click()
    wrong = 0
    for number in range(20):
        expect(page.locator("#count")).to_have_text(str(number + 1))
        true = true_class(workspace, ready(page))
        wrong += number < 3
        labeled(page, str((int(true) + 1) % 10) if number < 3 else true)
        expect(page.locator("#feedback")).to_be_hidden()
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    saved(page)
    assert len(answers(workspace, "Leo")) == 20
    seconds = [row["seconds"] for row in workspace.ledger.rows() if row["kind"] == "vote"]
    assert all(0.2 <= duration < 60 for duration in seconds)
    option = ("-w", workspace.store.root)
    run_well("review", "publish", "exam", *option)
    assert "person:Leo" in run_well("study", "people", "--test-set", "digits", *option).out
    study = workspace.study.people("digits")
    assert study.names(Contender.PERSON) == ("person:Leo",)
    assert set(study.names(Contender.MODEL)) == {"alpha", "beta", "gamma"}
    assert study.own["person:Leo"].value == pytest.approx(17 / 20)


def test_class_is_picked_in_the_tree_by_mouse(workspace, exam, server, page_of):
    page = page_of(server, "Leo")
    page.goto(f"/label/{exam.id}")
    ready(page)
    page.get_by_role("treeitem", name="7", exact=True).click()
    expect(page.locator("#sides .side .name")).to_have_text("7")
    page.get_by_role("button", name="It is this").click()
    expect(page.locator("#count")).to_have_text("2")
    saved(page)
    assert list(answers(workspace, "Leo").values()) == ["7"]


def test_guide_examples_and_reference_images_are_separate(workspace, exam, server, page_of):
    example = workspace.store.test_set("reference").ids[0]
    text = GuideText("Two bowls.", examples=(("reference", example),))
    workspace.ledger.guide.write("digits", "3", text, workspace.ledger.people.named("Rita"), replaces=None)
    page = page_of(server, "Leo")
    held = []

    def hold(route):
        held.append(route)

    page.route("**/references?**", hold)
    page.goto(f"/label/{exam.id}")
    ready(page)
    page.get_by_role("treeitem", name="3", exact=True).click()
    expect(page.locator(".side .guide-block .strip img")).to_have_count(1)
    held[0].continue_()
    expect(page.locator(".side > .strip img").nth(1)).to_be_attached()
    expect(page.locator(".side .guide-block .strip img")).to_have_count(1)


def test_tree_is_navigated_by_keyboard(workspace, exam, server, page_of):
    page = page_of(server, "Leo")
    page.goto(f"/label/{exam.id}")
    ready(page)
    expect(page.locator("#search")).to_be_focused()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#sides .side .name")).to_have_text("1")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("2")
    saved(page)
    assert list(answers(workspace, "Leo").values()) == ["1"]


def test_search_is_restricted_to_the_chosen_family(workspace, tmp_path, server, page_of):
    for name in ("cat", "truck"):
        (tmp_path / "things" / name).mkdir(parents=True)
        Image.new("RGB", (32, 32), "red" if name == "cat" else "blue").save(tmp_path / "things" / name / "1.png")
    workspace.testsets.add("things", tmp_path / "things", classes="cifar-10")
    workspace.review.queue_labels("things", name="exam")
    page = page_of(server, "Leo")
    page.goto(f"/label/{workspace.ledger.queues.named('exam').id}")
    ready(page)
    page.get_by_label("among").select_option("vehicles")
    expect(page.get_by_role("option", name="truck")).to_be_visible()
    expect(page.locator("#results [role=option]")).to_have_count(4)
    page.keyboard.press("Enter")
    expect(page.locator("#chosen")).to_be_hidden()
    page.locator("#search").fill("cat")
    expect(page.locator("#results")).to_contain_text("No class matches")
    page.locator("#search").fill("")
    page.reload()
    ready(page)
    page.locator("#results").get_by_text("truck").click()
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("2")
    saved(page)
    assert list(answers(workspace, "Leo").values()) == ["truck"]


def test_reference_images_precede_the_answer_and_escape_goes_back(workspace, exam, server, page_of):
    page = page_of(server, "Leo")
    page.goto(f"/label/{exam.id}")
    chosen(page, "3")
    expect(page.locator("#sides .strip img").first).to_be_visible()
    assert page.locator("#sides .strip img").count() >= 10
    page.keyboard.press("Escape")
    expect(page.locator("#search")).to_be_focused()
    expect(page.locator("#search")).to_have_value("3")
    assert answers(workspace, "Leo") == {}


def test_two_classes_are_compared_side_by_side(workspace, exam, server, page_of):
    page = page_of(server, "Leo")
    page.goto(f"/label/{exam.id}")
    chosen(page, "3")
    page.keyboard.press("c")
    expect(page.locator("#beside-name")).to_have_text("3")
    page.keyboard.type("8")
    page.keyboard.press("Enter")
    expect(page.locator("#sides .name")).to_have_text(["3", "8"])
    page.keyboard.press("1")
    expect(page.locator("#count")).to_have_text("2")
    saved(page)
    assert list(answers(workspace, "Leo").values()) == ["3"]


def test_holding_enter_picks_but_does_not_answer(workspace, exam, server, page_of):
    page = page_of(server, "Leo")
    page.goto(f"/label/{exam.id}")
    ready(page)
    page.keyboard.type("3")
    page.keyboard.down("Enter")
    expect(page.locator("#chosen")).to_be_visible()
    for _ in range(5):
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    expect(page.locator("#count")).to_have_text("1")
    assert answers(workspace, "Leo") == {}
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("2")


def test_undo_returns_the_image(workspace, exam, server, page_of):
    page = page_of(server, "Leo")
    page.goto(f"/label/{exam.id}")
    first = ready(page)
    labeled(page, "3")
    saved(page)
    ready(page)
    page.keyboard.press("Control+z")
    expect(page.locator(f'body[data-ready="{first}"]')).to_have_count(1)
    expect(page.locator("#count")).to_have_text("1")
    labeled(page, "5")
    chosen(page, "5")
    page.keyboard.press("z")
    expect(page.locator(f'body[data-ready="{first}"]')).to_have_count(1)
    labeled(page, "6")
    saved(page)
    assert list(answers(workspace, "Leo").values()) == ["6"]
    assert len([row for row in workspace.ledger.rows() if row["kind"] == "vote"]) == 5


def test_reload_keeps_the_image_and_counts_once(workspace, exam, server, page_of):
    page = page_of(server, "Leo")
    page.goto(f"/label/{exam.id}")
    labeled(page, "3")
    item = ready(page)
    chosen(page, "4")
    page.reload()
    assert ready(page) == item
    labeled(page, "4")
    saved(page)
    assert sorted(answers(workspace, "Leo").values()) == ["3", "4"]


def test_clock_stops_while_the_tab_is_hidden(workspace, exam, server, page_of):
    page = page_of(server, "Leo")
    page.clock.install()
    page.goto(f"/label/{exam.id}")
    chosen(page, "3")
    hide = "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});"
    page.evaluate(f"{hide} document.dispatchEvent(new Event('visibilitychange')); }}", True)
    page.clock.fast_forward("10:00:00")
    page.evaluate(f"{hide} document.dispatchEvent(new Event('visibilitychange')); }}", False)
    page.keyboard.press("Enter")
    labeled(page, "3")
    saved(page)
    first = next(row["seconds"] for row in workspace.ledger.rows() if row["kind"] == "vote")
    assert 0 < first < 3600


def test_lost_connection_keeps_the_answer(workspace, exam, server, context_of):
    context = context_of(server, "Leo")
    page = context.new_page()
    page.goto(f"/label/{exam.id}")
    chosen(page, "3")
    page.wait_for_load_state("networkidle")
    context.set_offline(True)
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("kept in this browser")
    context.set_offline(False)
    expect(page.locator("#notice")).to_contain_text("everything is saved")
    assert list(answers(workspace, "Leo").values()) == ["3"]


def test_training_shows_feedback_and_score(workspace, training, server, page_of):
    page = page_of(server, "Leo")
    page.goto(f"/label/{training.id}")
    first = ready(page)
    true = true_class(workspace, first)
    wrong = str((int(true) + 1) % 10)
    chosen(page, true)
    page.keyboard.press("Enter")
    expect(page.locator("#outcome")).to_have_text("Right")
    expect(page.locator("#truth .name")).to_have_text([true])
    expect(page.locator("#score")).to_have_text("1 of 1 right")
    page.keyboard.press("Enter")
    second = ready(page)
    assert second != first
    true = true_class(workspace, second)
    wrong = str((int(true) + 1) % 10)
    chosen(page, wrong)
    page.keyboard.press("Enter")
    expect(page.locator("#outcome")).to_have_text("Not this one")
    expect(page.locator("#right-names")).to_have_text(f"It is {true}.")
    expect(page.locator("#truth .name")).to_have_text([true, wrong])
    expect(page.locator("#truth .strip").first.locator("img").first).to_be_visible()
    expect(page.locator("#score")).to_have_text("1 of 2 right")
    page.keyboard.press("z")
    assert ready(page) == second
    expect(page.locator("#score")).to_have_text("1 of 1 right")
    saved(page)
    page.reload()
    ready(page)
    expect(page.locator("#score")).to_have_text("1 of 1 right")
    assert list(answers(workspace, "Leo").values()) == [true_class(workspace, first)]


def test_training_waits_for_the_connection(workspace, training, server, page_of):
    page = page_of(server, "Leo")
    context = page.context
    page.goto(f"/label/{training.id}")
    item = chosen(page, "3")
    page.wait_for_load_state("networkidle")
    context.set_offline(True)
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("kept in this browser")
    page.keyboard.press("z")
    assert ready(page) == item
    chosen(page, "3")
    page.keyboard.press("Enter")
    context.set_offline(False)
    expect(page.locator("#outcome")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    assert ready(page) != item
    assert list(answers(workspace, "Leo").values()) == ["3"]


def test_label_page_fetches_every_image_once_by_its_queue_url(exam, server, page_of):
    page = page_of(server, "Leo")
    fetched = []
    page.on("request", lambda request: fetched.append(request.url.removeprefix(server.address)))
    page.goto(f"/label/{exam.id}")
    for _ in range(3):
        labeled(page, "3")
    ready(page)
    images = [address for address in fetched if re.match(r"/images/\d+/", address)]
    assert len(images) == len(set(images)) >= 4
    assert {address.split("/")[2] for address in images} == {str(exam.id)}
