"""The tables of a ledger. Votes, comments, decisions and the guide are only ever added to; triggers see to it."""

from __future__ import annotations

from datetime import UTC, datetime
from reprlib import repr as brief
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

from regrade.core import LedgerDamaged


def _damage(value: Any, expected: str) -> LedgerDamaged:
    return LedgerDamaged(f"the ledger is damaged: {brief(value)} stands for {expected}")


class Words(TypeDecorator[str]):
    """A text of limited length; what is read and is none is damage.

    SQLite keeps a value of any type in a column, whatever the column's type is; nothing else was ever written.
    """

    impl = String
    cache_ok = True

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """The text."""
        if value is not None and not isinstance(value, str):
            raise _damage(value, "a text")
        return value


class LongText(Words):
    """A text of any length."""

    impl = Text
    cache_ok = True


class Whole(TypeDecorator[int]):
    """A whole number; what is read and is none is damage."""

    impl = Integer
    cache_ok = True

    def process_result_value(self, value: Any | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        """The number."""
        if value is not None and not isinstance(value, int):
            raise _damage(value, "a whole number")
        return value


class Number(TypeDecorator[float]):
    """A number; what is read and is none is damage.

    What an insert returns is what is read later, which hashes rely on: SQLite stores no negative zero, and returns
    whole numbers as integers.
    """

    impl = Float
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:  # noqa: ARG002
        """A float, zero without a sign."""
        return None if value is None else value + 0.0

    def process_result_value(self, value: Any | None, dialect: Dialect) -> float | None:  # noqa: ARG002
        """The number."""
        if value is not None and not isinstance(value, int | float):
            raise _damage(value, "a number")
        return None if value is None else float(value)


class Moment(TypeDecorator[datetime]):
    """A moment in UTC as text that sorts, the same in every database."""

    impl = String(27)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """To text."""
        return None if value is None else f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """From text; what is read and is no moment is damage."""
        try:
            return None if value is None else datetime.fromisoformat(value)
        except (TypeError, ValueError):
            raise _damage(value, "a moment") from None


class OneOf(TypeDecorator[str]):
    """One of some words; anything else that is read is damage, since nothing else was ever written."""

    impl = String
    cache_ok = True

    def __init__(self, length: int, *words: str) -> None:
        super().__init__(length)
        self.words = words

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """The word."""
        if value is not None and value not in self.words:
            raise _damage(value, f"{', '.join(self.words[:-1])} or {self.words[-1]}")
        return value


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

person = Table(
    "person",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Words(80), nullable=False, unique=True),
    Column("role", OneOf(10, "owner", "reviewer", "labeler"), nullable=False),
    Column("joined", Moment, nullable=False),
    CheckConstraint("role IN ('owner', 'reviewer', 'labeler')", name="role"),
)

queue = Table(
    "queue",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Words(80), nullable=False, unique=True),
    Column("question", OneOf(10, "judge", "label", "mistake"), nullable=False),
    Column("test_set", Words(200), nullable=False),
    Column("labels", Words(200), nullable=False),
    Column("overlap", Whole, nullable=False),
    Column("opened", Moment, nullable=False),
    Column("model", Words(200), nullable=False, server_default=""),
    Column("mode", OneOf(12, "training", "examination"), nullable=False, server_default="examination"),
    CheckConstraint("question IN ('judge', 'label', 'mistake')", name="question"),
    CheckConstraint("overlap >= 1", name="overlap"),
)

block = Table(
    "block",
    metadata,
    Column("queue_id", ForeignKey(queue.c.id), primary_key=True),
    Column("start", Whole, primary_key=True),
    Column("size", Whole, nullable=False),
)

item = Table(
    "item",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("queue_id", ForeignKey(queue.c.id), nullable=False),
    Column("place", Whole, nullable=False),
    Column("example", Words(400), nullable=False),
    Column("class", Words(200), nullable=False),
    Column("stratum", Whole, nullable=False),
    Column("missing", Whole, nullable=False),
    Column("needed", Whole, nullable=False, server_default="1"),
    Column("content", Words(64)),
    UniqueConstraint("queue_id", "place"),
    UniqueConstraint("queue_id", "example", "class"),
)
_OPEN = text("missing > 0")
Index("ix_item_missing", item.c.queue_id, item.c.place, sqlite_where=_OPEN, postgresql_where=_OPEN)

turn = Table(
    "turn",
    metadata,
    Column("queue_id", ForeignKey(queue.c.id), primary_key=True),
    Column("person_id", ForeignKey(person.c.id), primary_key=True),
    Column("turn", Whole, nullable=False),
)

lease = Table(
    "lease",
    metadata,
    Column("item_id", ForeignKey(item.c.id), primary_key=True),
    Column("person_id", ForeignKey(person.c.id), primary_key=True),
    Column("queue_id", ForeignKey(queue.c.id), nullable=False),
    Column("until", Moment, nullable=False),
    Index("ix_lease_person", "queue_id", "person_id"),
)

skip = Table(
    "skip",
    metadata,
    Column("item_id", ForeignKey(item.c.id), primary_key=True),
    Column("person_id", ForeignKey(person.c.id), primary_key=True),
    Column("queue_id", ForeignKey(queue.c.id), nullable=False),
    Index("ix_skip_person", "queue_id", "person_id"),
)

