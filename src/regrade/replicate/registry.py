"""The papers whose tables can be recomputed, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from regrade.core import UnknownName
from regrade.replicate.cell import Replication

Paper = Callable[[Path], Replication]
"""Recomputes a paper's figures from the folder of its published data."""

_PAPERS: dict[str, Paper] = {}


def papers() -> tuple[str, ...]:
    """The names of all papers."""
    return tuple(_PAPERS)


def replicate(name: str, data: Path) -> Replication:
    """Recompute a paper's figures from its published data; an unknown paper raises and names its neighbours."""
    if name not in _PAPERS:
        raise UnknownName("paper", name, papers())
    return _PAPERS[name](data)
