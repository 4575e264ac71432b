"""Accounts: passwords (argon2id), invitations, the state of each, and a stamp that is changed to end all sessions."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from threading import Semaphore
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    RowMapping,
    Select,
    Update,
    and_,
    case,
    func,
    insert,
    select,
    update,
)

from regrade.core import InputError, UnknownName
from regrade.core.amounts import ago, duration
from regrade.core.panel import Role
from regrade.ledger.database import put, put_once, snapshot, writing
from regrade.ledger.people import add_person
from regrade.ledger.records import Person, record_of
from regrade.ledger.schema import account, browser_session, invitation, is_valid_text, now_in_utc, person, secret

INVITED_FOR = timedelta(days=7)
"""Lifetime of an invitation."""

_REPLACED = "\ufffd"  # stands for bytes of a form that are not valid UTF-8: different passwords would be equal
SHORTEST = 10
"""Minimum length of a password in characters."""

_LONGEST = 1000
_HASHER = PasswordHasher()
_HASHING = Semaphore(4)  # limits concurrent hashes: each takes 64 MiB, and anyone can trigger one
_DUMMY_HASH = _HASHER.hash(secrets.token_hex())  # verified for unknown names, so that the time does not tell


@dataclass(frozen=True)
class OpenAccount:
    """An account whose owner has signed in; sessions with another ``stamp`` than the account's have ended."""

    person: Person
    stamp: str


@dataclass(frozen=True)
class Invitation:
    """A new person, and the token with which they can set their password once."""

    person: Person
    token: str


class AccountState(StrEnum):
    """The state of a person's account."""

    NONE = "none"
    INVITED = "invited"
    EXPIRED = "expired"
    JOINED = "joined"
    CLOSED = "closed"


_IN_WORDS = {
    AccountState.NONE: "no password",
    AccountState.INVITED: "",
    AccountState.EXPIRED: "invitation expired",
    AccountState.JOINED: "joined",
    AccountState.CLOSED: "closed",
}


@dataclass(frozen=True)
class Member:
    """A person and their account; ``expires`` is when the newest valid invitation expires, if there is one.

    ``seen`` is when they last sent a request, to within five minutes; ``browsers`` counts the signed-in browsers.
    """

    person: Person
    state: AccountState
    invited: datetime | None
    expires: datetime | None
    seen: datetime | None
    browsers: int

    def in_words(self, now: datetime) -> str:
        """The state of the account as text."""
        waiting = ""
        if self.invited is not None and self.expires is not None:
            since, left = (now - self.invited).total_seconds(), (self.expires - now).total_seconds()
            waiting = f"invited {ago(since)}, expires in {duration(left)}"
        return "; ".join(filter(None, (_IN_WORDS[self.state], waiting)))


class Accounts:
    """The accounts of the people in a ledger. Passwords and invitations are stored as hashes only."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def key(self) -> bytes:
        """The secret key that signs cookies and URLs; created once per ledger."""
        with writing(self.engine) as connection:
            put_once(connection, secret, {"name": "key"}, value=secrets.token_hex(32))
            return bytes.fromhex(connection.execute(select(secret.c.value).where(secret.c.name == "key")).scalar_one())

    def invite(self, user: Person) -> str:
        """Create an invitation to set a password and return its token, which works once, within a week."""
        with writing(self.engine) as connection:
            return self._invite(connection, user)

    def invite_new(self, name: str, role: Role) -> Invitation:
        """Add a person and invite them, both or neither; raises as `LedgerPeople.add` does."""
        with writing(self.engine) as connection:
            added = add_person(connection, name, role, now=self._now())
            return Invitation(added, self._invite(connection, added))

    def invited(self, token: str) -> Person | None:
        """The person an invitation is for, or None if it is no longer valid."""
        with self.engine.connect() as connection:
            person_id = connection.execute(select(invitation.c.person_id).where(*self._is_valid(token))).scalar()
            return None if person_id is None else _person(connection, person_id)

    def accept(self, token: str, password: str) -> OpenAccount:
        """Set a password with an invitation; ends all sessions and invitations of the account."""
        _check_password(password)
        invited = self.invited(token)
        if invited is None:  # checked before hashing, which is slow on purpose
            raise _no_invitation(token)
        with _HASHING:
            hashed = _HASHER.hash(password)
        with writing(self.engine) as connection:
            _lock_person(connection, invited.id)
            if not connection.execute(self._revoke(*self._is_valid(token))).rowcount:
                raise _no_invitation(token)
            connection.execute(self._revoke(invitation.c.person_id == invited.id))
            stamp = _new_stamp()
            put(connection, account, {"person_id": invited.id}, password=hashed, stamp=stamp, closed=None)
            return OpenAccount(_person(connection, invited.id), stamp)

    def sign_in(self, name: str, password: str) -> OpenAccount | None:
        """The account with this name and password, or None."""
        named = select(person, account.c.password, account.c.stamp).join(account, account.c.person_id == person.c.id)
        named = named.where(person.c.name == name, account.c.closed.is_(None), account.c.password.isnot(None))
        with self.engine.connect() as connection:
            row = connection.execute(named).mappings().first()
        if not is_valid_text(password):
            password = ""  # no one has it, and it takes as long as any other
        try:
            with _HASHING:
                _HASHER.verify(_DUMMY_HASH if row is None else row["password"], password[:_LONGEST])
        except VerificationError:
            return None
        return None if row is None else OpenAccount(record_of(Person, row), row["stamp"])

    def account_of(self, user: Person) -> OpenAccount:
        """A person's account; it is created without a password if there is none."""
        with writing(self.engine) as connection:
            put_once(connection, account, {"person_id": user.id}, stamp=_new_stamp())
            stamp = select(account.c.stamp).where(account.c.person_id == user.id)
            return OpenAccount(user, connection.execute(stamp).scalar_one())

    def end_sessions(self, user: Person) -> None:
        """Sign a person out of every browser; the password is kept."""
        with writing(self.engine) as connection:
            changed = update(account).where(account.c.person_id == user.id).values(stamp=_new_stamp())
            connection.execute(changed)

    def close(self, user: Person) -> None:
        """Close an account: ends its sessions and invitations and keeps the person's votes and comments.

        A new invitation reopens it.
        """
        with writing(self.engine) as connection:
            _lock_person(connection, user.id)
            connection.execute(self._revoke(invitation.c.person_id == user.id))
            put(
                connection, account, {"person_id": user.id}, password=None, stamp=_new_stamp(), closed=self._now()
            )  # fmt: skip

    def members(self) -> tuple[Member, ...]:
        """Everyone with the state of their account, in the order in which they were added."""
        with snapshot(self.engine) as connection:
            return _members(connection, now=self._now())

    def _invite(self, connection: Connection, user: Person) -> str:
        token, until = new_token(), self._now() + INVITED_FOR
        connection.execute(insert(invitation).values(digest=digest_of(token), person_id=user.id, until=until))
        return token

    def _is_valid(self, token: str) -> tuple[ColumnElement[bool], ...]:
        """Conditions for the invitation with this token to be neither used nor expired."""
        return invitation.c.digest == digest_of(token), invitation.c.used.is_(None), invitation.c.until > self._now()

    def _revoke(self, *conditions: ColumnElement[bool]) -> Update:
        return update(invitation).where(invitation.c.used.is_(None), *conditions).values(used=self._now())


