"""Coming in: name and password, invitations, the one-time link, and those who try too often."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from urllib.parse import quote

import pytest
from desk import PASSWORD
from fastapi.testclient import TestClient
from playwright.sync_api import expect

import regrade
from regrade.app import create_app
from regrade.app.client_network import network_of
from regrade.app.destinations import safe_path
from regrade.ledger import OneTimeLinks, Role, SignInAttempts


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
    assert not client.cookies


def attempt(client, name="Rita", password="wrong password", **values):
    return client.post("/sign-in", data={"name": name, "password": password, **values})


class TestThrottle:
    """At one moment: how long a password takes to check does not matter."""

    NOW = datetime(2026, 1, 1, tzinfo=UTC)

    @classmethod
    def stop_the_clock(cls, app):
        app.state.site.attempts = SignInAttempts(app.state.site.ledger.engine, clock=lambda: cls.NOW)

    @pytest.fixture(autouse=True)
    def _stopped(self, app):
        self.stop_the_clock(app)

    @staticmethod
    def client(app, host):
        return TestClient(app, follow_redirects=False, client=(host, 50_000))

    def test_too_many_attempts_wait_with_the_right_password_too(self, visitor):
        client = visitor()
        assert [attempt(client).status_code for _ in range(6)] == [401] * 5 + [429]
        answer = attempt(client, password=PASSWORD)
        assert answer.status_code == 429
        assert "wait" in answer.text
        assert int(answer.headers["retry-after"]) >= 1

    def test_concurrent_wrong_passwords_are_all_counted(self, app, monkeypatch):
        checked, barrier = [], Barrier(12)
        monkeypatch.setattr(app.state.site.accounts, "sign_in", lambda *given: checked.append(given))

        def sign_in(_):
            with TestClient(app) as client:
                barrier.wait()
                return attempt(client).status_code

        with ThreadPoolExecutor(12) as pool:
            codes = sorted(pool.map(sign_in, range(12)))
        assert codes == [401] * 5 + [429] * 7
        assert len(checked) == 5

    def test_an_attacker_elsewhere_does_not_lock_the_person_out(self, app):
        for number in range(4):
            attacker = self.client(app, f"203.0.113.{number}")
            while attempt(attacker).status_code != 429:
                pass
        assert attempt(self.client(app, "198.51.100.7"), password=PASSWORD).status_code == 303

    def test_addresses_of_one_network_are_counted_together(self, app):
        codes = [attempt(self.client(app, f"2001:db8::{number}")).status_code for number in range(6)]
        assert codes == [401] * 5 + [429]

    def test_the_right_password_starts_over(self, visitor):
        client = visitor()
        for _ in range(3):
            assert [attempt(client).status_code for _ in range(4)] == [401] * 4
            assert attempt(client, password=PASSWORD).status_code == 303

    def test_a_second_server_of_the_ledger_counts_along(self, visitor, workspace):
        while attempt(visitor()).status_code != 429:
            pass
        second = create_app(regrade.open(workspace.store.root), local=False)
        self.stop_the_clock(second)
        assert attempt(TestClient(second), password=PASSWORD).status_code == 429
        second.state.site.ledger.engine.dispose()

    @pytest.mark.parametrize("address", ["unknown", "testclient", "fe80::1%eth0"])
    def test_network_of_odd_addresses_is_a_text(self, address):
        assert network_of(address)


class TestDestination:
    """A page that was asked for before signing in is where someone lands."""

    PAGE = "/panel/3/17?show=all&class=a%2Fb"

    def test_sign_in_leads_to_the_page(self, visitor):
        client = visitor()
        sent = client.get(self.PAGE)
        assert sent.status_code == 303 and sent.headers["location"].startswith("/sign-in?next=/panel/3/17%3F")
        form = client.get(sent.headers["location"]).text
        assert 'name="next" value="/panel/3/17?show=all&amp;class=a%2Fb"' in form
        again = attempt(client, next=self.PAGE)
        assert again.status_code == 401 and 'name="next"' in again.text
        assert attempt(client, password=PASSWORD, next=self.PAGE).headers["location"] == self.PAGE
        assert attempt(client, password=PASSWORD).headers["location"] == "/"

    def test_joining_leads_to_the_page(self, visitor, app, workspace):
        client = visitor()
        client.get(self.PAGE)
        word = app.state.site.accounts.invite(workspace.ledger.person("Rose"))
        joined = client.post(f"/join/{word}", data={"password": "a new password", "again": "a new password"})
        assert joined.headers["location"] == self.PAGE

    def test_the_local_link_leads_to_the_page(self, workspace):
        local = create_app(workspace, local=True)
        client = TestClient(local, follow_redirects=False)
        client.get(self.PAGE)
        assert client.get(f"/enter/{local.state.site.links.new()}").headers["location"] == self.PAGE

    def test_images_and_writes_are_no_destination(self, visitor):
        client = visitor()
        client.get("/images/abc", headers={"Sec-Fetch-Dest": "image"})
        client.post("/team/people", data={"name": "x"})
        assert attempt(client, password=PASSWORD).headers["location"] == "/"

    @pytest.mark.parametrize(
        "path",
        ["//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example/",
         "evil.example", "javascript:alert(1)", "/\t/evil.example",
         "/a\r\nSet-Cookie: x=1", "/a\x00b", "", "/sign-in", "/sign-out",
         "/enter/x", "/" + "a" * 2000],
    )  # fmt: skip
    def test_other_sites_and_odd_paths_lead_home(self, visitor, path):
        assert safe_path(path) is None
        client = visitor()
        client.cookies.set(f"{client.app.state.site.sessions.cookie_name}_next", quote(path, safe=""))
        answer = client.post("/sign-in", data={"name": "Rita", "password": PASSWORD, "next": path})
        if answer.status_code != 422:  # too long for the form
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
            assert len(answer.headers.get_list("set-cookie")) == 2
        assert 'name="next"' not in client.get("/sign-in", params={"next": path}).text

    def test_a_request_for_another_site_is_no_destination(self, visitor):
        answer = visitor().get("http://testserver//evil.example/a")
        assert answer.status_code in (303, 404)
        assert "evil" not in answer.headers.get("location", "")


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
    assert short.status_code == 400 and "10 to 1,000 characters" in short.text
    done = client.post(f"/join/{word}", data={"password": "a new password", "again": "a new password"})
    assert done.status_code == 303
    assert "Hello, Rose" in client.get("/").text
    assert visitor().get(f"/join/{word}").status_code == 404


def sign_in(client):
    """Sign Rita in, and give the session's token."""
    assert attempt(client, password=PASSWORD).status_code == 303
    return client.get("/").text.split('name="token" content="')[1].split('"')[0]


