"""Build a new test set from candidate images: grids, selection frequencies, samplers, cleaning and revisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from regrade.build.registry import BUILD_STEPS, Builds

__all__ = ["BUILD_STEPS", "Builds"]

_HOME = {
    "regrade.build.registry": "BUILD_STEPS Builds",
}

if not TYPE_CHECKING:  # type checkers then find misspelled names
    __getattr__, __dir__ = lazy_names(globals(), _HOME)
