"""Sessions: a random cookie that the ledger knows, and a token that only our own pages know."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from regrade.ledger import Accounts, BrowserSessions, OpenAccount, Person
from regrade.ledger.browser_sessions import SESSION_LASTS

LASTS = int(SESSION_LASTS.total_seconds())
"""Seconds for which a session lasts."""


@dataclass(frozen=True)
class Session:
    """Someone who is signed in, and the token that their writes must carry."""

    person: Person
    token: str


class Sessions:
    """Makes and reads the cookie of a session.

    Browsers do not separate cookies by port, so the cookie's name is that of the ledger: another server on the same
    host leaves it alone. Pages carry ``ledger_name`` too, since what they store in the browser is shared by all
    workspaces that were ever served at their address.
    """

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._key = accounts.key()
        self._rows = BrowserSessions(accounts.engine)
        self.ledger_name = self._signed(f"cookie {_place(accounts)}")[:16]
        self.cookie_name = f"regrade_{self.ledger_name}"

    def begin(self, account: OpenAccount) -> str:
        """A cookie for someone who has just signed in."""
        return self._rows.begin(account)

    def cookie_for(self, person: Person) -> str:
        """A cookie for someone who needs no password."""
        return self.begin(self._accounts.account_of(person))

    def session_of(self, cookie: str | None) -> Session | None:
        """Whose cookie it is, if its session goes on."""
        if not cookie:
            return None
        person = self._rows.holder(cookie)
        return None if person is None else Session(person, self._signed(f"write {cookie}"))

    def end(self, cookie: str | None) -> None:
        """Sign out: no copy of the cookie lets anyone in from now on."""
        if cookie:
            self._rows.end(cookie)

    def _signed(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), sha256).hexdigest()


def _place(accounts: Accounts) -> str:
    """What tells a ledger from its copies: the path of its file; a database server has one of each."""
    url = accounts.engine.url
    return str(Path(url.database or "").resolve()) if url.get_backend_name() == "sqlite" else ""


def same(one: str, other: str) -> bool:
    """Whether two tokens are equal, in a time that does not tell how far."""
    return hmac.compare_digest(one.encode(), other.encode())
