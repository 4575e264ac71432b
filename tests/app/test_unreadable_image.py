"""An image that cannot be shown accepts no vote: it can be retried, reported or skipped."""

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from unsteady_network import EXAMINATION, JUDGE, STATIONS, Failure
from work_page import item_numbers, ready, saved

from regrade.ledger import NewItem, Question
from regrade.workspace.image_contents import fill_contents

FAILURES = {
    "missing": (Failure("^/images/", 404), "The image file is missing or damaged."),
    "server error": (Failure("^/images/", 500), "The server has a problem (error 500)."),
    "broken off": (Failure("^/images/", halved=True), "The image is incomplete or damaged."),
}

each_failure = pytest.mark.parametrize(("failure", "words"), FAILURES.values(), ids=FAILURES)
each_station = pytest.mark.parametrize("station", STATIONS, ids=lambda station: station.name)


def is_unreadable(page, words):
    expect(page.locator("#no-image")).to_be_visible()
    expect(page.locator("#no-image-reason")).to_have_text(words)
    expect(page.locator("#image")).to_be_hidden()


def give_every_answer(page):
    """Try to answer by key and by mouse; without the focus on Retry, which Enter would press."""
    page.evaluate("document.activeElement.blur()")
    for key in ("c", "w", "u", "p", "1", "a", "n", "Enter"):
        page.locator("body").press(key)
    for button in page.locator(".answers button:visible").all():
        button.dispatch_event("click")


@each_failure
def test_broken_image_is_reported_and_retried(unsteady, failure, words):
    queue = unsteady.queue(Question.JUDGE)
    unsteady.network.failures = [failure]
    page = JUDGE.open(unsteady, queue)
    is_unreadable(page, words)
    give_every_answer(page)
    expect(page.locator("#count")).to_have_text("1")
    page.keyboard.press("r")
    is_unreadable(page, words)
    unsteady.network.steady()
    page.keyboard.press("r")
    expect(page.locator("#no-image")).to_be_hidden()
    ready(page)
    assert unsteady.votes(queue, "Rita") == []
    JUDGE.answer(page, 0)
    saved(page)
    assert unsteady.standing(queue, "Rita") == ["correct"]


@each_station
def test_unreadable_image_accepts_no_vote_and_is_reported(unsteady, station):
    queue = unsteady.queue(station.question, mode=station.mode)
    page = unsteady.context(station.person).new_page()
    unsteady.network.failures = [Failure("^/images/", 404)]
    page.goto(f"/{station.question.name}/{queue.id}")
    is_unreadable(page, "The image file is missing or damaged.")
    if station.question is Question.LABEL:
        station.answer(page, 0)
        expect(page.locator("#chosen")).to_be_visible()
    else:
        give_every_answer(page)
        assert page.evaluate("() => [...document.querySelectorAll('.answers')].every((group) => group.inert)")
    unsteady.network.steady()
    page.locator("#report-comment").fill("half of it is gray")
    page.get_by_role("button", name="Report as unreadable").click()
    following = ready(page)
    (report,) = [report for report in unsteady.workspace.ledger.reports.open() if report.queue == queue.name]
    assert (report.person, report.text) == (station.person, "half of it is gray")
    assert report.item_id != int(following)
    assert unsteady.votes(queue, station.person) == []
    expect(page.locator("#count")).to_have_text("1")


def test_skipped_images_return_without_a_loop(unsteady):
    queue = unsteady.queue(Question.JUDGE, items=2)
    unsteady.network.failures = [Failure("^/images/", 404)]
    page = JUDGE.open(unsteady, queue)
    is_unreadable(page, "The image file is missing or damaged.")
    shown = page.locator("#image").get_attribute("src")
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator("#image")).not_to_have_attribute("src", shown)
    is_unreadable(page, "The image file is missing or damaged.")
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.get_by_role("heading", name="Only skipped images are left")).to_be_visible()
    expect(page.locator("#only-skipped")).to_contain_text("You skipped 2 images")
    expect(page.get_by_role("heading", name="All done")).to_be_hidden()
    unsteady.network.steady()
    page.reload()
    page.get_by_role("button", name="Show them again").click()
    ready(page)
    JUDGE.answer(page, 0)
    saved(page)
    assert len(unsteady.standing(queue, "Rita")) == 1


