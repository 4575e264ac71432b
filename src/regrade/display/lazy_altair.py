"""The library altair, imported when the first chart is drawn: most commands draw none and start faster without it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["altair"]

if TYPE_CHECKING:
    import altair
else:

    class _Altair:
        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("altair"), name)

    altair = _Altair()