def test_sign_out_ends_the_session_for_every_copy_of_its_cookie(visitor):
    client, thief, elsewhere = visitor(), visitor(), visitor()
    token = sign_in(client)
    sign_in(elsewhere)
    thief.cookies.update(client.cookies)
    assert thief.get("/").status_code == 200
    assert client.post("/sign-out", data={"token": token}).status_code == 303
    assert client.get("/").status_code == 303
    assert thief.get("/").status_code == 303
    assert thief.post("/sign-out", data={"token": token}).status_code == 303
    assert elsewhere.get("/").status_code == 200


def test_sign_in_ends_the_browsers_earlier_session(visitor):
    client, thief = visitor(), visitor()
    sign_in(client)
    thief.cookies.update(client.cookies)
    sign_in(client)
    assert client.get("/").status_code == 200
    assert thief.get("/").status_code == 303


def test_an_invitation_that_was_left_open_resets_no_password(visitor, app, workspace):
    accounts, rose = app.state.site.accounts, workspace.ledger.person("Rose")
    kept, used = accounts.invite(rose), accounts.invite(rose)
    visitor().post(f"/join/{used}", data={"password": "a new password", "again": "a new password"})
    stolen = visitor().post(f"/join/{kept}", data={"password": "a stolen account", "again": "a stolen account"})
    assert stolen.status_code == 404
    assert attempt(visitor(), name="Rose", password="a new password").status_code == 303


def test_two_servers_of_one_host_do_not_sign_each_other_out(visitor, workspace, tmp_path):
    shutil.copytree(workspace.store.root, tmp_path / "copy")
    second = create_app(regrade.open(tmp_path / "copy"), local=False)
    original, copied = visitor(), TestClient(second, follow_redirects=False)
    sign_in(original)
    copied.cookies = original.cookies  # browsers do not separate cookies by port
    sign_in(copied)
    assert original.get("/").status_code == 200
    assert copied.get("/").status_code == 200
    second.state.site.ledger.engine.dispose()


class TestOneTimeLink:
    @pytest.fixture
    def local(self, workspace):
        return create_app(workspace, local=True)

    def test_it_lets_the_owner_in_once(self, local):
        word = local.state.site.links.new()
        client = TestClient(local, follow_redirects=False)
        assert client.get("/").headers["location"] == "/sign-in"
        assert client.get("/enter/wrong").status_code == 403
        assert client.get(f"/enter/{word}").status_code == 303
        assert "Hello, Olga" in client.get("/").text
        refused = TestClient(local).get(f"/enter/{word}")
        assert refused.status_code == 403
        assert "regrade team link --address http://testserver" in refused.text

    def test_the_same_link_again_leads_home_where_it_was_used(self, local):
        word = local.state.site.links.new()
        client = TestClient(local, follow_redirects=False)
        assert [client.get(f"/enter/{word}").headers["location"] for _ in range(2)] == ["/", "/"]
        assert "Hello, Olga" in client.get("/").text

    def test_a_link_that_another_process_made_works(self, local, workspace):
        reopened = regrade.open(workspace.store.root)
        word = OneTimeLinks(reopened.ledger.engine).new()
        reopened.ledger.engine.dispose()
        assert TestClient(local, follow_redirects=False).get(f"/enter/{word}").status_code == 303

    def test_a_server_with_accounts_takes_no_link(self, app, visitor):
        assert visitor().get(f"/enter/{app.state.site.links.new()}").status_code == 403

    def test_a_closed_owner_is_passed_over(self, local, workspace):
        site = local.state.site
        site.accounts.close(workspace.ledger.person("Olga"))
        client = TestClient(local)
        assert client.get(f"/enter/{site.links.new()}").status_code == 200
        owners = [person.name for person in workspace.ledger.people() if person.role is Role.OWNER]
        assert len(owners) == 2 and f"Hello, {owners[1]}" in client.get("/").text

    def test_passwords_are_of_no_use_there(self, local):
        client = TestClient(local, follow_redirects=False)
        answer = client.get("/sign-in")
        assert answer.status_code == 401
        assert "regrade team link" in answer.text

    def test_another_name_for_this_machine_is_refused(self, local):
        answer = TestClient(local, base_url="http://evil.example").get("/sign-in")
        assert answer.status_code == 400

    def test_a_workspace_without_people_gets_its_owner(self, tmp_path):
        found = regrade.init(tmp_path / "W")
        local = create_app(found, local=True)
        client = TestClient(local)
        assert client.get(f"/enter/{local.state.site.links.new()}").status_code == 200
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
