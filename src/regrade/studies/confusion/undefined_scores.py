"""Statistics that may have no value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regrade.core import Estimate, UndefinedError


def defined(statistic: Callable[..., Estimate], *samples: Any, **options: Any) -> Estimate | None:
    """The statistic of the samples, none where it is undefined."""
    try:
        return statistic(*samples, **options)
    except UndefinedError:
        return None
