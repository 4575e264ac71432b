"""the first form"""

import sqlalchemy as sa
from alembic import op

from regrade.ledger.column_types import TimestampColumn
from regrade.ledger.schema import forbid_changes

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("joined", TimestampColumn(), nullable=False),
        sa.CheckConstraint("role IN ('owner', 'reviewer', 'labeler')", name=op.f("ck_person_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
        sa.UniqueConstraint("name", name=op.f("uq_person_name")),
    )
    op.create_table(
        "queue",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("question", sa.String(length=10), nullable=False),
        sa.Column("test_set", sa.String(length=200), nullable=False),
        sa.Column("labels", sa.String(length=200), nullable=False),
        sa.Column("overlap", sa.Integer(), nullable=False),
        sa.Column("opened", TimestampColumn(), nullable=False),
        sa.CheckConstraint("question IN ('judge', 'label', 'mistake')", name=op.f("ck_queue_question")),
        sa.CheckConstraint("overlap >= 1", name=op.f("ck_queue_overlap")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_queue")),
        sa.UniqueConstraint("name", name=op.f("uq_queue_name")),
    )
    op.create_table(
        "block",
        sa.Column("queue_id", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name=op.f("fk_block_queue_id")),
        sa.PrimaryKeyConstraint("queue_id", "start", name=op.f("pk_block")),
    )
    op.create_table(
        "item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("queue_id", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("example", sa.String(length=400), nullable=False),
        sa.Column("class", sa.String(length=200), nullable=False),
        sa.Column("stratum", sa.Integer(), nullable=False),
        sa.Column("missing", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name=op.f("fk_item_queue_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item")),
        sa.UniqueConstraint("queue_id", "example", "class", name=op.f("uq_item_queue_id_example_class")),
        sa.UniqueConstraint("queue_id", "place", name=op.f("uq_item_queue_id_place")),
    )
    op.create_index(
        "ix_item_missing",
        "item",
        ["queue_id", "place"],
        unique=False,
        sqlite_where=sa.text("missing > 0"),
        postgresql_where=sa.text("missing > 0"),
    )
    op.create_table(
        "turn",
        sa.Column("queue_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_turn_person_id")),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name=op.f("fk_turn_queue_id")),
        sa.PrimaryKeyConstraint("queue_id", "person_id", name=op.f("pk_turn")),
    )
    op.create_table(
        "comment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", TimestampColumn(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_comment_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_comment_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comment")),
    )
    op.create_index(op.f("ix_comment_item_id"), "comment", ["item_id"], unique=False)
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("replaces", sa.Integer(), nullable=True),
        sa.Column("answer", sa.String(length=200), nullable=False),
        sa.Column("severity", sa.String(length=10), nullable=True),
        sa.Column("reached", sa.String(length=12), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("last_vote", sa.Integer(), nullable=False),
        sa.Column("at", TimestampColumn(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_decision_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_decision_person_id")),
        sa.ForeignKeyConstraint(["replaces"], ["decision.id"], name=op.f("fk_decision_replaces")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision")),
        sa.UniqueConstraint("replaces", name=op.f("uq_decision_replaces")),
    )
    op.create_index(op.f("ix_decision_item_id"), "decision", ["item_id"], unique=False)
    op.create_table(
        "lease",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("queue_id", sa.Integer(), nullable=False),
        sa.Column("until", TimestampColumn(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_lease_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_lease_person_id")),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name=op.f("fk_lease_queue_id")),
        sa.PrimaryKeyConstraint("item_id", "person_id", name=op.f("pk_lease")),
    )
    op.create_index("ix_lease_person", "lease", ["queue_id", "person_id"], unique=False)
    op.create_table(
        "vote",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("replaces", sa.Integer(), nullable=True),
        sa.Column("answer", sa.String(length=200), nullable=True),
        sa.Column("severity", sa.String(length=10), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("at", TimestampColumn(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_vote_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_vote_person_id")),
        sa.ForeignKeyConstraint(["replaces"], ["vote.id"], name=op.f("fk_vote_replaces")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vote")),
        sa.UniqueConstraint("key", name=op.f("uq_vote_key")),
        sa.UniqueConstraint("replaces", name=op.f("uq_vote_replaces")),
    )
    op.create_index("ix_vote_item", "vote", ["item_id", "person_id"], unique=False)
    op.create_index("ix_vote_person", "vote", ["person_id", "id"], unique=False)
    op.create_index(
        "uq_vote_first",
        "vote",
        ["item_id", "person_id"],
        unique=True,
        sqlite_where=sa.text("replaces IS NULL"),
        postgresql_where=sa.text("replaces IS NULL"),
    )
    for table in ("vote", "comment", "decision"):
        forbid_changes(op.get_bind(), table)
