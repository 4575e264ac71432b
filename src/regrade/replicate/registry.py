"""The papers whose tables can be recomputed, by name, and the files that they published.

Files are downloaded once from their official addresses, verified, and cached. Each paper has a list in
``data/NAME.files``: a line ``[FOLDER ADDRESS]``, then a line ``SHA256 BYTES PATH`` for every file, which is at
ADDRESS + PATH and is kept as FOLDER/PATH.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from regrade.core import InputError, UnknownName
from regrade.replicate.albiero2023 import albiero2023
from regrade.replicate.annotations import ANNOTATIONS
from regrade.replicate.cell import Replication
from regrade.replicate.recht2019 import recht2019
from regrade.replicate.richards2023 import richards2023
from regrade.replicate.shankar2020 import shankar2020
from regrade.replicate.vasudevan2022 import vasudevan2022
from regrade.testsets import Download, download

Paper = Callable[[Path], Replication]
"""Recomputes a paper's figures from the folder of its published data."""

_PAPERS: dict[str, Paper] = {
    "recht2019": recht2019,
    "shankar2020": shankar2020,
    "vasudevan2022": vasudevan2022,
    "albiero2023": albiero2023,
    "richards2023": richards2023,
}

_WITHOUT_DATA = ("albiero2023", "richards2023")
_NEEDED = {"shankar2020": ANNOTATIONS}  # the file that --data is for


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
    if data is not None and name in _NEEDED and not (data / _NEEDED[name]).is_file():
        raise InputError(
            f"{data} has no {_NEEDED[name]}, which {name} reads: regrade testsets catalog multilabel-v3 says where it "
            "is; leave out --data to use printed figures only"
        )
    return _PAPERS[name](fetch(name, progress=progress) if data is None else data)


@dataclass(frozen=True)
class PublishedFile:
    """A file of a paper: where it comes from, and its path below the paper's folder."""

    path: PurePosixPath
    download: Download


ProgressCallback = Callable[[Sequence[PublishedFile]], Iterable[PublishedFile]]
"""Iterates over files and shows progress."""


def official_files(paper: str) -> tuple[PublishedFile, ...]:
    """The files that a paper published; empty if there are none."""
    listing = resources.files("regrade.replicate") / "data" / f"{paper}.files"
    if not listing.is_file():
        return ()
    files, folder, address = [], "", ""
    for line in listing.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            folder, _, address = line.strip("[]").partition(" ")
            continue
        digest, size, path = line.split(maxsplit=2)
        item = Download(address + quote(path), int(size), f"sha256:{digest}")
        files.append(PublishedFile(PurePosixPath(folder) / path, item))
    return tuple(files)


def folder_for(paper: str) -> Path:
    """The cache folder of a paper's files: below $XDG_CACHE_HOME, or ~/.cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    return root / "regrade" / "papers" / paper


def fetch(paper: str, *, progress: ProgressCallback = iter) -> Path:
    """Download the missing files of a paper, and return their folder."""
    folder = folder_for(paper)
    for file in progress(official_files(paper)):
        download(file.download, (folder / file.path).parent)
    return folder
