"""Links that let the owner of this machine in without a password, each once and for a day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Engine, delete, insert, update

from regrade.ledger.clock import now_in_utc
from regrade.ledger.database import writing
from regrade.ledger.schema import one_time_link
from regrade.ledger.secret_words import digest_of, new_word

LINK_LASTS = timedelta(days=1)
"""How long a one-time link works."""


class OneTimeLinks:
    """The links of a ledger; they are rows, so that a running server knows a link that another process made."""

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self._now = clock

    def new(self) -> str:
        """The word of a new link; those that are too old are forgotten."""
        word, now = new_word(), self._now()
        with writing(self.engine) as connection:
            connection.execute(delete(one_time_link).where(one_time_link.c.until <= now))
            connection.execute(insert(one_time_link).values(digest=digest_of(word), until=now + LINK_LASTS))
        return word

    def use(self, word: str) -> bool:
        """Whether a link works; from now on it does not."""
        now = self._now()
        good = one_time_link.c.digest == digest_of(word), one_time_link.c.used.is_(None), one_time_link.c.until > now
        with writing(self.engine) as connection:
            return connection.execute(update(one_time_link).where(*good).values(used=now)).rowcount == 1
