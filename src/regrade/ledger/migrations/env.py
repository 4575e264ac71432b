"""Run migrations on the given engine, in one transaction."""

from alembic import context

from regrade.ledger.database import writing
from regrade.ledger.schema import metadata

with writing(context.config.attributes["engine"]) as connection:
    context.configure(connection=connection, target_metadata=metadata)
    context.run_migrations()
