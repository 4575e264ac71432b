"""The papers whose tables can be recomputed, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from regrade.core import InputError, UnknownName
from regrade.replicate.albiero2023 import albiero2023
from regrade.replicate.cell import Replication
from regrade.replicate.published_files import ProgressCallback, fetch
from regrade.replicate.recht2019 import recht2019
from regrade.replicate.richards2023 import richards2023
from regrade.replicate.shankar2020 import shankar2020
from regrade.replicate.vasudevan2022 import vasudevan2022

Paper = Callable[[Path], Replication]
"""Recomputes a paper's figures from the folder of its published data."""

_PAPERS: dict[str, Paper] = {
    "recht2019": recht2019,
    "shankar2020": shankar2020,
    "vasudevan2022": vasudevan2022,
    "albiero2023": albiero2023,
    "richards2023": richards2023,
}


_WITHOUT_DATA = ("shankar2020", "albiero2023", "richards2023")


def papers() -> tuple[str, ...]:
    """The names of all papers."""
    return tuple(_PAPERS)


def replicate(name: str, data: Path | None = None, *, progress: ProgressCallback = iter) -> Replication:
    """Recompute a paper's figures from the folder of its published data (default: download it).

    An unknown name raises and suggests similar ones.
    """
    if name not in _PAPERS:
        raise UnknownName("paper", name, papers())
    if data is not None and name in _WITHOUT_DATA:
        raise InputError(f"{name} needs no data, only printed figures: leave out --data")
    return _PAPERS[name](fetch(name, progress=progress) if data is None else data)
