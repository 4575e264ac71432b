"""accounts, invitations, who does which queue, and the guide"""

import sqlalchemy as sa
from alembic import op

from regrade.ledger.column_types import TimestampColumn
from regrade.ledger.schema import forbid_changes

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("queue", sa.Column("model", sa.String(length=200), nullable=False, server_default=""))
    op.add_column("queue", sa.Column("mode", sa.String(length=12), nullable=False, server_default="examination"))
    op.create_table(
        "account",
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("password", sa.String(length=200), nullable=True),
        sa.Column("stamp", sa.String(length=32), nullable=False),
        sa.Column("closed", TimestampColumn(), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_account_person_id")),
        sa.PrimaryKeyConstraint("person_id", name=op.f("pk_account")),
    )
    op.create_table(
        "invitation",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("until", TimestampColumn(), nullable=False),
        sa.Column("used", TimestampColumn(), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_invitation_person_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_invitation")),
    )
    op.create_table(
        "assignment",
        sa.Column("queue_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name=op.f("fk_assignment_queue_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_assignment_person_id")),
        sa.PrimaryKeyConstraint("queue_id", "person_id", name=op.f("pk_assignment")),
    )
    op.create_table(
        "guide_entry",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("class_space", sa.String(length=80), nullable=False),
        sa.Column("class", sa.String(length=200), nullable=False),
        sa.Column("replaces", sa.Integer(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("traits", sa.Text(), nullable=False),
        sa.Column("examples", sa.Text(), nullable=False),
        sa.Column("alike", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", TimestampColumn(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_guide_entry_person_id")),
        sa.ForeignKeyConstraint(["replaces"], ["guide_entry.id"], name=op.f("fk_guide_entry_replaces")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_guide_entry")),
        sa.UniqueConstraint("replaces", name=op.f("uq_guide_entry_replaces")),
    )
    op.create_index("ix_guide_entry_class", "guide_entry", ["class_space", "class"])
    first = sa.text("replaces IS NULL")
    op.create_index(
        "uq_guide_entry_first",
        "guide_entry",
        ["class_space", "class"],
        unique=True,
        sqlite_where=first,
        postgresql_where=first,
    )
    op.create_table(
        "secret",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_secret")),
    )
    forbid_changes(op.get_bind(), "guide_entry")
