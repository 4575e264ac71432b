"""The tables of a ledger. Votes, comments, decisions, guide, worker events and proposals are append-only."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    UniqueConstraint,
    exists,
    select,
    text,
)

from regrade.core.panel import Claim, WorkerEvent
from regrade.ledger.column_types import (
    EnumColumn,
    FloatColumn,
    IntegerColumn,
    LongTextColumn,
    QuestionColumn,
    TextColumn,
    TimestampColumn,
)

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
    Column("name", TextColumn(80), nullable=False, unique=True),
    Column("role", EnumColumn(10, "owner", "reviewer", "labeler", "worker"), nullable=False),
    Column("joined", TimestampColumn, nullable=False),
    CheckConstraint("role IN ('owner', 'reviewer', 'labeler', 'worker')", name="role"),
)

queue = Table(
    "queue",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", TextColumn(80), nullable=False, unique=True),
    Column("question", QuestionColumn, nullable=False),
    Column("test_set", TextColumn(200), nullable=False),
    Column("labels", TextColumn(200), nullable=False),
    Column("overlap", IntegerColumn, nullable=False),
    Column("opened", TimestampColumn, nullable=False),
    Column("model", TextColumn(200), nullable=False, server_default=""),
    Column("mode", EnumColumn(12, "training", "examination"), nullable=False, server_default="examination"),
    Column("purpose", EnumColumn(20, "census", "random sample", "audit")),
    Column("build", TextColumn(200), nullable=False, server_default=""),
    CheckConstraint("overlap >= 1", name="overlap"),
)

block = Table(
    "block",
    metadata,
    Column("queue_id", ForeignKey(queue.c.id), primary_key=True),
    Column("start", IntegerColumn, primary_key=True),
    Column("size", IntegerColumn, nullable=False),
)

item = Table(
    "item",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("queue_id", ForeignKey(queue.c.id), nullable=False),
    Column("place", IntegerColumn, nullable=False),
    Column("example", TextColumn(400), nullable=False),
    Column("class", TextColumn(200), nullable=False),
    Column("stratum", IntegerColumn, nullable=False),
    Column("missing", IntegerColumn, nullable=False),
    Column("needed", IntegerColumn, nullable=False, server_default="1"),
    Column("content", TextColumn(64)),
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
    Column("turn", IntegerColumn, nullable=False),
)

lease = Table(
    "lease",
    metadata,
    Column("item_id", ForeignKey(item.c.id), primary_key=True),
    Column("person_id", ForeignKey(person.c.id), primary_key=True),
    Column("queue_id", ForeignKey(queue.c.id), nullable=False),
    Column("until", TimestampColumn, nullable=False),
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
    Column("text", LongTextColumn, nullable=False),
    Column("at", TimestampColumn, nullable=False),
    Column("cleared", TimestampColumn),
    Column("cleared_by", ForeignKey(person.c.id)),
    Index("ix_report_item", "item_id", "person_id"),
)

vote = Table(
    "vote",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", TextColumn(64), nullable=False, unique=True),
    Column("item_id", ForeignKey(item.c.id), nullable=False),
    Column("person_id", ForeignKey(person.c.id), nullable=False),
    Column("replaces", ForeignKey("vote.id"), unique=True),
    Column("answer", TextColumn(200)),
    Column("severity", TextColumn(10)),
    Column("reason", LongTextColumn, nullable=False),
    Column("why", LongTextColumn, nullable=False),
    Column("seconds", FloatColumn),
    Column("at", TimestampColumn, nullable=False),
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
    Column("text", LongTextColumn, nullable=False),
    Column("at", TimestampColumn, nullable=False),
)

decision = Table(
    "decision",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("item_id", ForeignKey(item.c.id), nullable=False, index=True),
    Column("replaces", ForeignKey("decision.id"), unique=True),
    Column("answer", TextColumn(200), nullable=False),
    Column("severity", TextColumn(10)),
    Column("reached", TextColumn(12), nullable=False),
    Column("person_id", ForeignKey(person.c.id)),
    Column("why", LongTextColumn, nullable=False),
    Column("last_vote", IntegerColumn, nullable=False),
    Column("at", TimestampColumn, nullable=False),
)

account = Table(
    "account",
    metadata,
    Column("person_id", ForeignKey(person.c.id), primary_key=True),
    Column("password", TextColumn(200)),
    Column("stamp", TextColumn(32), nullable=False),
    Column("closed", TimestampColumn),
)

invitation = Table(
    "invitation",
    metadata,
    Column("digest", TextColumn(64), primary_key=True),
    Column("person_id", ForeignKey(person.c.id), nullable=False),
    Column("until", TimestampColumn, nullable=False),
    Column("used", TimestampColumn),
)

browser_session = Table(
    "browser_session",
    metadata,
    Column("digest", TextColumn(64), primary_key=True),
    Column("person_id", ForeignKey(person.c.id), nullable=False, index=True),
    Column("stamp", TextColumn(32), nullable=False),
    Column("begun", TimestampColumn, nullable=False),
    Column("seen", TimestampColumn, nullable=False),
    Column("ended", TimestampColumn),
)

one_time_link = Table(
    "one_time_link",
    metadata,
    Column("digest", TextColumn(64), primary_key=True),
    Column("until", TimestampColumn, nullable=False),
    Column("used", TimestampColumn),
)

sign_in_attempts = Table(
    "sign_in_attempts",
    metadata,
    Column("source", TextColumn(64), primary_key=True),
    Column("count", IntegerColumn, nullable=False),
    Column("last", TimestampColumn, nullable=False, index=True),
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
    Column("class_space", TextColumn(80), nullable=False),
    Column("class", TextColumn(200), nullable=False),
    Column("replaces", ForeignKey("guide_entry.id"), unique=True),
    Column("text", LongTextColumn, nullable=False),
    Column("traits", LongTextColumn, nullable=False),
    Column("examples", LongTextColumn, nullable=False),
    Column("alike", LongTextColumn, nullable=False),
    Column("person_id", ForeignKey(person.c.id), nullable=False),
    Column("why", LongTextColumn, nullable=False),
    Column("at", TimestampColumn, nullable=False),
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
    Column("name", TextColumn(40), primary_key=True),
    Column("value", TextColumn(200), nullable=False),
)

overlap_change = Table(
    "overlap_change",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("queue_id", ForeignKey(queue.c.id), nullable=False),
    Column("person_id", ForeignKey(person.c.id)),
    Column("before", IntegerColumn, nullable=False),
    Column("after", IntegerColumn, nullable=False),
    Column("at", TimestampColumn, nullable=False),
)

worker_link = Table(
    "worker_link",
    metadata,
    Column("digest", TextColumn(64), primary_key=True),
    Column("person_id", ForeignKey(person.c.id), nullable=False, index=True),
    Column("until", TimestampColumn, nullable=False),
    Column("ended", TimestampColumn),
)

worker_event = Table(
    "worker_event",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("queue_id", ForeignKey(queue.c.id), nullable=False),
    Column("person_id", ForeignKey(person.c.id), nullable=False),
    Column("event", EnumColumn(12, *(event.value for event in WorkerEvent)), nullable=False),
    Column("reason", LongTextColumn, nullable=False),
    Column("by_id", ForeignKey(person.c.id)),
    Column("at", TimestampColumn, nullable=False),
    Index("ix_worker_event_worker", "queue_id", "person_id"),
)

proposal = Table(
    "proposal",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("item_id", ForeignKey(item.c.id), nullable=False, index=True),
    Column("person_id", ForeignKey(person.c.id)),
    Column("visitor", TextColumn(80), nullable=False),
    Column("claim", EnumColumn(12, *(claim.value for claim in Claim)), nullable=False),
    Column("reason", LongTextColumn, nullable=False),
    Column("at", TimestampColumn, nullable=False),
)

proposal_link = Table(
    "proposal_link",
    metadata,
    Column("digest", TextColumn(64), primary_key=True),
    Column("queue_id", ForeignKey(queue.c.id), nullable=False, index=True),
    Column("created", TimestampColumn, nullable=False),
    Column("ended", TimestampColumn),
)

chain = Table(
    "chain",
    metadata,
    Column("position", IntegerColumn, primary_key=True, autoincrement=False),
    Column("kind", TextColumn(12), nullable=False),
    Column("row_id", IntegerColumn, nullable=False),
    Column("hash", TextColumn(64), nullable=False),
)

APPEND_ONLY = (vote, comment, decision, guide_entry, worker_event, proposal)
"""Tables whose rows are never changed or deleted and are linked in the hash chain."""

_later = vote.alias("later")
_REPLACED = exists(select(_later.c.id).where(_later.c.replaces == vote.c.id))

IS_CURRENT: ColumnElement[bool] = vote.c.answer.is_not(None) & ~_REPLACED
"""Whether a vote counts: it is the person's last one on the item, and not a retraction."""


