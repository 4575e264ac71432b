"""contents.json: the list of all stored files, to detect files that were removed or reverted to an older version."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath

from regrade.core import DamagedFile
from regrade.store.checked_files import read_stored_json, stored_json
from regrade.store.file_errors import damaged
from regrade.store.layout import CHECKPOINTS, CONTENTS, PREDICTIONS, STORED_OBJECTS, TABLES, original_name

_LISTED = (*TABLES, *STORED_OBJECTS, PREDICTIONS, CHECKPOINTS)
_STORED_FILES = "stored_files"
_IF_ON_PURPOSE = (
    f"if this was done on purpose, remove {CONTENTS} too: the next command that stores something lists all files anew"
)


def listed_files(root: Path) -> Mapping[str, str]:
    """The SHA-256 of every stored file by its place; empty if the workspace has no list yet."""
    path = root / CONTENTS
    return _read(path) if path.is_file() else {}


def missing_listed_files(root: Path, folder: str) -> list[str]:
    """The names of the records of a folder, files without suffix or folders, of which a listed file is missing."""
    places = [place for place in listed_files(root) if place.startswith(f"{folder}/") and not (root / place).is_file()]
    paths = (PurePosixPath(place).relative_to(folder) for place in places)
    return [original_name(path.stem if len(path.parts) == 1 else path.parts[0]) for path in paths]


def contents_after(root: Path, staged_by_place: Mapping[str, Path | None]) -> bytes | None:
    """The new list after files and folders are placed, replaced or removed; None if it does not change."""
    path = root / CONTENTS
    before = _read(path) if path.is_file() else None
    after = _kept(before if before is not None else _present(root), staged_by_place)
    for place, staged in staged_by_place.items():
        after |= {} if staged is None else _staged_files(place, staged)
    return None if after == before else stored_json({_STORED_FILES: dict(sorted(after.items()))}, place=CONTENTS)


def contents_problems(root: Path, intact: Mapping[str, str], reported: Collection[str]) -> Iterator[tuple[str, str]]:
    """Listed files that are missing, and intact files of another version than listed, each with a message.

    ``intact`` has the SHA-256 of intact files by their place.
    """
    try:
        listed = listed_files(root)
    except DamagedFile:
        return  # reported by the check of contents.json itself
    for place, digest in listed.items():
        if place in reported:
            continue
        if not (root / place).is_file():
            yield place, str(removed(root / place))
        elif intact.get(place, digest) != digest:
            yield place, str(_reverted(root / place))


def removed(path: Path) -> DamagedFile:
    """The error for a listed file that is missing."""
    return DamagedFile(
        f"{path} is missing although {CONTENTS} lists it: restore it from a copy, or store its content again; "
        f"{_IF_ON_PURPOSE}"
    )


def _reverted(path: Path) -> DamagedFile:
    return DamagedFile(
        f"{path} is another version than {CONTENTS} lists: restore the listed one from a copy; {_IF_ON_PURPOSE}"
    )


def _read(path: Path) -> dict[str, str]:
    listed = read_stored_json(path)[_STORED_FILES]
    if not isinstance(listed, dict):
        raise damaged(path)
    return listed


def _kept(listed: Mapping[str, str], changed: Collection[str]) -> dict[str, str]:
    """The entries of a list without the changed places and everything below them."""
    return {
        place: digest
        for place, digest in listed.items()
        if place not in changed and not any(str(parent) in changed for parent in PurePosixPath(place).parents)
    }


def _present(root: Path) -> dict[str, str]:
    """The list of the files that are in the workspace now."""
    paths = [path for pattern in _LISTED for path in sorted(root.glob(pattern))]
    return {path.relative_to(root).as_posix(): digest_of_file(path) for path in paths}


def _staged_files(place: str, staged: Path) -> dict[str, str]:
    paths = {f"{place}/{path.name}": path for path in staged.iterdir()} if staged.is_dir() else {place: staged}
    return {final: digest_of_file(path) for final, path in paths.items() if _is_listed(PurePosixPath(final))}


def _is_listed(place: PurePosixPath) -> bool:
    patterns = (PurePosixPath(pattern) for pattern in _LISTED if pattern.startswith(f"{place.parts[0]}/"))
    return any(len(pattern.parts) == len(place.parts) and place.match(str(pattern)) for pattern in patterns)


def digest_of_file(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
