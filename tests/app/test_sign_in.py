"""Sign-in: name and password, invitations, one-time links, and throttling."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import expect
from work_page import PASSWORD

import regrade
from regrade.app import create_app
from regrade.app.access import safe_path
from regrade.app.routes.sign_in import network_of
from regrade.ledger import Role, SignInAttempts


def test_sign_in_sets_an_http_only_cookie(visitor):
    client = visitor()
    answer = client.post("/sign-in", data={"name": "Rita", "password": PASSWORD})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Secure" not in cookie
    assert "Hello, Rita" in client.get("/").text


def test_cookie_over_https_is_secure(app):
    client = TestClient(app, base_url="https://testserver", follow_redirects=False)
    answer = client.post("/sign-in", data={"name": "Rita", "password": PASSWORD})
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    "name, password", [("Rita", "wrong password"), ("Nobody", PASSWORD), ("rita' OR 1=1 --", PASSWORD)]
)
def test_failed_sign_in_does_not_say_which_part_was_wrong(visitor, name, password):
    client = visitor()
    answer = client.post("/sign-in", data={"name": name, "password": password})
    assert answer.status_code == 401
    assert "wrong name or password" in answer.text
    assert not client.cookies


def attempt(client, name="Rita", password="wrong password", **values):
    return client.post("/sign-in", data={"name": name, "password": password, **values})


class TestThrottle:
    """With a fixed clock, so that the time of a password check does not matter."""

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

    def test_attempts_from_other_networks_do_not_lock_the_person_out(self, app):
        for number in range(4):
            attacker = self.client(app, f"203.0.113.{number}")
            while attempt(attacker).status_code != 429:
                pass
        assert attempt(self.client(app, "198.51.100.7"), password=PASSWORD).status_code == 303

    def test_addresses_of_one_network_are_counted_together(self, app):
        codes = [attempt(self.client(app, f"2001:db8::{number}")).status_code for number in range(6)]
        assert codes == [401] * 5 + [429]

    def test_right_password_resets_the_count(self, visitor):
        client = visitor()
        for _ in range(3):
            assert [attempt(client).status_code for _ in range(4)] == [401] * 4
            assert attempt(client, password=PASSWORD).status_code == 303

    def test_attempts_are_counted_across_servers(self, visitor, workspace):
        while attempt(visitor()).status_code != 429:
            pass
        second = create_app(regrade.open(workspace.store.root), local=False)
        self.stop_the_clock(second)
        assert attempt(TestClient(second), password=PASSWORD).status_code == 429
        second.state.site.ledger.engine.dispose()

    @pytest.mark.parametrize("address", ["unknown", "testclient", "fe80::1%eth0"])
    def test_network_of_accepts_odd_addresses(self, address):
        assert network_of(address)


class TestDestination:
    """A page that was requested before signing in opens after it."""

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
        word = app.state.site.accounts.invite(workspace.ledger.people.named("Rose"))
        joined = client.post(f"/join/{word}", data={"password": "a new password", "again": "a new password"})
        assert joined.headers["location"] == self.PAGE

    def test_local_link_leads_to_the_page(self, workspace):
        local = create_app(workspace, local=True)
        client = TestClient(local, follow_redirects=False)
        client.get(self.PAGE)
        assert client.get(f"/enter/{local.state.site.links.new()}").headers["location"] == self.PAGE

    def test_images_and_writes_are_not_remembered(self, visitor):
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

    def test_requests_for_other_sites_are_not_remembered(self, visitor):
        answer = visitor().get("http://testserver//evil.example/a")
        assert answer.status_code in (303, 404)
        assert "evil" not in answer.headers.get("location", "")


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_sign_in_form_of_another_site_is_refused(visitor, headers):
    answer = visitor().post("/sign-in", data={"name": "Rita", "password": PASSWORD}, headers=headers)
    assert answer.status_code == 403


def test_invited_person_sets_a_password_and_is_signed_in(visitor, app, workspace):
    site = app.state.site
    word = site.accounts.invite(workspace.ledger.people.named("Rose"))
    client = visitor()
    assert "Welcome, Rose" in client.get(f"/join/{word}").text
    differing = client.post(f"/join/{word}", data={"password": "one password", "again": "another one"})
    assert differing.status_code == 400 and "differ" in differing.text
    short = client.post(f"/join/{word}", data={"password": "short", "again": "short"})
    assert short.status_code == 400 and "10 to 1,000 characters" in short.text
    for body in ("a+new+password%00", "a+new+password%ED%A0%80"):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        refused = client.post(f"/join/{word}", content=f"password={body}&again={body}", headers=form)
        assert refused.status_code == 400 and "a password must not contain a NUL character" in refused.text
    done = client.post(f"/join/{word}", data={"password": "a new password", "again": "a new password"})
    assert done.status_code == 303
    assert "Hello, Rose" in client.get("/").text
    assert visitor().get(f"/join/{word}").status_code == 404


def sign_in(client):
    """Sign Rita in, and return the session's token."""
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