def _check_password(password: str) -> None:
    if not SHORTEST <= len(password) <= _LONGEST:
        raise InputError(f"a password must have {SHORTEST} to {_LONGEST:,} characters")
    if not is_valid_text(password) or _REPLACED in password:
        raise InputError("a password must not contain a NUL character or characters that are not valid Unicode")


def _no_invitation(token: str) -> UnknownName:
    return UnknownName("invitation", token[:4] + "...", None, hint=": it was used or has expired")


def _new_stamp() -> str:
    return secrets.token_hex(8)


def _lock_person(connection: Connection, person_id: int) -> None:
    """Lock a person's account and invitations until the transaction ends."""
    connection.execute(select(person.c.id).where(person.c.id == person_id).with_for_update(key_share=True))


def _person(connection: Connection, person_id: int) -> Person:
    return record_of(Person, connection.execute(select(person).where(person.c.id == person_id)).mappings().one())


def new_token() -> str:
    """A random token of 192 bits for a link or a cookie."""
    return secrets.token_urlsafe(24)


def digest_of(token: str) -> str:
    """The digest that the database stores; tokens are long and random, so an unsalted hash is safe."""
    return sha256(token.encode()).hexdigest()


def _members(connection: Connection, *, now: datetime) -> tuple[Member, ...]:
    until, seen = _last_until().subquery(), _last_seen().subquery()
    everyone = (
        select(person, account.c.password, account.c.closed, until.c.until, seen.c.seen, seen.c.browsers)
        .outerjoin(account, account.c.person_id == person.c.id)
        .outerjoin(until, until.c.person_id == person.c.id)
        .outerjoin(seen, seen.c.person_id == person.c.id)
        .order_by(person.c.id)
    )
    return tuple(_member(row, now) for row in connection.execute(everyone).mappings())


def _last_until() -> Select[Any]:
    until = select(invitation.c.person_id, func.max(invitation.c.until).label("until"))
    return until.where(invitation.c.used.is_(None)).group_by(invitation.c.person_id)


def _last_seen() -> Select[Any]:
    ongoing = case((and_(browser_session.c.ended.is_(None), browser_session.c.stamp == account.c.stamp), 1), else_=0)
    seen = func.max(browser_session.c.seen).label("seen")
    rows = select(browser_session.c.person_id, seen, func.sum(ongoing).label("browsers"))
    of_account = account.c.person_id == browser_session.c.person_id
    return rows.join(account, of_account).group_by(browser_session.c.person_id)


def _member(row: RowMapping, now: datetime) -> Member:
    expires = row["until"] if row["until"] is not None and row["until"] > now else None
    return Member(
        record_of(Person, row),
        _state(row, works=expires is not None),
        None if expires is None else expires - INVITED_FOR,
        expires,
        row["seen"],
        row["browsers"] or 0,
    )


def _state(row: RowMapping, *, works: bool) -> AccountState:
    if row["closed"] is not None:
        return AccountState.CLOSED
    if row["password"] is not None:
        return AccountState.JOINED
    if row["until"] is not None:
        return AccountState.INVITED if works else AccountState.EXPIRED
    return AccountState.NONE
