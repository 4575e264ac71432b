"""Sessions of signed-in browsers: one row per browser, looked up by the digest of its cookie."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import Engine, bindparam, delete, insert, select, update

from regrade.core import LedgerRefused, LedgerUnavailable
from regrade.ledger.accounts import OpenAccount, digest_of, new_token
from regrade.ledger.database import writing
from regrade.ledger.records import Person, record_of
from regrade.ledger.schema import account, browser_session, now_in_utc, person

SESSION_LASTS = timedelta(days=30)
"""Lifetime of a session; using it does not extend it."""

_SEEN_EVERY = timedelta(minutes=5)  # writing on every request would cost more than the request itself

_HOLDER = (
    select(person, browser_session.c.seen)
    .join(browser_session, browser_session.c.person_id == person.c.id)
    .join(account, account.c.person_id == person.c.id)
    .where(
        browser_session.c.digest == bindparam("session"),
        browser_session.c.begun > bindparam("since"),
        browser_session.c.ended.is_(None),
        browser_session.c.stamp == account.c.stamp,
        account.c.closed.is_(None),
    )
)


class BrowserSessions:
    """The browser sessions of a ledger. Tokens are not stored, only their digests."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def begin(self, of: OpenAccount) -> str:
        """Start a session and return its token; it is invalid if the password or account changed in the meantime."""
        token, now = new_token(), self._now()
        row = {"digest": digest_of(token), "person_id": of.person.id, "stamp": of.stamp, "begun": now, "seen": now}
        with writing(self.engine) as connection:
            connection.execute(delete(browser_session).where(browser_session.c.begun <= now - SESSION_LASTS))
            connection.execute(insert(browser_session).values(**row))
        return token

    def holder(self, token: str) -> Person | None:
        """The person of a session, or None if it has ended or expired or the account's password or state changed."""
        digest, now = digest_of(token), self._now()
        with self.engine.connect() as connection:
            row = connection.execute(_HOLDER, {"session": digest, "since": now - SESSION_LASTS}).mappings().first()
        if row is None:
            return None
        if now - row["seen"] >= _SEEN_EVERY:
            self._note_seen(digest, now)
        return record_of(Person, row)

    def end(self, token: str) -> None:
        """End a session; every copy of its token stops working."""
        ended = update(browser_session).where(
            browser_session.c.digest == digest_of(token), browser_session.c.ended.is_(None)
        )
        with writing(self.engine) as connection:
            connection.execute(ended.values(ended=self._now()))

    def _note_seen(self, digest: str, now: datetime) -> None:
        seen = update(browser_session).where(browser_session.c.digest == digest).values(seen=now)
        with suppress(LedgerRefused, LedgerUnavailable), writing(self.engine) as connection:
            connection.execute(seen)  # errors are ignored: pages that only read must work on a full disk too