def test_used_invitation_cannot_reset_the_password(visitor, app, workspace):
    accounts, rose = app.state.site.accounts, workspace.ledger.people.named("Rose")
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

    def test_link_signs_the_owner_in_once(self, local):
        word = local.state.site.links.new()
        client = TestClient(local, follow_redirects=False)
        assert client.get("/").headers["location"] == "/sign-in"
        assert client.get("/enter/wrong").status_code == 403
        assert client.get(f"/enter/{word}").status_code == 303
        assert "Hello, Olga" in client.get("/").text
        refused = TestClient(local).get(f"/enter/{word}")
        assert refused.status_code == 403
        assert "regrade team link --address http://testserver" in refused.text

    def test_used_link_leads_home_in_the_same_browser(self, local):
        word = local.state.site.links.new()
        client = TestClient(local, follow_redirects=False)
        assert [client.get(f"/enter/{word}").headers["location"] for _ in range(2)] == ["/", "/"]
        assert "Hello, Olga" in client.get("/").text

    def test_link_of_another_process_works(self, local, workspace):
        reopened = regrade.open(workspace.store.root)
        word = reopened.ledger.links.new()
        reopened.ledger.engine.dispose()
        assert TestClient(local, follow_redirects=False).get(f"/enter/{word}").status_code == 303

    def test_server_with_accounts_refuses_links(self, app, visitor):
        assert visitor().get(f"/enter/{app.state.site.links.new()}").status_code == 403

    def test_closed_owner_account_is_skipped(self, local, workspace):
        site = local.state.site
        site.accounts.close(workspace.ledger.people.named("Olga"))
        client = TestClient(local)
        assert client.get(f"/enter/{site.links.new()}").status_code == 200
        owners = [person.name for person in workspace.ledger.people.all() if person.role is Role.OWNER]
        assert len(owners) == 2 and f"Hello, {owners[1]}" in client.get("/").text

    def test_local_server_has_no_password_form(self, local):
        client = TestClient(local, follow_redirects=False)
        answer = client.get("/sign-in")
        assert answer.status_code == 401
        assert "regrade team link" in answer.text

    def test_local_server_refuses_other_host_names(self, local):
        answer = TestClient(local, base_url="http://evil.example").get("/sign-in")
        assert answer.status_code == 400

    def test_workspace_without_people_gets_an_owner(self, tmp_path):
        workspace = regrade.init(tmp_path / "W")
        local = create_app(workspace, local=True)
        client = TestClient(local)
        assert client.get(f"/enter/{local.state.site.links.new()}").status_code == 200
        assert [person.role.value for person in workspace.ledger.people.all()] == ["owner"]


def test_sign_in_by_keyboard_in_a_browser(server, browser):
    page = browser.new_page(base_url=server.address)
    page.goto("/")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("Rita")
    page.keyboard.press("Tab")
    page.keyboard.type("wrong password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("wrong name or password")
    expect(page.get_by_label("Password")).to_be_focused()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Hello, Rita")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.close()
