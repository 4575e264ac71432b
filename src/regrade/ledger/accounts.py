"""Who may come in: passwords (argon2id), invitations, and a stamp whose change ends all of a person's sessions."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, bindparam, insert, select, update

from regrade.core import InputError, UnknownName
from regrade.ledger.clock import now_in_utc
from regrade.ledger.database import writing
from regrade.ledger.records import Person, Role
from regrade.ledger.schema import account, invitation, person, secret
from regrade.ledger.upsert import put, put_once

INVITED_FOR = timedelta(days=7)
"""How long an invitation is good for."""

SHORTEST = 10
"""The fewest letters of a password."""

_LONGEST = 1000
_HASHER = PasswordHasher()
_NO_ONES = _HASHER.hash(secrets.token_hex())  # checked where there is no account, so that it takes as long

_HOLDER = (
    select(person)
    .join(account, account.c.person_id == person.c.id)
    .where(person.c.id == bindparam("whose"), account.c.stamp == bindparam("stamped"), account.c.closed.is_(None))
)


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
        word = secrets.token_urlsafe(24)
        until = self._now() + INVITED_FOR
        with writing(self.engine) as connection:
            connection.execute(insert(invitation).values(digest=_digest(word), person_id=whom.id, until=until))
        return word

    def invited(self, word: str) -> Person | None:
        """Whom an invitation is for, if it is still good."""
        with self.engine.connect() as connection:
            someone = connection.execute(select(invitation.c.person_id).where(*self._is_good(word))).scalar()
            return None if someone is None else _person(connection, someone)

    def accept(self, word: str, password: str) -> Person:
        """Set a password by an invitation, which is then used up; all earlier sessions end."""
        _check_password(password)
        hashed = _HASHER.hash(password)
        with writing(self.engine) as connection:
            used = update(invitation).where(*self._is_good(word)).values(used=self._now())
            someone = connection.execute(used.returning(invitation.c.person_id)).scalar()
            if someone is None:
                raise UnknownName("invitation", word[:4] + "...", None, hint=": it was used, or is out of date")
            put(connection, account, {"person_id": someone}, password=hashed, stamp=secrets.token_hex(8), closed=None)
            return _person(connection, someone)

    def sign_in(self, name: str, password: str) -> Person | None:
        """Someone by name and password, or no one."""
        with self.engine.connect() as connection:
            known = select(account).join(person, person.c.id == account.c.person_id).where(person.c.name == name)
            found = connection.execute(known).mappings().first()
            hashed = found["password"] if found is not None and found["closed"] is None else None
            try:
                _HASHER.verify(hashed or _NO_ONES, password[:_LONGEST])
            except VerificationError:
                return None
            return None if hashed is None or found is None else _person(connection, found["person_id"])

    def stamp(self, of: Person) -> str:
        """What someone's sessions carry; whoever has no account yet gets one without a password."""
        with writing(self.engine) as connection:
            put_once(connection, account, {"person_id": of.id}, stamp=secrets.token_hex(8))
            return connection.execute(select(account.c.stamp).where(account.c.person_id == of.id)).scalar_one()

    def holder(self, person_id: int, stamp: str) -> Person | None:
        """Whose session it is, unless the account was closed or the password changed since."""
        with self.engine.connect() as connection:
            row = connection.execute(_HOLDER, {"whose": person_id, "stamped": stamp}).mappings().first()
        return None if row is None else _as_person(row)

    def close(self, whom: Person) -> None:
        """Let someone in no more; what they said stays. A new invitation opens the account again."""
        with writing(self.engine) as connection:
            put(
                connection, account, {"person_id": whom.id}, password=None, stamp=secrets.token_hex(8),
                closed=self._now(),
            )  # fmt: skip

    def closed(self) -> frozenset[int]:
        """The people whose accounts are closed, by number."""
        with self.engine.connect() as connection:
            return frozenset(
                connection.execute(select(account.c.person_id).where(account.c.closed.isnot(None))).scalars()
            )

    def _is_good(self, word: str) -> tuple[ColumnElement[bool], ...]:
        """Whether an invitation is this one, neither used nor out of date."""
        return invitation.c.digest == _digest(word), invitation.c.used.is_(None), invitation.c.until > self._now()


def _check_password(password: str) -> None:
    if not SHORTEST <= len(password) <= _LONGEST:
        raise InputError(f"a password has {SHORTEST} letters or more, and at most {_LONGEST:,}")


def _digest(word: str) -> str:
    return sha256(word.encode()).hexdigest()


def _person(connection: Connection, person_id: int) -> Person:
    return _as_person(connection.execute(select(person).where(person.c.id == person_id)).mappings().one())


def _as_person(row: RowMapping) -> Person:
    return Person(row["id"], row["name"], Role(row["role"]), row["joined"])