def test_missing_images_accept_no_vote(unsteady, monkeypatch):
    queue = unsteady.queue(Question.LABEL)
    store = unsteady.network.app.state.site.images._store
    with monkeypatch.context() as without:
        without.setattr(store.images, "has", lambda *_: False)
        page = EXAMINATION.open(unsteady, queue)
        is_unreadable(page, "The images of this test set are not in the workspace.")
        EXAMINATION.answer(page, 0)
        page.get_by_role("button", name="Retry").click()
        is_unreadable(page, "The images of this test set are not in the workspace.")
    page.get_by_role("button", name="Retry").click()
    ready(page)
    assert unsteady.votes(queue, "Leo") == []


def test_truncated_image_is_unreadable(unsteady, tmp_path):
    for number in range(2):
        (tmp_path / "cut" / str(number)).mkdir(parents=True)
        pixels = np.random.default_rng(number).integers(0, 256, (120, 120, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "cut" / str(number) / "a.jpg")
    unsteady.workspace.testsets.add("cut", tmp_path / "cut", classes="digits")
    ids = unsteady.workspace.store.test_set("cut").ids
    queue = unsteady.workspace.ledger.queues.create("cut", Question.LABEL, test_set="cut")
    unsteady.workspace.ledger.items.add(queue, [NewItem(ids[0])])
    file = next((tmp_path / "cut" / "0").iterdir())
    file.write_bytes(file.read_bytes()[:2000])
    page = EXAMINATION.open(unsteady, queue)
    is_unreadable(page, "The image file is missing or damaged.")


def test_replaced_image_is_reported_as_changed(unsteady, tmp_path):
    files = [tmp_path / "swapped" / str(number) / "a.png" for number in range(2)]
    for number, file in enumerate(files):
        file.parent.mkdir(parents=True)
        Image.fromarray(np.full((40, 30, 3), 99 * number, dtype=np.uint8)).save(file)
    unsteady.workspace.testsets.add("swapped", tmp_path / "swapped", classes="digits")
    queue = unsteady.workspace.ledger.queues.create("swapped", Question.LABEL, test_set="swapped")
    unsteady.workspace.ledger.items.add(queue, [NewItem(unsteady.workspace.store.test_set("swapped").ids[0])])
    fill_contents(unsteady.workspace.store, unsteady.workspace.ledger, queue)
    files[0].write_bytes(files[1].read_bytes())
    page = EXAMINATION.open(unsteady, queue)
    is_unreadable(page, "This image has changed since it was queued.")
    EXAMINATION.answer(page, 0)
    page.get_by_role("button", name="Report as unreadable").click()
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    assert unsteady.votes(queue, "Leo") == []
    assert queue.name in [report.queue for report in unsteady.workspace.ledger.reports.open()]


def test_panel_accepts_no_vote_on_an_unreadable_image(unsteady):
    queue = unsteady.queue(Question.JUDGE)
    first = item_numbers(unsteady.workspace, queue)[0]
    failure, words = FAILURES["server error"]
    unsteady.network.failures = [failure]
    page = unsteady.context("Rita").new_page()
    page.goto(f"/panel/{queue.id}/{first}")
    expect(page.locator("body[data-version]")).to_have_count(1)
    is_unreadable(page, words)
    page.keyboard.press("c")
    page.locator("#cast").click()
    expect(page.locator("#notice")).to_have_text("You can vote once the image is visible.")
    page.get_by_role("button", name="Report as unreadable").click()
    expect(page.locator("#notice")).to_contain_text("Reported")
    unsteady.network.steady()
    page.get_by_role("button", name="Retry").click()
    expect(page.locator("body[data-ready]")).to_have_count(1)
    page.keyboard.press("c")
    page.locator("#cast").click()
    expect(page.locator("#waiting")).to_contain_text("You voted correct")
    assert unsteady.standing(queue, "Rita") == ["correct"]
    assert queue.name in [report.queue for report in unsteady.workspace.ledger.reports.open()]
