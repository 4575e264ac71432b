"""Links that sign in the owner of this machine without a password; each works once, within a day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Engine, delete, insert, update

from regrade.ledger.accounts import digest_of, new_token
from regrade.ledger.database import writing
from regrade.ledger.schema import now_in_utc, one_time_link

LINK_LASTS = timedelta(days=1)
"""Lifetime of a one-time link."""


class OneTimeLinks:
    """The one-time links of a ledger, stored in it so that a server accepts links that another process created."""

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
