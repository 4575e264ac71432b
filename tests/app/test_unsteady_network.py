"""Votes and undos over an unsteady network: the ledger contains the person's last decision exactly once."""

import pytest
from panel_votes import cast_votes
from playwright.sync_api import expect
from unsteady_network import EXAMINATION, JUDGE, LATENCY, MISTAKE, STATIONS, TRAINING, Failure, hurry, losing
from work_page import item_numbers, ready, saved

from regrade.ledger import Question

OFFSETS = {JUDGE: (0, 250, 500)}
"""Milliseconds between an answer and its undo: before, while and after the server gets it."""

each_station = pytest.mark.parametrize("station", STATIONS, ids=lambda station: station.name)


def is_ready(page, item):
    page.locator(f'body[data-ready="{item}"]').wait_for(state="attached")


def is_gone(page, item):
    page.locator(f'body[data-ready="{item}"]').wait_for(state="detached")


def undo(page):
    page.locator("#undo").click()


def begin(unsteady, station, **options):
    """A queue, its page with latency, and the first item."""
    queue = unsteady.queue(station.question, mode=station.mode, **options)
    page = station.open(unsteady, queue)
    item = ready(page)
    unsteady.network.latency = LATENCY
    return queue, page, item


@each_station
def test_undo_at_any_moment_leaves_the_corrected_vote(unsteady, station):
    offsets = OFFSETS.get(station, (0, 250))
    queue, page, _ = begin(unsteady, station, items=len(offsets) + 1)
    for offset in offsets:
        item = ready(page)
        station.answer(page, 0)
        page.wait_for_timeout(offset)
        undo(page)
        is_ready(page, item)
        station.answer(page, 1)
        is_gone(page, item)
        if station is TRAINING:
            page.get_by_role("button", name="Next").click()
    saved(page)
    assert unsteady.standing(queue, station.person) == [station.answers[1]] * len(offsets)
    expect(page.locator("#refusal")).to_be_hidden()


@each_station
def test_undo_in_flight_survives_leaving_and_reloading_the_page(unsteady, station):
    queue, page, _ = begin(unsteady, station)
    for way in ("leave", "reload"):
        item = ready(page)
        with page.expect_request("**/votes"):
            station.answer(page, 0)
        is_gone(page, item)
        undo(page)
        page.goto("/") if way == "leave" else page.reload()
        saved(page)
        assert unsteady.standing(queue, station.person) == []
        if way == "leave":
            page.go_back()
    assert [row["answer"] for row in unsteady.votes(queue, station.person)] == [station.answers[0], None] * 2


def test_undo_in_flight_survives_the_closed_tab(unsteady):
    queue, page, item = begin(unsteady, JUDGE)
    with page.expect_request("**/votes"):
        JUDGE.answer(page, 0)
    is_gone(page, item)
    undo(page)
    page.close()
    again = page.context.new_page()
    again.goto("/")
    saved(again)
    assert unsteady.standing(queue, "Rita") == []


@each_station
def test_lost_requests_count_once(unsteady, station):
    queue = unsteady.queue(station.question, mode=station.mode, items=5)
    page = station.open(unsteady, queue)
    for what, answered in (("votes", False), ("votes", True), ("undo", False), ("undo", True)):
        item = ready(page)
        if what == "undo":
            station.answer(page, 0)
            saved(page)
        with losing(page, what, answered=answered):
            if what == "undo":
                undo(page)
                is_ready(page, item)
            station.answer(page, 1)
        is_gone(page, item)
        saved(page)
        if station is TRAINING:
            page.get_by_role("button", name="Next").click()
    assert unsteady.standing(queue, station.person) == [station.answers[1]] * 4
    assert len(unsteady.votes(queue, station.person)) == 2 + 3 + 3


@each_station
def test_server_errors_are_shown_and_retried(unsteady, station):
    queue = unsteady.queue(station.question, mode=station.mode)
    page = station.open(unsteady, queue)
    item = ready(page)
    unsteady.network.failures = [Failure("/votes$")]
    station.answer(page, 0)
    notice = page.locator("#notice")
    expect(notice).to_contain_text("The server has a problem (error 500).")
    expect(notice).to_contain_text("kept in this browser and will be sent")
    undo(page)
    is_ready(page, item)
    station.answer(page, 1)
    unsteady.network.failures = [Failure("/votes$", 503, {"Retry-After": "1"})]
    hurry(page)
    expect(notice).to_contain_text("The database is not available; trying again in 1 s.")
    assert unsteady.votes(queue, station.person) == []
    unsteady.network.steady()
    expect(notice).to_contain_text("everything is saved")
    saved(page)
    assert unsteady.standing(queue, station.person) == [station.answers[1]]


