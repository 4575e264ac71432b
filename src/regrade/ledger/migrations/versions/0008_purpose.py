"""the purpose of each queue, and questions of other packages"""

import sqlalchemy as sa
from alembic import op

from regrade.ledger.column_types import TimestampColumn

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint("ck_queue_question", "queue")
        op.alter_column("queue", "question", type_=sa.String(length=40))
        op.add_column("queue", sa.Column("purpose", sa.String(length=20), nullable=True))
    else:
        _write_queues_anew()
    # judged queues get their purpose when they are published: only the workspace knows which were drawn at random
    op.execute("UPDATE queue SET purpose = 'census' WHERE question IN ('label', 'mistake')")


def _write_queues_anew() -> None:
    """SQLite cannot drop a constraint: copy the table, with its ids, and put the copy in its place."""
    op.create_table(
        "new_queue",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("question", sa.String(length=40), nullable=False),
        sa.Column("test_set", sa.String(length=200), nullable=False),
        sa.Column("labels", sa.String(length=200), nullable=False),
        sa.Column("overlap", sa.Integer(), nullable=False),
        sa.Column("opened", TimestampColumn(), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False, server_default=""),
        sa.Column("mode", sa.String(length=12), nullable=False, server_default="examination"),
        sa.Column("purpose", sa.String(length=20), nullable=True),
        sa.CheckConstraint("overlap >= 1", name=op.f("ck_queue_overlap")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_queue")),
        sa.UniqueConstraint("name", name=op.f("uq_queue_name")),
    )
    columns = "id, name, question, test_set, labels, overlap, opened, model, mode"
    op.execute(f"INSERT INTO new_queue ({columns}) SELECT {columns} FROM queue")
    op.drop_table("queue")
    op.rename_table("new_queue", "queue")
