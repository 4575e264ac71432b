"""Who is signed in where: one row per browser, found by the digest of its cookie."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import Engine, bindparam, delete, insert, select, update

from regrade.core import LedgerRefused, LedgerUnavailable
from regrade.ledger.accounts import OpenAccount
from regrade.ledger.clock import now_in_utc
from regrade.ledger.database import writing
from regrade.ledger.record_mapping import record_of
from regrade.ledger.records import Person
from regrade.ledger.schema import account, browser_session, person
from regrade.ledger.secret_words import digest_of, new_word

SESSION_LASTS = timedelta(days=30)
"""How long a session lasts, however often it is used."""

_SEEN_EVERY = timedelta(minutes=5)  # a write per request would cost more than the answer

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
    """The sessions of a ledger's people. Tokens are not kept, only their digests."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def begin(self, of: OpenAccount) -> str:
        """The token of a new session; it has no effect if the password changed or the account closed meanwhile."""
        token, now = new_word(), self._now()
        row = {"digest": digest_of(token), "person_id": of.person.id, "stamp": of.stamp, "begun": now, "seen": now}
        with writing(self.engine) as connection:
            connection.execute(delete(browser_session).where(browser_session.c.begun <= now - SESSION_LASTS))
            connection.execute(insert(browser_session).values(**row))
        return token

    def holder(self, token: str) -> Person | None:
        """Whose session it is, unless it has ended, is too old, or its account was closed or got another password."""
        digest, now = digest_of(token), self._now()
        with self.engine.connect() as connection:
            row = connection.execute(_HOLDER, {"session": digest, "since": now - SESSION_LASTS}).mappings().first()
        if row is None:
            return None
        if now - row["seen"] >= _SEEN_EVERY:
            self._note_seen(digest, now)
        return record_of(Person, row)

    def end(self, token: str) -> None:
        """End a session: whoever has a copy of its token is signed out too."""
        ended = update(browser_session).where(
            browser_session.c.digest == digest_of(token), browser_session.c.ended.is_(None)
        )
        with writing(self.engine) as connection:
            connection.execute(ended.values(ended=self._now()))

    def _note_seen(self, digest: str, now: datetime) -> None:
        seen = update(browser_session).where(browser_session.c.digest == digest).values(seen=now)
        with suppress(LedgerRefused, LedgerUnavailable), writing(self.engine) as connection:
            connection.execute(seen)  # not worth a failure: pages that only read work on a full disk too
