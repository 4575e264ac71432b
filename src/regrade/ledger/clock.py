"""The time of day, for what a ledger writes."""

from __future__ import annotations

from datetime import UTC, datetime


def now_in_utc() -> datetime:
    """The time now."""
    return datetime.now(UTC)
