"""Accounts: invitations once and for a week, passwords as hashes, sessions that end when they should."""

import pytest
from sqlalchemy import select

from regrade.core import InputError, UnknownName
from regrade.ledger import Accounts, Role
from regrade.ledger.schema import account, invitation

PASSWORD = "correct horse battery"


@pytest.fixture
def accounts(ledger, clock):
    return Accounts(ledger.engine, clock=clock)


@pytest.fixture
def rita(ledger):
    return ledger.add_person("Rita", Role.REVIEWER)


def test_an_invitation_sets_a_password_that_then_lets_in(accounts, rita):
    word = accounts.invite(rita)
    assert accounts.invited(word) == rita
    assert accounts.accept(word, PASSWORD) == rita
    assert accounts.sign_in("Rita", PASSWORD) == rita
    assert accounts.sign_in("Rita", PASSWORD + "!") is None
    assert accounts.sign_in("Nobody", PASSWORD) is None


def test_an_invitation_works_once(accounts, rita):
    word = accounts.invite(rita)
    accounts.accept(word, PASSWORD)
    assert accounts.invited(word) is None
    with pytest.raises(UnknownName, match="used"):
        accounts.accept(word, "another password")
    assert accounts.sign_in("Rita", PASSWORD) == rita


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


def test_a_new_password_ends_earlier_sessions(accounts, rita):
    accounts.accept(accounts.invite(rita), PASSWORD)
    stamp = accounts.stamp(rita)
    assert accounts.holder(rita.id, stamp) == rita
    accounts.accept(accounts.invite(rita), "another password")
    assert accounts.holder(rita.id, stamp) is None
    assert accounts.holder(rita.id, accounts.stamp(rita)) == rita


def test_a_closed_account_lets_no_one_in_until_a_new_invitation(accounts, rita):
    accounts.accept(accounts.invite(rita), PASSWORD)
    stamp = accounts.stamp(rita)
    accounts.close(rita)
    assert accounts.closed() == {rita.id}
    assert accounts.holder(rita.id, stamp) is None
    assert accounts.holder(rita.id, accounts.stamp(rita)) is None
    assert accounts.sign_in("Rita", PASSWORD) is None
    accounts.accept(accounts.invite(rita), PASSWORD)
    assert accounts.sign_in("Rita", PASSWORD) == rita
    assert accounts.closed() == frozenset()


def test_an_account_without_a_password_cannot_sign_in(accounts, rita):
    accounts.stamp(rita)
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
