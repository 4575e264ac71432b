"""Select in a real browser: by mouse, keyboard and touch, with consent, qualification, reloads and a killed server."""

import shutil

import pytest
from browser import new_window
from grid_world import careful, person, work_of
from playwright.sync_api import expect
from unsteady_network import hurry, losing
from work_page import faint_texts, ready, saved

import regrade
from regrade.app.sessions import Sessions

WORKER = "worker-0001"


@pytest.fixture
def workspace(grid_template, tmp_path):
    shutil.copytree(grid_template, tmp_path / "W")
    workspace = regrade.open(tmp_path / "W")
    # the gate is not tested here
    workspace.build.open("shapes", qualification=0, lowest_control_accuracy=0.02, warn_below=0.02)
    yield workspace
    workspace.ledger.engine.dispose()


@pytest.fixture
def grid(server, page_of):
    """The page of the first task."""
    page = page_of(server, WORKER)
    page.goto("/select/1")
    ready(page)
    return page


def selected(page):
    """The numbers of the selected tiles, from 0."""
    return page.evaluate(
        "() => [...document.querySelectorAll('.tile')].flatMap((tile, n) => tile.ariaSelected === 'true' ? [n] : [])"
    )


def middle(page, number):
    box = page.locator(".tile").nth(number).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page, first, last, *, release=True):
    """Draw a rectangle from the middle of a tile to that of another."""
    page.mouse.move(*middle(page, first))
    page.mouse.down()
    page.mouse.move(*middle(page, last), steps=4)
    if release:
        page.mouse.up()


def stored(workspace, name=WORKER):
    work = work_of(workspace)
    return work.ledger.selections.of_worker([work.queue], person(workspace, name))


def test_clicks_toggle_and_shift_selects_a_range(grid):
    grid.locator(".tile").nth(2).click()
    grid.locator(".tile").nth(5).click(modifiers=["Shift"])
    assert selected(grid) == [2, 3, 4, 5]
    grid.locator(".tile").nth(3).click()
    assert selected(grid) == [2, 4, 5]
    expect(grid.locator("#count")).to_have_text("3 of 48 selected")
    grid.get_by_role("button", name="Clear").click()
    assert selected(grid) == []


def test_a_rectangle_adds_and_with_alt_removes(grid):
    drag(grid, 0, 17)
    assert selected(grid) == [0, 1, 8, 9, 16, 17]
    grid.keyboard.down("Alt")
    drag(grid, 8, 17)
    grid.keyboard.up("Alt")
    assert selected(grid) == [0, 1]
    drag(grid, 3, 12, release=False)
    expect(grid.locator(".rectangle")).to_be_visible()
    grid.keyboard.press("Escape")
    expect(grid.locator(".rectangle")).to_have_count(0)
    grid.mouse.up()
    assert selected(grid) == [0, 1]


def test_a_rectangle_may_end_outside_of_the_grid(grid):
    grid.mouse.move(*middle(grid, 40))
    grid.mouse.down()
    grid.mouse.move(5, middle(grid, 40)[1], steps=4)
    grid.mouse.up()
    assert selected(grid) == [40]
    assert grid.evaluate("() => getSelection().toString()") == ""


def test_press_and_hold_enlarges_without_selecting(grid):
    grid.mouse.move(*middle(grid, 7))
    grid.mouse.down()
    expect(grid.locator("#large")).to_be_visible()
    expect(grid.locator("#large figcaption")).to_have_text("Image 8: not selected")
    assert grid.locator("#large img").evaluate("image => image.naturalWidth") == 400
    assert grid.locator("#large img").evaluate("image => image.getBoundingClientRect().width") >= 400
    grid.mouse.up()
    expect(grid.locator("#large")).to_be_hidden()
    assert selected(grid) == []


def test_the_keyboard_alone_is_enough(grid, workspace):
    grid.keyboard.press("Tab")
    while not grid.evaluate("() => document.activeElement.matches('.tile')"):
        grid.keyboard.press("Tab")
    grid.keyboard.press("Space")
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press("Enter")
    assert selected(grid) == [0, 8]
    grid.keyboard.press("Shift+ArrowRight")
    grid.keyboard.press("Shift+ArrowDown")
    assert selected(grid) == [0, *range(8, 18)]
    grid.keyboard.press("e")
    expect(grid.locator("#large figcaption")).to_have_text("Image 18: selected")
    grid.keyboard.press("ArrowRight")
    grid.keyboard.press("Space")
    expect(grid.locator("#large figcaption")).to_have_text("Image 19: selected")
    grid.keyboard.press("Escape")
    expect(grid.locator("#large")).to_be_hidden()
    assert selected(grid) == [0, *range(8, 19)]
    grid.keyboard.press("End")
    grid.keyboard.press("ArrowRight")
    assert grid.evaluate("() => document.activeElement.ariaLabel") == "Image 48"
    grid.keyboard.press("Control+a")
    assert len(selected(grid)) == 48
    first = ready(grid)
    grid.keyboard.press("Control+Enter")
    grid.locator(f'body[data-ready="{first}"]').wait_for(state="detached")
    assert ready(grid) != first
    [answer] = stored(workspace)
    assert answer.answer == "1" * 48 and answer.seconds > 0


