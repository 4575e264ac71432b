"""workers of a crowd: their role, their links and their log, and the build that a queue belongs to"""

import sqlalchemy as sa
from alembic import op

from regrade.ledger.column_types import TimestampColumn
from regrade.ledger.schema import forbid_changes, forbid_replacement

revision = "0009"
down_revision = "0008"

_ROLES = "role IN ('owner', 'reviewer', 'labeler', 'worker')"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint("ck_person_role", "person")
        op.create_check_constraint(op.f("ck_person_role"), "person", _ROLES)
    else:
        _write_people_anew()
    op.add_column("queue", sa.Column("build", sa.String(length=200), nullable=False, server_default=""))
    op.create_table(
        "worker_link",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("until", TimestampColumn(), nullable=False),
        sa.Column("ended", TimestampColumn(), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_worker_link_person_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_worker_link")),
    )
    op.create_index(op.f("ix_worker_link_person_id"), "worker_link", ["person_id"])
    op.create_table(
        "worker_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("queue_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("event", sa.String(length=12), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("by_id", sa.Integer(), nullable=True),
        sa.Column("at", TimestampColumn(), nullable=False),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name=op.f("fk_worker_event_queue_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_worker_event_person_id")),
        sa.ForeignKeyConstraint(["by_id"], ["person.id"], name=op.f("fk_worker_event_by_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_worker_event")),
    )
    op.create_index("ix_worker_event_worker", "worker_event", ["queue_id", "person_id"])
    forbid_changes(op.get_bind(), "worker_event")
    forbid_replacement(op.get_bind(), "worker_event", "id = NEW.id")


def _write_people_anew() -> None:
    """SQLite cannot change a constraint: copy the table, with its ids, and put the copy in its place."""
    op.create_table(
        "new_person",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("joined", TimestampColumn(), nullable=False),
        sa.CheckConstraint(_ROLES, name=op.f("ck_person_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
        sa.UniqueConstraint("name", name=op.f("uq_person_name")),
    )
    columns = "id, name, role, joined"
    op.execute(f"INSERT INTO new_person ({columns}) SELECT {columns} FROM person")
    op.drop_table("person")
    op.rename_table("new_person", "person")
