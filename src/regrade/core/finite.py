"""Numbers from users: NaN and infinity are never meant."""

from __future__ import annotations

import math

from regrade.core.errors import InputError


def finite(name: str, value: float) -> float:
    """Return the value of an option or argument; NaN and infinity raise.

    >>> finite("--half-width", 0.5)
    0.5
    """
    if not math.isfinite(value):
        raise InputError(f"{name} must be a finite number, got {value}")
    return value