def test_the_selection_becomes_the_digits_of_the_stored_task(grid, workspace):
    item = int(ready(grid))
    work = work_of(workspace)
    task, shown = work.task_of(item), work.task_of(item).order_for(WORKER)
    for number in (0, 5, 47):
        grid.locator(".tile").nth(number).click()
    grid.get_by_role("button", name="Submit").click()
    grid.locator(f'body[data-ready="{item}"]').wait_for(state="detached")
    saved(grid)
    [answer] = stored(workspace)
    chosen = {tile.image for tile, digit in zip(task.tiles, answer.answer, strict=True) if digit == "1"}
    assert chosen == {shown[number].image for number in (0, 5, 47)}


def test_an_empty_selection_is_confirmed(grid, workspace):
    item = ready(grid)
    grid.get_by_role("button", name="Submit").click()
    expect(grid.locator("#none")).to_be_visible()
    grid.get_by_role("button", name="Back to the images").click()
    assert ready(grid) == item and stored(workspace) == ()
    grid.get_by_role("button", name="Submit").click()
    grid.get_by_role("button", name="None of them: submit").click()
    grid.locator(f'body[data-ready="{item}"]').wait_for(state="detached")
    saved(grid)
    assert [answer.answer for answer in stored(workspace)] == ["0" * 48]


def test_a_selection_survives_a_reload(grid):
    drag(grid, 0, 9)
    item = ready(grid)
    grid.reload()
    assert ready(grid) == item and selected(grid) == [0, 1, 8, 9]


def test_a_returned_task_is_replaced_and_can_come_back(grid):
    grid.on("dialog", lambda dialog: dialog.accept())
    items = set()
    for _ in range(6):
        item = ready(grid)
        items.add(item)
        grid.get_by_role("button", name="Return this task").click()
        grid.locator(f'body[data-ready="{item}"]').wait_for(state="detached")
        grid.locator("body[data-ready], .work-state").first.wait_for(state="attached")
    assert len(items) == 6
    expect(grid.get_by_role("heading", name="Only returned tasks are left")).to_be_visible()
    grid.get_by_role("button", name="Show them again").click()
    assert ready(grid) in items


@pytest.mark.parametrize("answered", [False, True])
def test_a_lost_connection_loses_no_answer(grid, workspace, answered):
    item = ready(grid)
    with losing(grid, "selections", answered=answered):
        grid.locator(".tile").nth(1).click()
        grid.get_by_role("button", name="Submit").click()
    grid.locator(f'body[data-ready="{item}"]').wait_for(state="detached")
    assert ready(grid) != item
    saved(grid)
    assert [answer.item_id for answer in stored(workspace)] == [int(item)]


def test_nothing_is_lost_when_the_server_is_killed_between_submits(process, page_of, workspace):
    page = page_of(process, WORKER)
    page.goto("/select/1")
    done = []
    for number in range(3):
        done.append(int(ready(page)))
        page.locator(".tile").nth(number).click()
        if number == 1:
            process.kill()
            page.get_by_role("button", name="Submit").click()
            expect(page.locator("#notice")).to_contain_text("No connection to the server. Your answers are kept")
            page.close()
            process.start()
            page = page_of(process, WORKER)  # another browser: its outbox is empty
            page.goto("/select/1")
            assert int(ready(page)) == done[-1]  # reserved for this worker
            page.locator(".tile").nth(number).click()
        page.get_by_role("button", name="Submit").click()
        page.locator(f'body[data-ready="{done[-1]}"]').wait_for(state="detached")
        process.kill()
        process.start()
        hurry(page)
    ready(page)
    saved(page)
    assert [answer.item_id for answer in stored(workspace)] == done
    assert workspace.ledger.problems() == ()


def test_an_answer_in_the_outbox_is_sent_after_a_restart(process, page_of, workspace):
    page = page_of(process, WORKER)
    page.goto("/select/1")
    item = int(ready(page))
    page.locator(".tile").nth(4).click()
    process.kill()
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#notice")).to_contain_text("Your answers are kept in this browser")
    process.start()
    hurry(page)
    assert int(ready(page)) != item
    saved(page)
    assert [answer.item_id for answer in stored(workspace)] == [item]


