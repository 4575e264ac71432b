"""a hash chain over everything that people said, and no replacing of rows"""

import sqlalchemy as sa
from alembic import op

from regrade.ledger.chain import link_everything
from regrade.ledger.schema import forbid_changes, forbid_replacement

revision = "0003"
down_revision = "0002"

_FIRST = "NEW.replaces IS NULL AND replaces IS NULL"
_SAME = {
    "vote": (
        "id = NEW.id",
        "key = NEW.key",
        "replaces = NEW.replaces",
        f"({_FIRST} AND item_id = NEW.item_id AND person_id = NEW.person_id)",
    ),
    "comment": ("id = NEW.id",),
    "decision": ("id = NEW.id", "replaces = NEW.replaces"),
    "guide_entry": (
        "id = NEW.id",
        "replaces = NEW.replaces",
        f"({_FIRST} AND class_space = NEW.class_space AND class = NEW.class)",
    ),
    "chain": ("position = NEW.position",),
}


def upgrade() -> None:
    op.create_table(
        "chain",
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("row_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_chain")),
    )
    link_everything(op.get_bind())
    forbid_changes(op.get_bind(), "chain")
    for table, same in _SAME.items():
        forbid_replacement(op.get_bind(), table, *same)
