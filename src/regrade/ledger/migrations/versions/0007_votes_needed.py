"""how many votes each item needs, and who changed that for a queue"""

import sqlalchemy as sa
from alembic import op

from regrade.ledger.column_types import TimestampColumn

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("item", sa.Column("needed", sa.Integer(), nullable=False, server_default="1"))
    op.execute("UPDATE item SET needed = (SELECT overlap FROM queue WHERE queue.id = item.queue_id)")
    op.create_table(
        "overlap_change",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("queue_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("before", sa.Integer(), nullable=False),
        sa.Column("after", sa.Integer(), nullable=False),
        sa.Column("at", TimestampColumn(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_overlap_change_person_id")),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name=op.f("fk_overlap_change_queue_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_overlap_change")),
    )
