"""Rate limits of what anyone may send: so many at once, and from then on one after the other.

A limit is a virtual clock per source (the generic cell rate algorithm): each request moves it forward by the interval
between two requests, and a request is refused while the clock is further ahead of the time than the burst allows.
Refused requests are not counted. The clocks are kept with the counters of sign-in attempts, under digests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Engine, Select, select

from regrade.ledger.database import put, put_once, writing
from regrade.ledger.schema import now_in_utc, sign_in_attempts


@dataclass(frozen=True)
class Rate:
    """Up to ``burst`` requests at once; from then on, each needs the time ``interval`` to be allowed again."""

    burst: int
    interval: timedelta

    def wait(self, clock: datetime, now: datetime) -> float:
        """Seconds until the next request is allowed, 0 if it is allowed now."""
        ahead = max(clock, now) - now
        return max(0.0, (ahead - (self.burst - 1) * self.interval).total_seconds())

    def advanced(self, clock: datetime, now: datetime) -> datetime:
        """The clock after a request."""
        return max(clock, now) + self.interval


class RateLimits:
    """The rate limits of a ledger, shared by all its servers. ``clock`` returns the current time; tests replace it."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def reserve(self, rates: Mapping[str, Rate]) -> float:
        """Count a request from several sources and return 0, or return the seconds to wait without counting it."""
        by_digest = {sha256(f"rate\n{source}".encode()).hexdigest(): rate for source, rate in rates.items()}
        with self.engine.connect() as connection:  # a refused request takes no write lock
            if (seconds := self._wait(connection, by_digest)) > 0:
                return seconds
        with writing(self.engine) as connection:
            for digest in sorted(by_digest):  # always in the same order, to avoid deadlocks
                put_once(connection, sign_in_attempts, {"source": digest}, count=0, last=self._now())
                connection.execute(_row(digest).with_for_update())
            if (seconds := self._wait(connection, by_digest)) > 0:
                return seconds
            for digest, rate in by_digest.items():
                count, clock = connection.execute(_row(digest)).one()
                put(
                    connection, sign_in_attempts, {"source": digest}, count=count + 1,
                    last=rate.advanced(clock, self._now()),
                )  # fmt: skip
        return 0.0

    def _wait(self, connection: Connection, rates: Mapping[str, Rate]) -> float:
        now = self._now()
        rows = {digest: connection.execute(_row(digest)).first() for digest in rates}
        return max((rates[digest].wait(row.last, now) for digest, row in rows.items() if row is not None), default=0.0)


_COLUMNS = sign_in_attempts.c["count", "last"]


def _row(digest: str) -> Select[Any]:
    return select(*_COLUMNS).where(sign_in_attempts.c.source == digest)
