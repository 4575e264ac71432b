"""Which votes stand: the last one of each person on each item, unless it takes the one before back."""

from __future__ import annotations

from sqlalchemy import ColumnElement, exists, select

from regrade.ledger.schema import vote


def is_last() -> ColumnElement[bool]:
    """Whether no later vote replaces a vote."""
    later = vote.alias()
    return ~exists(select(later.c.id).where(later.c.replaces == vote.c.id))


def stands() -> ColumnElement[bool]:
    """Whether a vote counts: it is the last one, and gives an answer."""
    return vote.c.answer.is_not(None) & is_last()
