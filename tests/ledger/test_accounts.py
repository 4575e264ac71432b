"""Accounts: invitations once and for a week, passwords as hashes, sessions that end when they should."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event, Lock

import pytest
from argon2.exceptions import VerificationError
from sqlalchemy import event, func, select

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
    return ledger.add_person("Rita", Role.REVIEWER)


def test_an_invitation_sets_a_password_that_then_lets_in(accounts, rita):
    word = accounts.invite(rita)
    assert accounts.invited(word) == rita
    assert accounts.accept(word, PASSWORD).person == rita
    assert accounts.sign_in("Rita", PASSWORD).person == rita
    assert accounts.sign_in("Rita", PASSWORD + "!") is None
    assert accounts.sign_in("Nobody", PASSWORD) is None


def test_an_invitation_works_once(accounts, rita):
    word = accounts.invite(rita)
    accounts.accept(word, PASSWORD)
    assert accounts.invited(word) is None
    with pytest.raises(UnknownName, match="used"):
        accounts.accept(word, "another password")
    assert accounts.sign_in("Rita", PASSWORD).person == rita


def test_an_invitation_is_good_for_a_week(accounts, rita, clock):
    word = accounts.invite(rita)
    clock.wait(days=6)
    assert accounts.invited(word) == rita
    clock.wait(days=1)
    assert accounts.invited(word) is None


@pytest.mark.parametrize("password", ["", "ninechars", "x" * 1001])
def test_a_password_has_a_length(accounts, rita, password):
    word = accounts.invite(rita)
    with pytest.raises(InputError, match="password has 10 letters"):
        accounts.accept(word, password)
    assert accounts.invited(word) == rita


def test_neither_passwords_nor_invitations_are_kept(accounts, rita):
    word = accounts.invite(rita)
    accounts.accept(word, PASSWORD)
    with accounts.engine.connect() as connection:
        kept = str(connection.execute(select(account)).all()) + str(connection.execute(select(invitation)).all())
    assert word not in kept
    assert PASSWORD not in kept
    assert "$argon2id$" in kept


def test_accept_revokes_other_open_invitations(accounts, rita, ledger):
    first, second = accounts.invite(rita), accounts.invite(rita)
    of_rob = accounts.invite(ledger.add_person("Rob", Role.REVIEWER))
    accounts.accept(first, PASSWORD)
    assert accounts.invited(second) is None
    with pytest.raises(UnknownName, match="used"):
        accounts.accept(second, "an attacker's password")
    assert accounts.sign_in("Rita", PASSWORD) is not None
    assert accounts.invited(of_rob) is not None


def test_close_revokes_open_invitations(accounts, rita):
    word = accounts.invite(rita)
    accounts.close(rita)
    assert accounts.invited(word) is None
    with pytest.raises(UnknownName, match="used"):
        accounts.accept(word, PASSWORD)


def test_accept_lets_one_of_many_concurrent_invitations_win(accounts, rita):
    words = [accounts.invite(rita) for _ in range(6)]
    barrier = Barrier(len(words))

    def accept(word):
        barrier.wait()
        try:
            accounts.accept(word, f"password {word}")
        except UnknownName:
            return None
        return word

    with ThreadPoolExecutor(len(words)) as pool:
        accepted = [word for word in pool.map(accept, words) if word is not None]
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
        here, elsewhere = (sessions.begin(accounts.account_of(rita)) for _ in range(2))
        sessions.end(here)
        assert sessions.holder(here) is None
        assert sessions.holder(elsewhere) == rita

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

    def test_begin_is_void_if_the_password_changed_meanwhile(self, accounts, sessions, rita):
        accounts.accept(accounts.invite(rita), PASSWORD)
        proved = accounts.sign_in("Rita", PASSWORD)
        accounts.accept(accounts.invite(rita), "another password")
        assert sessions.holder(sessions.begin(proved)) is None

    def test_holder_is_no_one_after_thirty_days(self, accounts, sessions, rita, clock):
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


def test_a_closed_account_lets_no_one_in_until_a_new_invitation(accounts, sessions, rita):
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
        word = links.new()
        clock.wait(days=1)
        assert not links.use(word)

    def test_use_lets_one_of_many_in(self, links):
        word, barrier = links.new(), Barrier(6)

        def use(_):
            barrier.wait()
            return links.use(word)

        with ThreadPoolExecutor(6) as pool:
            assert sorted(pool.map(use, range(6))) == [False] * 5 + [True]


def test_an_account_without_a_password_cannot_sign_in(accounts, rita):
    accounts.account_of(rita)
    assert accounts.sign_in("Rita", "") is None


def test_the_key_stays_the_same(accounts):
    assert accounts.key() == accounts.key()
    assert len(accounts.key()) == 32


def test_the_last_owner_stays_one(ledger, rita):
    olga = ledger.add_person("Olga", Role.OWNER)
    with pytest.raises(InputError, match="only owner"):
        ledger.set_role(olga, Role.REVIEWER)
    assert ledger.set_role(rita, Role.OWNER).role is Role.OWNER
    assert ledger.set_role(olga, Role.LABELER).role is Role.LABELER
