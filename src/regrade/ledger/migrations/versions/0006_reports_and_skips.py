"""images that people report as unreadable, and items that they skip"""

import sqlalchemy as sa
from alembic import op

from regrade.ledger.column_types import TimestampColumn

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "skip",
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("queue_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_skip_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_skip_person_id")),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name=op.f("fk_skip_queue_id")),
        sa.PrimaryKeyConstraint("item_id", "person_id", name=op.f("pk_skip")),
    )
    op.create_index("ix_skip_person", "skip", ["queue_id", "person_id"])
    op.create_table(
        "report",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", TimestampColumn(), nullable=False),
        sa.Column("cleared", TimestampColumn(), nullable=True),
        sa.Column("cleared_by", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_report_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_report_person_id")),
        sa.ForeignKeyConstraint(["cleared_by"], ["person.id"], name=op.f("fk_report_cleared_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report")),
    )
    op.create_index("ix_report_item", "report", ["item_id", "person_id"])
