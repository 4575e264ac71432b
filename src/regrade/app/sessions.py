"""Sessions: a signed cookie that says who someone is, and a token that only our own pages know."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256

from itsdangerous import BadData, URLSafeTimedSerializer

from regrade.ledger import Accounts, Person

COOKIE = "regrade"
LASTS = 30 * 24 * 3600
"""Seconds for which a session lasts."""


@dataclass(frozen=True)
class Session:
    """Someone who is signed in, and the token that their writes must carry."""

    person: Person
    token: str


class Sessions:
    """Makes and reads the cookie of a session."""

    def __init__(self, accounts: Accounts) -> None:
        key = accounts.key()
        self._accounts = accounts
        self._key = key
        self._serializer = URLSafeTimedSerializer(key, salt="session")

    def cookie_for(self, person: Person) -> str:
        """A cookie for someone who has just signed in."""
        return self._serializer.dumps([person.id, self._accounts.stamp(person), secrets.token_urlsafe(12)])

    def session_of(self, cookie: str | None) -> Session | None:
        """Whose cookie it is, if it is ours, not too old, and its account is still open."""
        if not cookie:
            return None
        try:
            person_id, stamp, nonce = self._serializer.loads(cookie, max_age=LASTS)
        except (BadData, ValueError, TypeError):
            return None
        person = self._accounts.holder(person_id, stamp)
        return None if person is None else Session(person, self._token(nonce))

    def _token(self, nonce: str) -> str:
        return hmac.new(self._key, f"write {nonce}".encode(), sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two tokens are equal, in a time that does not tell how far."""
    return hmac.compare_digest(one.encode(), other.encode())
