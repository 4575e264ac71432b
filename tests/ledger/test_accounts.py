"""Accounts: invitations, passwords, browser sessions, members and one-time links."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event, Lock

import pytest
from argon2.exceptions import VerificationError
from sqlalchemy import event, func, select
from sqlalchemy.exc import IntegrityError

from regrade.core import InputError, UnknownName
from regrade.ledger import Accounts, AccountState, BrowserSessions, OneTimeLinks, Role
from regrade.ledger.schema import account, browser_session, invitation

PASSWORD = "correct horse battery"


@pytest.fixture
def accounts(ledger, clock):
    return Accounts(ledger.engine, clock=clock)


@pytest.fixture
def sessions(ledger, clock):
    return BrowserSessions(ledger.engine, clock=clock)


@pytest.fixture
def rita(ledger):
    return ledger.people.add("Rita", Role.REVIEWER)


def test_accept_sets_the_password_for_sign_in(accounts, rita):
    token = accounts.invite(rita)
    assert accounts.invited(token) == rita
    assert accounts.accept(token, PASSWORD).person == rita
    assert accounts.sign_in("Rita", PASSWORD).person == rita
    assert accounts.sign_in("Rita", PASSWORD + "!") is None
    assert accounts.sign_in("Nobody", PASSWORD) is None


def test_accept_rejects_a_used_invitation(accounts, rita):
    token = accounts.invite(rita)
    accounts.accept(token, PASSWORD)
    assert accounts.invited(token) is None
    with pytest.raises(UnknownName, match="used"):
        accounts.accept(token, "another password")
    assert accounts.sign_in("Rita", PASSWORD).person == rita


def test_invitation_expires_after_a_week(accounts, rita, clock):
    token = accounts.invite(rita)
    clock.wait(days=6)
    assert accounts.invited(token) == rita
    clock.wait(days=1)
    assert accounts.invited(token) is None


@pytest.mark.parametrize("password", ["", "ninechars", "x" * 1001])
def test_accept_rejects_short_and_long_passwords(accounts, rita, password):
    token = accounts.invite(rita)
    with pytest.raises(InputError, match="password must have 10 to"):
        accounts.accept(token, password)
    assert accounts.invited(token) == rita


@pytest.mark.parametrize("character", ["\0", "\ud83d", "\ufffd"])
def test_accept_rejects_passwords_that_are_not_valid_text(accounts, rita, character):
    token, password = accounts.invite(rita), f"a long password{character}"
    with pytest.raises(InputError, match="password must not contain a NUL character"):
        accounts.accept(token, password)
    assert accounts.invited(token) == rita
    assert accounts.sign_in(rita.name, password) is None


def test_passwords_and_invitations_are_stored_as_hashes(accounts, rita):
    token = accounts.invite(rita)
    accounts.accept(token, PASSWORD)
    with accounts.engine.connect() as connection:
        stored = str(connection.execute(select(account)).all()) + str(connection.execute(select(invitation)).all())
    assert token not in stored
    assert PASSWORD not in stored
    assert "$argon2id$" in stored


def test_accept_revokes_other_open_invitations(accounts, rita, ledger):
    first, second = accounts.invite(rita), accounts.invite(rita)
    of_rob = accounts.invite(ledger.people.add("Rob", Role.REVIEWER))
    accounts.accept(first, PASSWORD)
    assert accounts.invited(second) is None
    with pytest.raises(UnknownName, match="used"):
        accounts.accept(second, "an attacker's password")
    assert accounts.sign_in("Rita", PASSWORD) is not None
    assert accounts.invited(of_rob) is not None


def test_close_revokes_open_invitations(accounts, rita):
    token = accounts.invite(rita)
    accounts.close(rita)
    assert accounts.invited(token) is None
    with pytest.raises(UnknownName, match="used"):
        accounts.accept(token, PASSWORD)


def test_accept_allows_one_of_many_concurrent_invitations(accounts, rita):
    tokens = [accounts.invite(rita) for _ in range(6)]
    barrier = Barrier(len(tokens))

    def accept(token):
        barrier.wait()
        try:
            accounts.accept(token, f"password {token}")
        except UnknownName:
            return None
        return token

    with ThreadPoolExecutor(len(tokens)) as pool:
        accepted = [token for token in pool.map(accept, tokens) if token is not None]
    assert len(accepted) == 1
    assert accounts.sign_in("Rita", f"password {accepted[0]}") is not None


def test_accept_checks_the_invitation_before_the_slow_hash(accounts, monkeypatch):
    monkeypatch.setattr("regrade.ledger.accounts._HASHER", None)
    with pytest.raises(UnknownName):
        accounts.accept("no invitation", PASSWORD)


def test_sign_in_hashes_few_passwords_at_a_time(accounts, monkeypatch):
    running, most, lock = [], [], Lock()

    class Hasher:
        def verify(self, *_):
            with lock:
                running.append(None)
                most.append(len(running))
                if len(running) == 4:
                    four.set()
            four.wait()
            with lock:
                running.pop()
            raise VerificationError

    four = Event()
    monkeypatch.setattr("regrade.ledger.accounts._HASHER", Hasher())
    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(lambda _: accounts.sign_in("Rita", PASSWORD), range(12))) == [None] * 12
    assert max(most) == 4


class TestBrowserSessions:
    def test_holder_is_the_person_who_signed_in(self, accounts, sessions, rita):
        accounts.accept(accounts.invite(rita), PASSWORD)
        token = sessions.begin(accounts.sign_in("Rita", PASSWORD))
        assert sessions.holder(token) == rita
        assert sessions.holder(token[:-1]) is None
        assert sessions.holder("") is None

    def test_end_leaves_other_sessions_alone(self, accounts, sessions, rita):
        ended, kept = (sessions.begin(accounts.account_of(rita)) for _ in range(2))
        sessions.end(ended)
        assert sessions.holder(ended) is None
        assert sessions.holder(kept) == rita

    def test_end_sessions_ends_all_and_keeps_the_password(self, accounts, sessions, rita):
        tokens = [sessions.begin(accounts.accept(accounts.invite(rita), PASSWORD))]
        tokens += [sessions.begin(accounts.account_of(rita)) for _ in range(2)]
        accounts.end_sessions(rita)
        assert [sessions.holder(token) for token in tokens] == [None] * 3
        assert sessions.holder(sessions.begin(accounts.sign_in("Rita", PASSWORD))) == rita

    def test_accept_ends_earlier_sessions(self, accounts, sessions, rita):
        before = sessions.begin(accounts.accept(accounts.invite(rita), PASSWORD))
        after = sessions.begin(accounts.accept(accounts.invite(rita), "another password"))
        assert sessions.holder(before) is None
        assert sessions.holder(after) == rita

    def test_begin_is_invalid_if_the_password_changed_meanwhile(self, accounts, sessions, rita):
        accounts.accept(accounts.invite(rita), PASSWORD)
        proved = accounts.sign_in("Rita", PASSWORD)
        accounts.accept(accounts.invite(rita), "another password")
        assert sessions.holder(sessions.begin(proved)) is None

    def test_holder_is_none_after_thirty_days(self, accounts, sessions, rita, clock):
        token = sessions.begin(accounts.account_of(rita))
        clock.wait(days=29)
        assert sessions.holder(token) == rita
        clock.wait(days=1)
        assert sessions.holder(token) is None

    def test_begin_deletes_sessions_that_are_too_old(self, accounts, sessions, rita, clock):
        for _ in range(3):
            sessions.begin(accounts.account_of(rita))
        clock.wait(days=31)
        sessions.begin(accounts.account_of(rita))
        with accounts.engine.connect() as connection:
            assert connection.execute(select(func.count()).select_from(browser_session)).scalar_one() == 1

    def test_tokens_are_not_stored(self, accounts, sessions, rita):
        token = sessions.begin(accounts.account_of(rita))
        with accounts.engine.connect() as connection:
            assert token not in str(connection.execute(select(browser_session)).all())

    def test_holder_costs_one_statement(self, accounts, sessions, rita):
        token = sessions.begin(accounts.account_of(rita))
        statements = []
        event.listen(accounts.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
        sessions.holder(token)
        assert len([statement for statement in statements if not statement.startswith("BEGIN")]) == 1


def test_closed_account_needs_a_new_invitation(accounts, sessions, rita):
    token = sessions.begin(accounts.accept(accounts.invite(rita), PASSWORD))
    accounts.close(rita)
    assert [member.state for member in accounts.members()] == [AccountState.CLOSED]
    assert sessions.holder(token) is None
    assert sessions.holder(sessions.begin(accounts.account_of(rita))) is None
    assert accounts.sign_in("Rita", PASSWORD) is None
    accounts.accept(accounts.invite(rita), PASSWORD)
    assert accounts.sign_in("Rita", PASSWORD).person == rita
    assert [member.state for member in accounts.members()] == [AccountState.JOINED]


class TestMembers:
    def state(self, accounts, clock):
        (member,) = accounts.members()
        return member.state, member.in_words(clock.time)

    def test_an_invitation_is_open_then_expired(self, accounts, rita, clock):
        assert self.state(accounts, clock) == (AccountState.NONE, "no password")
        accounts.invite(rita)
        assert self.state(accounts, clock) == (AccountState.INVITED, "invited just now, expires in 7 days")
        clock.wait(days=2)
        assert self.state(accounts, clock) == (AccountState.INVITED, "invited 2 days ago, expires in 5 days")
        clock.wait(days=5)
        assert self.state(accounts, clock) == (AccountState.EXPIRED, "invitation expired")

    def test_joined_closed_and_invited_again(self, accounts, rita, clock):
        accounts.accept(accounts.invite(rita), PASSWORD)
        assert self.state(accounts, clock) == (AccountState.JOINED, "joined")
        accounts.close(rita)
        assert self.state(accounts, clock) == (AccountState.CLOSED, "closed")
        accounts.invite(rita)
        assert self.state(accounts, clock)[1] == "closed; invited just now, expires in 7 days"

    def test_seen_follows_requests_to_within_five_minutes(self, accounts, sessions, rita, clock):
        assert accounts.members()[0].seen is None
        token = sessions.begin(accounts.account_of(rita))
        begun = accounts.members()[0].seen
        clock.wait(minutes=2)
        sessions.holder(token)
        assert accounts.members()[0].seen == begun
        clock.wait(minutes=4)
        sessions.holder(token)
        assert timedelta(minutes=5) < accounts.members()[0].seen - begun < timedelta(minutes=7)


class TestOneTimeLinks:
    @pytest.fixture
    def links(self, ledger, clock):
        return OneTimeLinks(ledger.engine, clock=clock)

    def test_use_works_once(self, links):
        first, second = links.new(), links.new()
        assert not links.use("no link")
        assert (links.use(first), links.use(first), links.use(second)) == (True, False, True)

    def test_use_ends_after_a_day(self, links, clock):
        token = links.new()
        clock.wait(days=1)
        assert not links.use(token)

    def test_use_succeeds_for_one_of_many_concurrent_calls(self, links):
        token, barrier = links.new(), Barrier(6)

        def use(_):
            barrier.wait()
            return links.use(token)

        with ThreadPoolExecutor(6) as pool:
            assert sorted(pool.map(use, range(6))) == [False] * 5 + [True]


def test_sign_in_rejects_an_account_without_a_password(accounts, rita):
    accounts.account_of(rita)
    assert accounts.sign_in("Rita", "") is None


def test_key_does_not_change(accounts):
    assert accounts.key() == accounts.key()
    assert len(accounts.key()) == 32


def test_set_role_keeps_the_last_owner(ledger, rita):
    olga = ledger.people.add("Olga", Role.OWNER)
    with pytest.raises(InputError, match="only owner"):
        ledger.people.set_role(olga, Role.REVIEWER)
    assert ledger.people.set_role(rita, Role.OWNER).role is Role.OWNER
    assert ledger.people.set_role(olga, Role.LABELER).role is Role.LABELER


def test_invite_new_adds_a_person_and_an_invitation_or_neither(ledger, accounts, monkeypatch):
    invited = accounts.invite_new("Nora", Role.LABELER)
    assert accounts.invited(invited.token) == invited.person == ledger.people.named("Nora")
    monkeypatch.setattr("regrade.ledger.accounts.new_token", lambda: invited.token)  # rejected: it is taken
    with pytest.raises(IntegrityError):
        accounts.invite_new("Nils", Role.LABELER)
    assert [person.name for person in ledger.people.all()].count("Nils") == 0