EXPLAINED = {
    "new Refused('the item is decided')": "The item is decided.",
    "Object.assign(new Refused('sign in first'), { status: 401 })": (
        "Your session has ended: sign in again in another tab."
    ),
    "new ServiceError()": "No connection to the server.",
    "new ServiceError({ status: 500 })": "The server has a problem (error 500).",
    "new ServiceError({ status: 507, reason: 'it is full' })": "The server has a problem (error 507): it is full.",
    "new ServiceError({ status: 503 })": "The server has a problem (error 503).",
    "new ServiceError({ status: 503, retryAfter: 5 })": "The database is not available; trying again in 5 s.",
    "new ServiceError({ status: 503, retryAfter: 5, reason: 'the server is stopping: try again later' })": (
        "The server is stopping; trying again in 5 s."
    ),
    "new TypeError('x is undefined')": "This page has a problem (x is undefined): reload it.",
}


def test_explain_says_what_failed(unsteady):
    page = unsteady.context("Rita").new_page()
    page.goto("/guide")
    calls = ", ".join(f"explain({error})" for error in EXPLAINED)
    load = "const { explain, Refused, ServiceError } = await import('/static/sending.js')"
    sentences = page.evaluate(f"async () => {{ {load}; return [{calls}]; }}")
    assert dict(zip(EXPLAINED, sentences, strict=True)) == EXPLAINED


def test_retry_after_is_respected(unsteady):
    queue = unsteady.queue(Question.JUDGE)
    page = JUDGE.open(unsteady, queue)
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/votes") else None)
    ready(page)
    unsteady.network.failures = [Failure("/votes$", 503, {"Retry-After": "600"})]
    JUDGE.answer(page, 0)
    expect(page.locator("#notice")).to_contain_text("trying again in 600 s")
    unsteady.network.steady()
    second = ready(page)
    JUDGE.answer(page, 0)
    is_gone(page, second)
    hurry(page)
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    assert len(sent) == 1
    page.reload()
    saved(page)
    assert len(unsteady.standing(queue, "Rita")) == 2


def test_undone_unsent_vote_leaves_no_trace(unsteady):
    queue = unsteady.queue(Question.JUDGE)
    page = JUDGE.open(unsteady, queue)
    ready(page)
    unsteady.network.failures = [Failure("/votes$")]
    JUDGE.answer(page, 0)
    expect(page.locator("#notice")).to_contain_text("The server has a problem")
    second = ready(page)
    JUDGE.answer(page, 0)
    is_gone(page, second)
    undo(page)
    is_ready(page, second)
    unsteady.network.steady()
    saved(page)
    assert [row["answer"] for row in unsteady.votes(queue, "Rita")] == ["correct"]


def test_undo_after_a_reload_takes_back_the_unsent_vote(unsteady):
    queue = unsteady.queue(Question.JUDGE)
    page = JUDGE.open(unsteady, queue)
    ready(page)
    JUDGE.answer(page, 0)
    saved(page)
    second = ready(page)
    unsteady.network.failures = [Failure("/votes$")]
    JUDGE.answer(page, 0)
    expect(page.locator("#notice")).to_contain_text("The server has a problem")
    page.reload()
    expect(page.locator("#notice")).to_contain_text("The server has a problem")
    undo(page)
    is_ready(page, second)
    unsteady.network.steady()
    saved(page)
    assert unsteady.standing(queue, "Rita") == ["correct"]


def test_two_undos_take_back_two_votes(unsteady):
    queue, page, first = begin(unsteady, JUDGE)
    JUDGE.answer(page, 0)
    is_gone(page, first)
    second = ready(page)
    JUDGE.answer(page, 0)
    is_gone(page, second)
    page.keyboard.press("z")
    page.keyboard.press("z")
    is_ready(page, first)
    saved(page)
    assert unsteady.standing(queue, "Rita") == []


def test_keys_are_ignored_while_undo_is_in_progress(unsteady):
    queue = unsteady.queue(Question.JUDGE)
    page = JUDGE.open(unsteady, queue)
    first = ready(page)
    JUDGE.answer(page, 0)
    saved(page)
    page.reload()
    ready(page)
    unsteady.network.latency = LATENCY
    page.keyboard.press("z")
    page.keyboard.press("w")
    is_ready(page, first)
    saved(page)
    assert unsteady.standing(queue, "Rita") == []


def test_refusal_stays_until_dismissed_or_the_next_action(unsteady):
    queue = unsteady.queue(Question.JUDGE, overlap=1)
    page = JUDGE.open(unsteady, queue)
    first = int(ready(page))
    cast_votes(unsteady.workspace, first, Rob="wrong")
    JUDGE.answer(page, 0)
    refusal = page.locator("#refusal")
    expect(refusal).to_contain_text("Not counted: this item is decided")
    page.clock.install()
    page.clock.fast_forward(60_000)
    expect(refusal).to_be_visible()
    refusal.get_by_role("button", name="Dismiss").click()
    expect(refusal).to_be_hidden()


