"""Rate limits for sign-in attempts, counted in the database before the password is checked.

There are two counters: one per account and network address, and one per address. From the sixth attempt on an account,
and the 51st from an address, each attempt has to wait: 1 second after the previous one, then 2, 4, and so on up to 15
minutes. An hour without attempts, or the right password, resets the counter of the account; the right password removes
only its own attempt from the counter of the address. There is no counter per account alone, so that attempts from
elsewhere cannot lock its owner out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Engine, Select, delete, or_, select, update

from regrade.ledger.database import put, put_once, writing
from regrade.ledger.schema import now_in_utc, sign_in_attempts

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
