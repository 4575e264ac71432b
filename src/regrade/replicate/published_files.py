"""The files a paper published, at their official addresses: fetched once, verified, and kept in a cache.

Each paper has a list in ``data/NAME.files``: a line ``[FOLDER ADDRESS]``, then a line ``SHA256 BYTES PATH`` for every
file, which is at ADDRESS + PATH and is kept as FOLDER/PATH.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from regrade.testsets import Download, download


@dataclass(frozen=True)
class PublishedFile:
    """A file of a paper: where it comes from, and its path below the paper's folder."""

    path: PurePosixPath
    download: Download


ProgressCallback = Callable[[Sequence[PublishedFile]], Iterable[PublishedFile]]
"""Goes through files one by one, showing how far it is."""


def official_files(paper: str) -> tuple[PublishedFile, ...]:
    """The files a paper published; none where all its figures are printed ones."""
    listing = resources.files("regrade.replicate") / "data" / f"{paper}.files"
    if not listing.is_file():
        return ()
    found, folder, address = [], "", ""
    for line in listing.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            folder, _, address = line.strip("[]").partition(" ")
            continue
        digest, size, path = line.split(maxsplit=2)
        item = Download(address + quote(path), int(size), f"sha256:{digest}")
        found.append(PublishedFile(PurePosixPath(folder) / path, item))
    return tuple(found)


def folder_for(paper: str) -> Path:
    """Where a paper's files are kept: below $XDG_CACHE_HOME, or ~/.cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    return root / "regrade" / "papers" / paper


def fetch(paper: str, *, watch: ProgressCallback = iter) -> Path:
    """Bring a paper's files into its folder, those that are not there yet, and return the folder."""
    folder = folder_for(paper)
    for file in watch(official_files(paper)):
        download(file.download, (folder / file.path).parent)
    return folder