def test_ended_session_keeps_answers_until_the_next_sign_in(unsteady):
    queue = unsteady.queue(Question.JUDGE)
    page = JUDGE.open(unsteady, queue)
    ready(page)
    cookies = page.context.cookies()
    page.context.clear_cookies()
    JUDGE.answer(page, 0)
    expect(page.locator("#notice")).to_contain_text("Your session has ended: sign in again in another tab.")
    expect(page.locator("#notice")).to_contain_text("kept in this browser")
    again = unsteady.context("Rita").cookies()
    assert again != cookies
    page.context.add_cookies(again)
    saved(page)
    assert unsteady.standing(queue, "Rita") == ["correct"]


def test_answers_are_not_sent_for_another_person(unsteady):
    queue = unsteady.queue(Question.JUDGE)
    page = JUDGE.open(unsteady, queue)
    ready(page)
    page.context.clear_cookies()
    page.context.add_cookies(unsteady.context("Rob").cookies())
    JUDGE.answer(page, 0)
    expect(page.locator("#notice")).to_contain_text("kept in this browser")
    page.reload()
    ready(page)
    assert unsteady.standing(queue, "Rita") == unsteady.standing(queue, "Rob") == []


class TestTwoTabs:
    def test_each_tab_sends_entries_of_the_other(self, unsteady):
        queue = unsteady.queue(Question.JUDGE)
        context = unsteady.context("Rita")
        tab = JUDGE.open(unsteady, queue, context=context)
        first = ready(tab)
        unsteady.network.failures = [Failure("/votes$")]
        JUDGE.answer(tab, 0)
        expect(tab.locator("#notice")).to_contain_text("The server has a problem")
        undo(tab)
        is_ready(tab, first)
        JUDGE.answer(tab, 1)
        is_gone(tab, first)
        tab.close()
        unsteady.network.steady()
        second_tab = JUDGE.open(unsteady, queue, context=context)
        saved(second_tab)
        assert unsteady.standing(queue, "Rita") == ["wrong"]

    def test_undo_in_both_tabs_takes_the_vote_back_once(self, unsteady):
        queue = unsteady.queue(Question.JUDGE)
        context = unsteady.context("Rita")
        tab = JUDGE.open(unsteady, queue, context=context)
        first = ready(tab)
        JUDGE.answer(tab, 0)
        saved(tab)
        second_tab = JUDGE.open(unsteady, queue, context=context)
        ready(second_tab)
        undo(second_tab)
        is_ready(second_tab, first)
        saved(second_tab)
        undo(tab)
        is_ready(tab, first)
        JUDGE.answer(tab, 1)
        saved(tab)
        assert [row["answer"] for row in unsteady.votes(queue, "Rita")] == ["correct", None, "wrong"]

    def test_concurrent_votes_of_both_tabs_are_counted(self, unsteady):
        queue = unsteady.queue(Question.JUDGE, items=6)
        context = unsteady.context("Rita")
        pages = [JUDGE.open(unsteady, queue, context=context) for _ in range(2)]
        for _ in range(2):
            for page in pages:
                ready(page)
            unsteady.network.latency = LATENCY
            for page in pages:
                JUDGE.answer(page, 0)
            for page in pages:
                saved(page)
            unsteady.network.steady()
        kept = unsteady.votes(queue, "Rita")
        assert len({row["key"] for row in kept}) == len(kept)
        assert len({row["example"] for row in kept}) == len(kept) >= 2

    def test_training_shows_feedback_to_a_vote_sent_by_the_other_tab(self, unsteady):
        queue = unsteady.queue(Question.LABEL, mode=TRAINING.mode)
        context = unsteady.context("Leo")
        tab = TRAINING.open(unsteady, queue, context=context)
        ready(tab)
        unsteady.network.failures = [Failure("/votes$", 503, {"Retry-After": "600"})]
        TRAINING.answer(tab, 0)
        expect(tab.locator("#notice")).to_contain_text("trying again in 600 s")
        unsteady.network.steady()
        second_tab = context.new_page()
        second_tab.goto("/")
        saved(second_tab)
        expect(tab.locator("#outcome")).to_be_visible()

    def test_nothing_is_lost_without_locks(self, unsteady):
        queue = unsteady.queue(Question.JUDGE)
        context = unsteady.context("Rita")
        context.add_init_script("Object.defineProperty(navigator, 'locks', { value: undefined })")
        page = JUDGE.open(unsteady, queue, context=context)
        first = ready(page)
        unsteady.network.latency = LATENCY
        JUDGE.answer(page, 0)
        second_tab = context.new_page()
        second_tab.goto("/")
        undo(page)
        is_ready(page, first)
        JUDGE.answer(page, 1)
        saved(page)
        saved(second_tab)
        assert unsteady.standing(queue, "Rita") == ["wrong"]
        assert [row["answer"] for row in unsteady.votes(queue, "Rita")] == ["correct", None, "wrong"]