def now_in_utc() -> datetime:
    """The current time."""
    return datetime.now(UTC)


def is_valid_text(text: str) -> bool:
    """Whether every database can store a text: it contains no NUL and no unpaired surrogate.

    >>> is_valid_text("a fox"), is_valid_text("a" + chr(0)), is_valid_text(chr(0xD83D))
    (True, False, False)
    """
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


_MESSAGE = "the ledger is append-only: a change is a new row"
_POSTGRES_FUNCTION = f"""
CREATE OR REPLACE FUNCTION regrade_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{_MESSAGE}';
END $$
"""


def forbid_changes(connection: Connection, table: str) -> None:
    """Create triggers that reject UPDATE and DELETE on a table."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_POSTGRES_FUNCTION)
        connection.exec_driver_sql(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION regrade_append_only()"
        )
        return
    for change in ("UPDATE", "DELETE"):
        connection.exec_driver_sql(
            f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END"
        )


def forbid_replacement(connection: Connection, table: str, *conflicts: str) -> None:
    """Create a trigger that rejects ``INSERT OR REPLACE`` of a stored row.

    ``conflicts`` are SQL conditions on NEW under which a stored row would be replaced. SQLite does not run DELETE
    triggers for such a row; PostgreSQL has no such statement.
    """
    if connection.dialect.name == "postgresql":
        return
    exists = f"SELECT 1 FROM {table} WHERE {' OR '.join(conflicts)}"
    connection.exec_driver_sql(
        f"CREATE TRIGGER {table}_no_replacement BEFORE INSERT ON {table} WHEN EXISTS ({exists}) "
        f"BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END"
    )
