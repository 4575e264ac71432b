"""Groups of a study of geography as sentences have them."""

from __future__ import annotations

from regrade.studies import Geography


def group_phrase(result: Geography, group: str) -> str:
    """Where a group is; numbers that were cut are no place."""
    return f"at {result.by} {group}" if result.edges else f"in {group}"
