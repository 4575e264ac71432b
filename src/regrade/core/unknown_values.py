"""Values of metadata that state nothing."""

from __future__ import annotations

_UNKNOWN = ("", "-", "?", "n/a", "na", "none", "null", "unknown", "unspecified")


def is_unknown(value: str) -> bool:
    """Whether a value of metadata states nothing, such as an empty one, ``n/a`` or ``unknown``."""
    return value.strip().casefold() in _UNKNOWN
