"""browser sessions, one-time links and sign-in attempts"""

import sqlalchemy as sa
from alembic import op

from regrade.ledger.column_types import TimestampColumn

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "browser_session",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("stamp", sa.String(length=32), nullable=False),
        sa.Column("begun", TimestampColumn(), nullable=False),
        sa.Column("seen", TimestampColumn(), nullable=False),
        sa.Column("ended", TimestampColumn(), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_browser_session_person_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_browser_session")),
    )
    op.create_index(op.f("ix_browser_session_person_id"), "browser_session", ["person_id"])
    op.create_table(
        "one_time_link",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("until", TimestampColumn(), nullable=False),
        sa.Column("used", TimestampColumn(), nullable=True),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_one_time_link")),
    )
    op.create_table(
        "sign_in_attempts",
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("last", TimestampColumn(), nullable=False),
        sa.PrimaryKeyConstraint("source", name=op.f("pk_sign_in_attempts")),
    )
    op.create_index(op.f("ix_sign_in_attempts_last"), "sign_in_attempts", ["last"])
