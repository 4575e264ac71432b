"""Signing in: sessions of browsers, links that work once, and rate limits for attempts.

Attempts are counted in the database before the password is checked. There are two counters: one per account and network
address, and one per address. From the sixth attempt on an account, and the 51st from an address, each attempt has to
wait: 1 second after the previous one, then 2, 4, and so on up to 15 minutes. An hour without attempts, or the right
password, resets the counter of the account; the right password removes only its own attempt from the counter of the
address. There is no counter per account alone, so that attempts from elsewhere cannot lock its owner out.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Engine, Select, bindparam, delete, insert, or_, select, update

from regrade.core import LedgerRefused, LedgerUnavailable
from regrade.ledger.accounts import OpenAccount, digest_of, new_token
from regrade.ledger.database import put, put_once, writing
from regrade.ledger.records import Person, record_of
from regrade.ledger.schema import account, browser_session, now_in_utc, one_time_link, person, sign_in_attempts

SESSION_LASTS = timedelta(days=30)
"""Lifetime of a session; using it does not extend it."""

_SEEN_EVERY = timedelta(minutes=5)  # writing on every request would cost more than the request itself

LINK_LASTS = timedelta(days=1)
"""Lifetime of a one-time link."""

FREE_FOR_ACCOUNT = 5
"""Attempts per account and address without a wait."""

FREE_FOR_ADDRESS = 50
"""Attempts per address, on any account, without a wait."""

LONGEST_WAIT = timedelta(minutes=15)
"""Maximum wait between two attempts."""

FORGOTTEN_AFTER = timedelta(hours=1)
"""Time after the last attempt at which a counter is reset."""

MOST_COUNTERS = 100_000
"""Maximum number of counters; the oldest ones beyond it are deleted."""

_DOUBLINGS = 20  # more than the longest wait needs; avoids float overflow

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
    """The sessions of signed-in browsers: one row per browser, looked up by the digest of its cookie."""

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


class OneTimeLinks:
    """Links that sign in the owner of this machine without a password; each works once, within a day.

    They are stored in the ledger, so that a server accepts links that another process created.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def new(self) -> str:
        """Create a link and return its token; expired links are deleted."""
        token, now = new_token(), self._now()
        with writing(self.engine) as connection:
            connection.execute(delete(one_time_link).where(one_time_link.c.until <= now))
            connection.execute(insert(one_time_link).values(digest=digest_of(token), until=now + LINK_LASTS))
        return token

    def use(self, token: str) -> bool:
        """Use up a link and return whether it was valid."""
        now = self._now()
        valid = one_time_link.c.digest == digest_of(token), one_time_link.c.used.is_(None), one_time_link.c.until > now
        with writing(self.engine) as connection:
            return connection.execute(update(one_time_link).where(*valid).values(used=now)).rowcount == 1


class SignInAttempts:
    """The sign-in counters of a ledger, shared by all its servers and stored under digests instead of names."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def reserve(self, address: str, name: str) -> float:
        """Count an attempt and return 0, or return the seconds to wait without counting it.

        Concurrent attempts are counted one after the other, before their passwords are checked.
        """
        limits = _limits(address, name)
        with self.engine.connect() as connection:  # an attempt that has to wait takes no write lock
            if (seconds := self._wait(_counters(connection, _rows(limits)), limits)) > 0:
                return seconds
        with writing(self.engine) as connection:
            counters = self._locked(connection, limits)
            if (seconds := self._wait(counters, limits)) > 0:
                return seconds
            self._count(connection, counters, limits)
            self._forget_old(connection)
        return 0.0

    def succeeded(self, address: str, name: str) -> None:
        """Uncount an attempt that had the right password."""
        of_address, of_account = limits = _limits(address, name)
        source, count = sign_in_attempts.c["source", "count"]
        with writing(self.engine) as connection:
            self._locked(connection, limits)
            counted = update(sign_in_attempts).where(source == of_address, count > 0)
            connection.execute(counted.values({"count": count - 1}))
            connection.execute(delete(sign_in_attempts).where(source == of_account))

    def _locked(self, connection: Connection, limits: dict[str, int]) -> dict[str, _Counter]:
        """Lock and return the counters; always in the same order, to avoid deadlocks."""
        for source in sorted(limits):
            put_once(connection, sign_in_attempts, {"source": source}, count=0, last=self._now())
        return _counters(connection, _rows(limits).with_for_update())

    def _wait(self, counters: dict[str, _Counter], limits: dict[str, int]) -> float:
        now = self._now()
        return max((counter.wait(limits[source], now) for source, counter in counters.items()), default=0.0)

    def _count(self, connection: Connection, counters: dict[str, _Counter], limits: dict[str, int]) -> None:
        now = self._now()
        for source in sorted(limits):
            before = counters[source].attempts(now) if source in counters else 0
            put(connection, sign_in_attempts, {"source": source}, count=before + 1, last=now)

    def _forget_old(self, connection: Connection) -> None:
        """Delete expired counters, and the oldest if there are too many; skips rows locked by others."""
        last = sign_in_attempts.c.last
        beyond = select(last).order_by(last.desc()).offset(MOST_COUNTERS).limit(1).scalar_subquery()
        old = select(sign_in_attempts.c.source).where(or_(last < self._now() - FORGOTTEN_AFTER, last <= beyond))
        old = old.with_for_update(skip_locked=True)
        connection.execute(delete(sign_in_attempts).where(sign_in_attempts.c.source.in_(old)))


@dataclass(frozen=True)
class _Counter:
    count: int
    last: datetime

    def attempts(self, now: datetime) -> int:
        return 0 if now - self.last > FORGOTTEN_AFTER else self.count

    def wait(self, free: int, now: datetime) -> float:
        """Seconds until the next attempt; the wait doubles with each attempt beyond the ``free`` ones."""
        beyond = self.attempts(now) - free
        if beyond < 0:
            return 0.0
        pause = min(2.0 ** min(beyond, _DOUBLINGS), LONGEST_WAIT.total_seconds())
        return max(0.0, pause - (now - self.last).total_seconds())


def _limits(address: str, name: str) -> dict[str, int]:
    """The free attempts of the two counters of an attempt, by digest; the counter of the address comes first."""
    sources = {address: FREE_FOR_ADDRESS, f"{address}\n{name}": FREE_FOR_ACCOUNT}
    return {sha256(source.encode()).hexdigest(): free for source, free in sources.items()}


def _rows(limits: dict[str, int]) -> Select[Any]:
    return select(sign_in_attempts).where(sign_in_attempts.c.source.in_(limits)).order_by(sign_in_attempts.c.source)


def _counters(connection: Connection, rows: Select[Any]) -> dict[str, _Counter]:
    return {row["source"]: _Counter(row["count"], row["last"]) for row in connection.execute(rows).mappings()}