report = Table(
    "report",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("item_id", ForeignKey(item.c.id), nullable=False),
    Column("person_id", ForeignKey(person.c.id), nullable=False),
    Column("text", LongText, nullable=False),
    Column("at", Moment, nullable=False),
    Column("cleared", Moment),
    Column("cleared_by", ForeignKey(person.c.id)),
    Index("ix_report_item", "item_id", "person_id"),
)

vote = Table(
    "vote",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Words(64), nullable=False, unique=True),
    Column("item_id", ForeignKey(item.c.id), nullable=False),
    Column("person_id", ForeignKey(person.c.id), nullable=False),
    Column("replaces", ForeignKey("vote.id"), unique=True),
    Column("answer", Words(200)),
    Column("severity", Words(10)),
    Column("reason", LongText, nullable=False),
    Column("why", LongText, nullable=False),
    Column("seconds", Number),
    Column("at", Moment, nullable=False),
    Index("ix_vote_item", "item_id", "person_id"),
    Index("ix_vote_person", "person_id", "id"),
)
_FIRST = text("replaces IS NULL")
Index("uq_vote_first", vote.c.item_id, vote.c.person_id, unique=True, sqlite_where=_FIRST, postgresql_where=_FIRST)

comment = Table(
    "comment",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("item_id", ForeignKey(item.c.id), nullable=False, index=True),
    Column("person_id", ForeignKey(person.c.id), nullable=False),
    Column("text", LongText, nullable=False),
    Column("at", Moment, nullable=False),
)

decision = Table(
    "decision",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("item_id", ForeignKey(item.c.id), nullable=False, index=True),
    Column("replaces", ForeignKey("decision.id"), unique=True),
    Column("answer", Words(200), nullable=False),
    Column("severity", Words(10)),
    Column("reached", Words(12), nullable=False),
    Column("person_id", ForeignKey(person.c.id)),
    Column("why", LongText, nullable=False),
    Column("last_vote", Whole, nullable=False),
    Column("at", Moment, nullable=False),
)

account = Table(
    "account",
    metadata,
    Column("person_id", ForeignKey(person.c.id), primary_key=True),
    Column("password", Words(200)),
    Column("stamp", Words(32), nullable=False),
    Column("closed", Moment),
)

invitation = Table(
    "invitation",
    metadata,
    Column("digest", Words(64), primary_key=True),
    Column("person_id", ForeignKey(person.c.id), nullable=False),
    Column("until", Moment, nullable=False),
    Column("used", Moment),
)

browser_session = Table(
    "browser_session",
    metadata,
    Column("digest", Words(64), primary_key=True),
    Column("person_id", ForeignKey(person.c.id), nullable=False, index=True),
    Column("stamp", Words(32), nullable=False),
    Column("begun", Moment, nullable=False),
    Column("seen", Moment, nullable=False),
    Column("ended", Moment),
)

one_time_link = Table(
    "one_time_link",
    metadata,
    Column("digest", Words(64), primary_key=True),
    Column("until", Moment, nullable=False),
    Column("used", Moment),
)

sign_in_attempts = Table(
    "sign_in_attempts",
    metadata,
    Column("source", Words(64), primary_key=True),
    Column("count", Whole, nullable=False),
    Column("last", Moment, nullable=False, index=True),
)

assignment = Table(
    "assignment",
    metadata,
    Column("queue_id", ForeignKey(queue.c.id), primary_key=True),
    Column("person_id", ForeignKey(person.c.id), primary_key=True),
)

guide_entry = Table(
    "guide_entry",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("class_space", Words(80), nullable=False),
    Column("class", Words(200), nullable=False),
    Column("replaces", ForeignKey("guide_entry.id"), unique=True),
    Column("text", LongText, nullable=False),
    Column("traits", LongText, nullable=False),
    Column("examples", LongText, nullable=False),
    Column("alike", LongText, nullable=False),
    Column("person_id", ForeignKey(person.c.id), nullable=False),
    Column("why", LongText, nullable=False),
    Column("at", Moment, nullable=False),
    Index("ix_guide_entry_class", "class_space", "class"),
)
_FIRST_ENTRY = text("replaces IS NULL")
Index(
    "uq_guide_entry_first", guide_entry.c.class_space, guide_entry.c["class"], unique=True,
    sqlite_where=_FIRST_ENTRY, postgresql_where=_FIRST_ENTRY,
)  # fmt: skip

secret = Table(
    "secret",
    metadata,
    Column("name", Words(40), primary_key=True),
    Column("value", Words(200), nullable=False),
)

overlap_change = Table(
    "overlap_change",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("queue_id", ForeignKey(queue.c.id), nullable=False),
    Column("person_id", ForeignKey(person.c.id)),
    Column("before", Whole, nullable=False),
    Column("after", Whole, nullable=False),
    Column("at", Moment, nullable=False),
)

chain = Table(
    "chain",
    metadata,
    Column("position", Whole, primary_key=True, autoincrement=False),
    Column("kind", Words(12), nullable=False),
    Column("row_id", Whole, nullable=False),
    Column("hash", Words(64), nullable=False),
)

APPEND_ONLY = (vote, comment, decision, guide_entry)
"""What people said: never changed or deleted, and linked in the chain."""
