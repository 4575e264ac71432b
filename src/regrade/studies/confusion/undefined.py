"""Statistics that may be undefined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regrade.core import Estimate, UndefinedError


def none_if_undefined(statistic: Callable[..., Estimate], *samples: Any, **options: Any) -> Estimate | None:
    """Return the statistic of the samples, or None if it is undefined."""
    try:
        return statistic(*samples, **options)
    except UndefinedError:
        return None
