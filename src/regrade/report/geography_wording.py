"""Phrases for the groups of a geography study."""

from __future__ import annotations

from regrade.studies import Geography


def group_phrase(result: Geography, group: str) -> str:
    """A group with its preposition: "at" for numeric bins, "in" for places."""
    return f"at {result.by} {group}" if result.edges else f"in {group}"
