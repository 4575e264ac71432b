"""Which votes stand: the last one of each person on each item, unless it takes the one before back."""

from __future__ import annotations

from sqlalchemy import ColumnElement, exists, select

from regrade.ledger.schema import vote

_later = vote.alias("later")

IS_LAST: ColumnElement[bool] = ~exists(select(_later.c.id).where(_later.c.replaces == vote.c.id))
"""Whether no later vote replaces a vote."""

STANDS: ColumnElement[bool] = vote.c.answer.is_not(None) & IS_LAST
"""Whether a vote counts: it is the last one, and gives an answer."""
