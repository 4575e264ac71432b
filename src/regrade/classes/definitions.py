"""Definitions of WordNet concepts, read at run time from an installed WordNet or timm.

Definitions are not part of regrade; without WordNet and timm there are none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

_WNID = re.compile(r"n(\d{8})")
_SYSTEM_WORDNET = Path("/usr/share/wordnet")
_DOG = "n02084071"
"""A concept with this offset in WordNet 3.0 only, not in other versions."""


def definition(wnid: str) -> str | None:
    """Return the definition of a concept, without example sentences; None if it is not available."""
    if _WNID.fullmatch(wnid) is None:
        return None
    folder = wordnet_folder()
    text = None if folder is None else _wordnet_definition(folder, wnid)
    if text is None and (table := _timm_table()) is not None:
        text = _timm_definitions(table).get(wnid)
    return text


def wordnet_folder() -> Path | None:
    """Find the first folder with WordNet 3.0; wnids have other meanings in other versions."""
    return next((f for f in _wordnet_folders() if "dog" in _words(_wordnet_line(f, _DOG))), None)


def _wordnet_folders() -> Iterator[Path]:
    if own := os.environ.get("REGRADE_WORDNET"):
        yield Path(own)
    if home := os.environ.get("WNHOME"):
        yield Path(home) / "dict"
    yield _SYSTEM_WORDNET


def _wordnet_definition(folder: Path, wnid: str) -> str | None:
    _, _, gloss = _wordnet_line(folder, wnid).partition(" | ")
    return _without_examples(gloss) or None


def _wordnet_line(folder: Path, wnid: str) -> str:
    """Read the line of data.noun at the offset of the wnid; empty if there is no such synset."""
    match = _WNID.fullmatch(wnid)
    if match is None:
        return ""
    try:
        with (folder / "data.noun").open("rb") as file:
            file.seek(int(match[1]))
            line = file.readline().decode("utf-8", errors="replace")
    except OSError:
        return ""
    return line if line.startswith(f"{match[1]} ") and line.endswith("\n") else ""


def _words(line: str) -> list[str]:
    return line.partition(" | ")[0].split()


def _without_examples(gloss: str) -> str:
    """Truncate a gloss before its first example, which is in quotes after a semicolon."""
    return re.split(r';\s*"', gloss.strip(), maxsplit=1)[0].strip(" ;")


def _timm_table() -> Path | None:
    """Find timm's table of definitions without importing timm."""
    spec = find_spec("timm")
    places = spec.submodule_search_locations if spec is not None else None
    tables = (Path(place) / "data/_info/imagenet_synset_to_definition.txt" for place in places or ())
    return next((table for table in tables if table.is_file()), None)


@lru_cache(maxsize=1)
def _timm_definitions(table: Path) -> Mapping[str, str]:
    try:
        lines = table.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    return {wnid: text.strip() for wnid, tab, text in (line.partition("\t") for line in lines) if tab}
