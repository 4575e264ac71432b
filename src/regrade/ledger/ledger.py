"""The `Ledger`: its groups of people, queues, votes, decisions, discussion and guide, and the ledger as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from regrade.core import LedgerDamaged
from regrade.ledger.accounts import Accounts
from regrade.ledger.chain import ChainLink, chain_problems, has_link, last_link
from regrade.ledger.database import identity, open_database, snapshot, stored_identity, unchanged_database, writing
from regrade.ledger.database_errors import shown_place
from regrade.ledger.decisions import Decisions
from regrade.ledger.discussion import Discussions
from regrade.ledger.guide import Guide
from regrade.ledger.integrity import integrity_problems
from regrade.ledger.items import Items
from regrade.ledger.ledger_file import back_up
from regrade.ledger.people import LedgerPeople
from regrade.ledger.proposals import Proposals
from regrade.ledger.queues import Queues
from regrade.ledger.rate_limits import RateLimits
from regrade.ledger.reports import UnreadableReports
from regrade.ledger.row_format import exported_rows
from regrade.ledger.row_import import import_rows
from regrade.ledger.schema import now_in_utc
from regrade.ledger.selections import Selections
from regrade.ledger.sign_in import BrowserSessions, OneTimeLinks, SignInAttempts
from regrade.ledger.votes import Votes
from regrade.ledger.workers import Workers


class Ledger:
    """An append-only database of people's votes, in SQLite or PostgreSQL.

    ``clock`` returns the current time; tests replace it.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], datetime] = now_in_utc) -> None:
        self.engine = engine
        self.people = LedgerPeople(engine, clock=clock)
        self.accounts = Accounts(engine, clock=clock)
        self.sessions = BrowserSessions(engine, clock=clock)
        self.links = OneTimeLinks(engine, clock=clock)
        self.attempts = SignInAttempts(engine, clock=clock)
        self.queues = Queues(engine, clock=clock)
        self.items = Items(engine, clock=clock)
        self.votes = Votes(engine, clock=clock)
        self.decisions = Decisions(engine, clock=clock)
        self.discussions = Discussions(engine, clock=clock)
        self.reports = UnreadableReports(engine, clock=clock)
        self.guide = Guide(engine, clock=clock)
        self.workers = Workers(engine, clock=clock)
        self.selections = Selections(engine)
        self.proposals = Proposals(engine, clock=clock)
        self.rate_limits = RateLimits(engine, clock=clock)

    @classmethod
    def open(cls, place: str | Path) -> Ledger:
        """Open the ledger in a file, created if missing, or at a PostgreSQL URL."""
        return cls(open_database(place))

    @classmethod
    @contextmanager
    def unchanged(cls, place: str | Path) -> Iterator[Ledger]:
        """Open a ledger, or a migrated copy of it, without writing to it, for checks."""
        with unchanged_database(place) as engine:
            yield cls(engine)

    @property
    def place(self) -> str:
        """The path or URL of the ledger, without a password."""
        return shown_place(self.engine)

    def last_link(self) -> ChainLink:
        """The last link of the hash chain, which covers all votes, comments, decisions and guide entries so far."""
        with self.engine.connect() as connection:
            return last_link(connection)

    def has_link(self, link: ChainLink) -> bool:
        """Whether the hash chain contains a link; a single lookup that recomputes nothing."""
        with self.engine.connect() as connection:
            return has_link(connection, link)

    def identity(self) -> str:
        """The random id of this ledger; it is chosen when the ledger is created."""
        return identity(self.engine)

    def stored_identity(self) -> str | None:
        """The random id of this ledger, or None if it has none yet."""
        return stored_identity(self.engine)

    def back_up(self, path: Path) -> None:
        """Copy the ledger in a consistent state to a new file, while others go on voting."""
        back_up(self.engine, path)

    def problems(self, *, noted: Iterable[ChainLink] = ()) -> tuple[str, ...]:
        """Describe what is wrong with the database, its triggers and its hash chain, which must contain ``noted``."""
        problems = []
        with snapshot(self.engine) as connection:
            try:
                for problem in chain(integrity_problems(connection), chain_problems(connection, noted)):
                    problems.append(problem)
            except LedgerDamaged as error:  # unreadable rows: the remaining checks are skipped
                problems.append(str(error))
        return tuple(problems)

    def rows(self) -> list[dict[str, Any]]:
        """Everything in the ledger as plain rows, with names instead of ids."""
        with snapshot(self.engine) as connection:
            return list(exported_rows(connection))

    def import_rows(self, rows: Iterable[Mapping[str, Any]]) -> int:
        """Add rows of this or another ledger, and return how many votes are new."""
        with writing(self.engine) as connection:
            return import_rows(connection, rows)
