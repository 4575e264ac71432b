"""Coming in: name and password, invitations, the one-time link, and those who try too often."""

import pytest
from desk import PASSWORD
from fastapi.testclient import TestClient
from playwright.sync_api import expect

import regrade
from regrade.app import create_app
from regrade.app.sessions import COOKIE
from regrade.app.throttle import Throttle


def test_name_and_password_let_in_by_a_cookie_that_no_script_reads(visitor):
    client = visitor()
    answer = client.post("/sign-in", data={"name": "Rita", "password": PASSWORD})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Secure" not in cookie
    assert "Hello, Rita" in client.get("/").text


def test_a_cookie_over_https_stays_there(app):
    client = TestClient(app, base_url="https://testserver", follow_redirects=False)
    answer = client.post("/sign-in", data={"name": "Rita", "password": PASSWORD})
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    "name, password", [("Rita", "wrong password"), ("Nobody", PASSWORD), ("rita' OR 1=1 --", PASSWORD)]
)
def test_anything_else_does_not_and_does_not_say_which_part_was_wrong(visitor, name, password):
    client = visitor()
    answer = client.post("/sign-in", data={"name": name, "password": password})
    assert answer.status_code == 401
    assert "name or password is not right" in answer.text
    assert COOKIE not in client.cookies


def test_whoever_tries_too_often_has_to_wait_with_the_right_password_too(visitor):
    client = visitor()
    for _ in range(6):
        client.post("/sign-in", data={"name": "Rita", "password": "wrong password"})
    answer = client.post("/sign-in", data={"name": "Rita", "password": PASSWORD})
    assert answer.status_code == 429
    assert "wait" in answer.text


def test_the_wait_doubles_up_to_a_quarter_of_an_hour_and_ends():
    time = [0.0]
    throttle = Throttle(clock=lambda: time[0])
    waits = []
    for _ in range(20):
        throttle.failed("name Rita")
        waits.append(throttle.wait("name Rita", "address 1"))
    assert waits[:7] == [0, 0, 0, 0, 1, 2, 4]
    assert waits[-1] == 900
    time[0] += 900
    assert throttle.wait("name Rita") == 0
    throttle.succeeded("name Rita")
    throttle.failed("name Rita")
    assert throttle.wait("name Rita") == 0


def test_failures_of_an_hour_ago_are_forgotten():
    time = [0.0]
    throttle = Throttle(clock=lambda: time[0])
    for _ in range(5):
        throttle.failed("name Rita")
    time[0] += 3601
    throttle.failed("name Rita")
    assert throttle.wait("name Rita") == 0


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_another_site_cannot_sign_someone_in(visitor, headers):
    answer = visitor().post("/sign-in", data={"name": "Rita", "password": PASSWORD}, headers=headers)
    assert answer.status_code == 403


def test_an_invited_person_chooses_a_password_and_is_in(visitor, app, workspace):
    site = app.state.site
    word = site.accounts.invite(workspace.ledger.person("Rose"))
    client = visitor()
    assert "Welcome, Rose" in client.get(f"/join/{word}").text
    differing = client.post(f"/join/{word}", data={"password": "one password", "again": "another one"})
    assert differing.status_code == 400 and "differ" in differing.text
    short = client.post(f"/join/{word}", data={"password": "short", "again": "short"})
    assert short.status_code == 400 and "10 letters" in short.text
    done = client.post(f"/join/{word}", data={"password": "a new password", "again": "a new password"})
    assert done.status_code == 303
    assert "Hello, Rose" in client.get("/").text
    assert visitor().get(f"/join/{word}").status_code == 404


def test_signing_out_forgets_the_session(visitor):
    client = visitor()
    client.post("/sign-in", data={"name": "Rita", "password": PASSWORD})
    token = client.get("/").text.split('name="token" content="')[1].split('"')[0]
    assert client.post("/sign-out", data={"token": token}).status_code == 303
    assert client.get("/").status_code == 303


class TestOneTimeLink:
    @pytest.fixture
    def local(self, workspace):
        return create_app(workspace, local=True)

    def test_it_lets_the_owner_in_once(self, local):
        word = local.state.site.one_time_word
        client = TestClient(local, follow_redirects=False)
        assert client.get("/").headers["location"] == "/sign-in"
        assert client.get("/enter/wrong").status_code == 403
        assert client.get(f"/enter/{word}").status_code == 303
        assert "Hello, Olga" in client.get("/").text
        assert TestClient(local).get(f"/enter/{word}").status_code == 403

    def test_passwords_are_of_no_use_there(self, local):
        client = TestClient(local, follow_redirects=False)
        assert client.get("/sign-in").status_code == 401

    def test_another_name_for_this_machine_is_refused(self, local):
        answer = TestClient(local, base_url="http://evil.example").get("/sign-in")
        assert answer.status_code == 400

    def test_a_workspace_without_people_gets_its_owner(self, tmp_path):
        found = regrade.init(tmp_path / "W")
        local = create_app(found, local=True)
        client = TestClient(local)
        assert client.get(f"/enter/{local.state.site.one_time_word}").status_code == 200
        assert [one.role.value for one in found.ledger.people()] == ["owner"]


def test_someone_signs_in_by_keyboard_in_a_browser(server, browser):
    page = browser.new_page(base_url=server.address)
    page.goto("/")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("Rita")
    page.keyboard.press("Tab")
    page.keyboard.type("wrong password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("name or password is not right")
    expect(page.get_by_label("Password")).to_be_focused()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Hello, Rita")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.close()
