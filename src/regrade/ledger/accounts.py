"""Who may come in: passwords (argon2id), invitations, and a stamp whose change ends all of a person's sessions."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Semaphore

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from sqlalchemy import ColumnElement, Connection, Engine, Update, insert, select, update

from regrade.core import InputError, UnknownName
from regrade.ledger.clock import now_in_utc
from regrade.ledger.database import snapshot, writing
from regrade.ledger.members import Member, members
from regrade.ledger.record_mapping import record_of
from regrade.ledger.records import Person
from regrade.ledger.schema import account, invitation, person, secret
from regrade.ledger.secret_words import digest_of, new_word
from regrade.ledger.upsert import put, put_once

INVITED_FOR = timedelta(days=7)
"""How long an invitation is good for."""

SHORTEST = 10
"""The fewest letters of a password."""

_LONGEST = 1000
_HASHER = PasswordHasher()
_HASHING = Semaphore(4)  # hashes at a time: each takes 64 MiB, and anyone may ask for one
_NO_ONES = _HASHER.hash(secrets.token_hex())  # checked where there is no account, so that it takes as long


@dataclass(frozen=True)
class OpenAccount:
    """An account that someone has proved to be theirs; a session of another ``stamp`` than the account's has ended."""

    person: Person
    stamp: str


class Accounts:
    """The accounts of a ledger's people. Neither passwords nor invitations are kept, only their hashes."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def key(self) -> bytes:
        """The secret that cookies and addresses are signed with, made once for a ledger."""
        with writing(self.engine) as connection:
            put_once(connection, secret, {"name": "key"}, value=secrets.token_hex(32))
            return bytes.fromhex(connection.execute(select(secret.c.value).where(secret.c.name == "key")).scalar_one())

    def invite(self, whom: Person) -> str:
        """A word that lets someone set a password, once and for a week; it is told here and nowhere else."""
        word = new_word()
        until = self._now() + INVITED_FOR
        with writing(self.engine) as connection:
            connection.execute(insert(invitation).values(digest=digest_of(word), person_id=whom.id, until=until))
        return word

    def invited(self, word: str) -> Person | None:
        """Whom an invitation is for, if it is still good."""
        with self.engine.connect() as connection:
            someone = connection.execute(select(invitation.c.person_id).where(*self._is_good(word))).scalar()
            return None if someone is None else _person(connection, someone)

    def accept(self, word: str, password: str) -> OpenAccount:
        """Set a password by an invitation; all earlier sessions and all invitations of the account end."""
        _check_password(password)
        invited = self.invited(word)
        if invited is None:  # found out before the hash, which is made to be slow
            raise _no_invitation(word)
        with _HASHING:
            hashed = _HASHER.hash(password)
        with writing(self.engine) as connection:
            _lock_person(connection, invited.id)
            if not connection.execute(self._revoke(*self._is_good(word))).rowcount:
                raise _no_invitation(word)
            connection.execute(self._revoke(invitation.c.person_id == invited.id))
            stamp = _new_stamp()
            put(connection, account, {"person_id": invited.id}, password=hashed, stamp=stamp, closed=None)
            return OpenAccount(_person(connection, invited.id), stamp)

    def sign_in(self, name: str, password: str) -> OpenAccount | None:
        """The account of a name and password, or none."""
        named = select(person, account.c.password, account.c.stamp).join(account, account.c.person_id == person.c.id)
        named = named.where(person.c.name == name, account.c.closed.is_(None), account.c.password.isnot(None))
        with self.engine.connect() as connection:
            row = connection.execute(named).mappings().first()
        try:
            with _HASHING:
                _HASHER.verify(_NO_ONES if row is None else row["password"], password[:_LONGEST])
        except VerificationError:
            return None
        return None if row is None else OpenAccount(record_of(Person, row), row["stamp"])

    def account_of(self, whom: Person) -> OpenAccount:
        """Someone's account; whoever has none yet gets one without a password."""
        with writing(self.engine) as connection:
            put_once(connection, account, {"person_id": whom.id}, stamp=_new_stamp())
            stamp = select(account.c.stamp).where(account.c.person_id == whom.id)
            return OpenAccount(whom, connection.execute(stamp).scalar_one())

    def end_sessions(self, whom: Person) -> None:
        """Sign someone out of every browser; their password stays."""
        with writing(self.engine) as connection:
            changed = update(account).where(account.c.person_id == whom.id).values(stamp=_new_stamp())
            connection.execute(changed)

    def close(self, whom: Person) -> None:
        """Let someone in no more: sessions and invitations end, what they said stays.

        A new invitation opens the account again.
        """
        with writing(self.engine) as connection:
            _lock_person(connection, whom.id)
            connection.execute(self._revoke(invitation.c.person_id == whom.id))
            put(
                connection, account, {"person_id": whom.id}, password=None, stamp=_new_stamp(), closed=self._now()
            )  # fmt: skip

    def members(self) -> tuple[Member, ...]:
        """Everyone, in the order in which they were added: whether they are invited, have joined, or are closed."""
        with snapshot(self.engine) as connection:
            return members(connection, now=self._now(), invited_for=INVITED_FOR)

    def _is_good(self, word: str) -> tuple[ColumnElement[bool], ...]:
        """Whether an invitation is this one, neither used nor out of date."""
        return invitation.c.digest == digest_of(word), invitation.c.used.is_(None), invitation.c.until > self._now()

    def _revoke(self, *which: ColumnElement[bool]) -> Update:
        return update(invitation).where(invitation.c.used.is_(None), *which).values(used=self._now())


def _check_password(password: str) -> None:
    if not SHORTEST <= len(password) <= _LONGEST:
        raise InputError(f"a password has {SHORTEST} letters or more, and at most {_LONGEST:,}")


def _no_invitation(word: str) -> UnknownName:
    return UnknownName("invitation", word[:4] + "...", None, hint=": it was used, or is out of date")


def _new_stamp() -> str:
    return secrets.token_hex(8)


def _lock_person(connection: Connection, person_id: int) -> None:
    """Let no one else change this person's account or invitations until the transaction ends."""
    connection.execute(select(person.c.id).where(person.c.id == person_id).with_for_update(key_share=True))


def _person(connection: Connection, person_id: int) -> Person:
    return record_of(Person, connection.execute(select(person).where(person.c.id == person_id)).mappings().one())
