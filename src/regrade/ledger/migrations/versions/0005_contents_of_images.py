"""the contents of the images that items ask about"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("item", sa.Column("content", sa.String(length=64), nullable=True))
