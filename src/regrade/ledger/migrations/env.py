"""Run migrations on the given engine, in one transaction."""

from alembic import context

from regrade.ledger.database import migrating
from regrade.ledger.schema import metadata

with migrating(context.config.attributes["engine"]) as connection:
    context.configure(connection=connection, target_metadata=metadata)
    context.run_migrations()
