"""Browser sessions: a random cookie stored in the ledger, and a token that only the site's own pages know."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from regrade.ledger import Accounts, BrowserSessions, OpenAccount, Person
from regrade.ledger.sign_in import SESSION_LASTS

SESSION_SECONDS = int(SESSION_LASTS.total_seconds())
"""Duration of a session in seconds."""


@dataclass(frozen=True)
class Session:
    """A signed-in person, and the token that their writes must carry."""

    person: Person
    token: str


class Sessions:
    """Creates and reads session cookies.

    Browsers do not separate cookies by port, so the cookie is named after the ledger: another server on the same host
    does not overwrite it. Pages carry ``ledger_name`` too, since browser storage is shared by all workspaces that were
    ever served at the same address.
    """

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._key = accounts.key()
        self._rows = BrowserSessions(accounts.engine)
        self.ledger_name = self._signed(f"cookie {_place(accounts)}")[:16]
        self.cookie_name = f"regrade_{self.ledger_name}"

    def begin(self, account: OpenAccount) -> str:
        """Begin a session and return its cookie."""
        return self._rows.begin(account)

    def cookie_for(self, person: Person) -> str:
        """Begin a session for a person without a password check and return its cookie."""
        return self.begin(self._accounts.account_of(person))

    def session_of(self, cookie: str | None) -> Session | None:
        """The session of a cookie, or None if it has ended."""
        if not cookie:
            return None
        person = self._rows.holder(cookie)
        return None if person is None else Session(person, self._signed(f"write {cookie}"))

    def end(self, cookie: str | None) -> None:
        """End a session; copies of its cookie become invalid too."""
        if cookie:
            self._rows.end(cookie)

    def _signed(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), sha256).hexdigest()


def _place(accounts: Accounts) -> str:
    """The path of an SQLite ledger, which distinguishes it from its copies; empty for a database server."""
    url = accounts.engine.url
    return str(Path(url.database or "").resolve()) if url.get_backend_name() == "sqlite" else ""


def tokens_equal(first: str, second: str) -> bool:
    """Whether two tokens are equal, compared in constant time."""
    return hmac.compare_digest(first.encode(), second.encode())