class TestPanel:
    """Casting and changing a vote on the Panel."""

    @pytest.fixture
    def queue(self, unsteady):
        return unsteady.queue(Question.JUDGE, items=2)

    def open(self, unsteady, queue, number=0):
        page = unsteady.context("Rita").new_page()
        page.goto(f"/panel/{queue.id}/{item_numbers(unsteady.workspace, queue)[number]}")
        self.shown(page)
        return page

    def shown(self, page):
        expect(page.locator("body[data-version][data-ready]")).to_have_count(1)

    def look(self, page):
        """Let the page poll at once, as when its tab becomes visible."""
        page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")

    def change(self, page, key, why="looked again"):
        page.locator("#change").click()
        page.keyboard.press(key)
        page.get_by_label("Why do you change it?").fill(why)
        page.keyboard.press("Enter")

    def test_change_before_the_vote_is_confirmed_waits_for_it(self, unsteady, queue):
        page = self.open(unsteady, queue)
        unsteady.network.latency = LATENCY
        page.keyboard.press("c")
        page.locator("#cast").click()
        page.keyboard.press("w")
        page.keyboard.press("Enter")
        expect(page.locator("#waiting")).to_contain_text("You voted correct")
        self.change(page, "w")
        expect(page.locator("#waiting")).to_contain_text("You voted wrong")
        saved(page)
        assert [row["answer"] for row in unsteady.votes(queue, "Rita")] == ["correct", "wrong"]

    @pytest.mark.parametrize("way", ["leave", "reload"])
    def test_vote_in_flight_survives_the_page(self, unsteady, queue, way):
        page = self.open(unsteady, queue)
        unsteady.network.latency = LATENCY
        page.keyboard.press("c")
        page.locator("#cast").click()
        page.reload() if way == "reload" else page.goto("/")
        saved(page)
        assert unsteady.standing(queue, "Rita") == ["correct"]

    def test_unsent_vote_is_shown_and_changed_with_a_reason(self, unsteady, queue):
        page = self.open(unsteady, queue)
        unsteady.network.failures = [Failure("/votes$")]
        page.keyboard.press("c")
        page.locator("#cast").click()
        expect(page.locator("#notice")).to_contain_text("The server has a problem")
        page.reload()
        self.shown(page)
        expect(page.locator("#waiting")).to_contain_text("You voted correct. Your vote is kept in this browser")
        self.change(page, "w")
        unsteady.network.steady()
        saved(page)
        assert unsteady.standing(queue, "Rita") == ["wrong"]

    def test_lost_requests_count_once(self, unsteady, queue):
        for number, answered in enumerate((False, True)):
            page = self.open(unsteady, queue, number)
            with losing(page, "votes", answered=answered):
                page.keyboard.press("c")
                page.locator("#cast").click()
            saved(page)
            expect(page.locator("#waiting")).to_contain_text("You voted correct")
            with losing(page, "votes", answered=answered):
                self.change(page, "w")
            saved(page)
        assert [row["answer"] for row in unsteady.votes(queue, "Rita")] == ["correct", "wrong", "correct", "wrong"]

    def test_server_errors_are_shown_and_retried(self, unsteady, queue):
        page = self.open(unsteady, queue)
        unsteady.network.failures = [Failure("/votes$", 503, {"Retry-After": "1"}), Failure("/api/panel/")]
        page.keyboard.press("c")
        page.locator("#cast").click()
        expect(page.locator("#notice")).to_contain_text("The database is not available; trying again in 1 s.")
        unsteady.network.steady()
        saved(page)
        expect(page.locator("#waiting")).to_contain_text("You voted correct")
        unsteady.network.failures = [Failure("/api/panel/")]
        self.look(page)
        expect(page.locator("#notice")).to_contain_text("The server has a problem (error 500). Trying again.")
        unsteady.network.steady()
        self.look(page)
        expect(page.locator("#notice")).to_contain_text("The server responds again")
        assert unsteady.standing(queue, "Rita") == ["correct"]


@pytest.mark.parametrize("station", [JUDGE, EXAMINATION, MISTAKE], ids=lambda station: station.name)
def test_next_item_is_requested_until_the_server_is_back(unsteady, station):
    queue = unsteady.queue(station.question)
    unsteady.network.failures = [Failure("/next$", 503, {"Retry-After": "1"})]
    page = station.open(unsteady, queue)
    expect(page.locator("#notice")).to_contain_text("The database is not available; trying again in 1 s.")
    expect(page.get_by_role("heading", name="All done")).to_be_hidden()
    unsteady.network.steady()
    ready(page)
