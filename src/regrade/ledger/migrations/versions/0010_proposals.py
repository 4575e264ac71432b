"""classes and corrections that people propose, and the links with which everyone can propose them"""

import sqlalchemy as sa
from alembic import op

from regrade.ledger.column_types import TimestampColumn
from regrade.ledger.schema import forbid_changes, forbid_replacement

revision = "0010_proposals"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "proposal",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("visitor", sa.String(length=80), nullable=False),
        sa.Column("claim", sa.String(length=12), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", TimestampColumn(), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_proposal_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_proposal_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_proposal")),
    )
    op.create_index(op.f("ix_proposal_item_id"), "proposal", ["item_id"])
    forbid_changes(op.get_bind(), "proposal")
    forbid_replacement(op.get_bind(), "proposal", "id = NEW.id")
    op.create_table(
        "proposal_link",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("queue_id", sa.Integer(), nullable=False),
        sa.Column("created", TimestampColumn(), nullable=False),
        sa.Column("ended", TimestampColumn(), nullable=True),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name=op.f("fk_proposal_link_queue_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_proposal_link")),
    )
    op.create_index(op.f("ix_proposal_link_queue_id"), "proposal_link", ["queue_id"])