def test_consent_qualification_with_feedback_and_first_task(workspace, server, page_of, tmp_path):
    (tmp_path / "consent.txt").write_text("You may stop at any time.")
    workspace.build.open("shapes", qualification=1, consent=tmp_path / "consent.txt")
    page = page_of(server, WORKER)
    page.goto("/")
    page.get_by_role("link", name="Begin").click()
    expect(page.get_by_text("You may stop at any time.")).to_be_visible()
    page.get_by_role("button", name="I agree").click()
    item = int(ready(page))
    expect(page.locator("#kind")).to_be_visible()
    expect(page.get_by_role("button", name="Return this task")).to_be_hidden()
    work = work_of(workspace)
    task = work.task_of(item)
    digit_of = dict(zip(task.tiles, careful(task, wrong=2), strict=True))
    for number, tile in enumerate(task.order_for(WORKER)):
        if digit_of[tile] == "1":
            page.locator(".tile").nth(number).click()
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#feedback")).to_contain_text(f"{len(task.tiles) - 2} of {len(task.tiles)} right. You passed")
    expect(page.locator(".tile.wrong")).to_have_count(2)
    assert {text in ("shows it", "does not show it") for text in page.locator(".truth").all_text_contents()} == {True}
    page.mouse.move(2, 2)
    assert faint_texts(page) == []
    before = selected(page)
    page.locator(".tile").nth(0).click()
    assert selected(page) == before  # nothing changes any more
    page.get_by_role("button", name="Continue").click()
    assert int(ready(page)) != item
    expect(page.locator("#kind")).to_be_hidden()


@pytest.fixture
def tablet(browser, server, workspace):
    """A page on a tablet, with touch and without a mouse."""
    context = new_window(
        browser, viewport={"width": 820, "height": 1180}, base_url=server.address, has_touch=True, is_mobile=True
    )
    sessions = Sessions(workspace.ledger.accounts)
    cookie = sessions.cookie_for(person(workspace, WORKER))
    context.add_cookies([{"name": sessions.cookie_name, "value": cookie, "url": server.address, "httpOnly": True}])
    page = context.new_page()
    page.goto("/select/1")
    ready(page)
    yield page
    context.close()


def test_a_tablet_selects_by_tap_enlarges_by_long_press_and_scrolls(tablet):
    assert tablet.evaluate("() => document.documentElement.scrollWidth") <= 820
    tablet.locator(".tile").nth(3).tap()
    assert selected(tablet) == [3]
    session = tablet.context.new_cdp_session(tablet)
    x, y = middle(tablet, 9)

    def finger(kind, *point):
        points = [{"x": point[0], "y": point[1]}] if point else []
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    finger("touchStart", x, y)
    expect(tablet.locator("#large")).to_be_visible()
    finger("touchEnd")
    expect(tablet.locator("#large")).to_be_hidden()
    assert selected(tablet) == [3]
    finger("touchStart", x, y)
    for step in range(1, 9):
        finger("touchMove", x, y - 40 * step)
    finger("touchEnd")
    tablet.wait_for_function("() => scrollY > 0")
    assert selected(tablet) == [3] and tablet.locator(".rectangle").count() == 0
    sizes = tablet.evaluate(
        "() => [...document.querySelectorAll('.tile, .board-actions button')].filter(e => e.checkVisibility())"
        ".map(e => Math.min(e.offsetWidth, e.offsetHeight))"
    )
    assert min(sizes) >= 44


def check_page(page, width):
    page.wait_for_load_state("networkidle")
    assert faint_texts(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [360, 820, 1280])
def test_pages_are_legible_at_every_width(server, page_of, width):
    page = page_of(server, WORKER, width=width)
    page.goto("/select/1")
    item = ready(page)
    page.locator(".tile").nth(2).click()
    check_page(page, width)
    if width == 1280:
        bottom = page.locator(".tile").last.evaluate("tile => tile.getBoundingClientRect().bottom")
        assert (
            page.locator("#grid").evaluate("grid => getComputedStyle(grid).gridTemplateColumns.split(' ').length") == 8
        )
        assert bottom <= 800  # the whole grid is visible at once
    page.goto("/work")
    check_page(page, width)
    owner = page_of(server, "Olga", width=width)
    for address in ("/builds", "/builds/shapes", "/team"):
        owner.goto(address)
        check_page(owner, width)
    assert item
