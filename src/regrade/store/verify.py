"""Checking the stored files of a workspace: checksums, places, and the references between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from regrade.core import ClassSpace, FormatError, InputError
from regrade.store.checked_files import Checksums, read_meta, read_stored_json
from regrade.store.checkpoints import CHECKPOINT_MANIFEST, read_checkpoint_manifest
from regrade.store.contents import contents_problems
from regrade.store.file_errors import damaged, filled_folders, lost
from regrade.store.layout import CHECKPOINTS, OBJECTS, PREDICTIONS, SIGNATURES, TABLES, original_name, place_of
from regrade.store.predictions import MANIFEST, read_manifest
from regrade.store.review_files import DECISION_FILES, DRAWN, FRAME, decision_file_problems, draw_file_problems
from regrade.store.signatures import TABLE

_Metadata = Mapping[str, Any]
_MetadataByPlace = Mapping[str, _Metadata]
_FILES = "files"
_PUBLISHED_TABLES = (
    "labels/*/*@*.parquet", "mistakes/*/*.parquet", f"reviews/*/*/{DECISION_FILES}", "pairs/*/decisions-*.parquet"
)  # fmt: skip
_BY_TEST_SET = (
    "slices", "labels", "predictions", "checkpoints", "reviews", "mistakes", "pairs", "nearest", "audits"
)  # fmt: skip
_FIRST_FILES = {"predictions": MANIFEST, "checkpoints": CHECKPOINT_MANIFEST, "neighbors": TABLE}
"""The file that every folder of a kind must contain."""


@dataclass(frozen=True)
class CheckedFile:
    """A checked file: its path in the workspace, its size, the problem if there is one, and its metadata."""

    path: str
    bytes: int
    trouble: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


def stored_files(root: Path) -> list[Path]:
    """All files with their own checksum; manifests among them list the checksums of further files."""
    return [path for pattern in _READERS for path in sorted(root.glob(pattern))]


def check_stored_file(root: Path, path: Path) -> Iterator[CheckedFile]:
    """Check a stored file, and the files of its folder whose checksums it lists."""
    pattern = next(pattern for pattern in _READERS if path.relative_to(root).match(pattern))
    try:
        metadata = _READERS[pattern](path)
    except FormatError as error:
        yield _checked(root, path, str(error))
        return
    yield _checked(root, path, metadata=metadata)
    for name, checksums in metadata.get(_FILES, {}).items():
        yield _checked(root, path.parent / name, _trouble_with(path.parent / name, checksums))


def _checked(root: Path, path: Path, trouble: str = "", metadata: _Metadata | None = None) -> CheckedFile:
    size = path.stat().st_size if path.is_file() else 0
    return CheckedFile(path.relative_to(root).as_posix(), size, trouble, metadata or {})


def _trouble_with(path: Path, checksums: Checksums) -> str:
    if not path.is_file():
        return str(damaged(path, "it is missing"))
    return "" if Checksums.of_file(path) == checksums else str(damaged(path))


def _signature_metadata(path: Path) -> _Metadata:
    meta = read_meta(path)
    return {**meta, _FILES: {name: Checksums.from_json(stated) for name, stated in meta[_FILES].items()}}


def broken_links(
    root: Path, files: Sequence[CheckedFile], class_space: Callable[[str], ClassSpace]
) -> Iterator[CheckedFile]:
    """Files that others need and that are missing, and files that refer to another version of a file.

    ``files`` are all checked files; the metadata of damaged ones is unknown and not checked.
    """
    present = {file.path for file in files}
    metadata = {file.path: file.metadata for file in files if not file.trouble}
    by_reference = [
        *_missing_first_files(root),
        *_broken_reviews(root, metadata, present),
        *_missing_test_sets(root, present),
        *_other_test_sets(metadata),
        *_other_class_spaces(metadata, present, class_space),
    ]
    yield from by_reference
    reported = {file.path for file in (*files, *by_reference) if file.trouble}
    by_list = [CheckedFile(path, 0, trouble) for path, trouble in contents_problems(root, metadata.keys(), reported)]
    yield from by_list
    yield from _version_gaps(root, reported.union(file.path for file in by_list))


def _version_gaps(root: Path, reported: Collection[str]) -> Iterator[CheckedFile]:
    """Missing versions of label sets of which a later version exists: versions are numbered from 1 without gaps."""
    versions: dict[tuple[Path, str], set[int]] = {}
    for path in root.glob("labels/*/*@*.parquet"):
        name, _, version = path.stem.rpartition("@")
        if version.isdecimal():
            versions.setdefault((path.parent, name), set()).add(int(version))
    for (folder, name), present in sorted(versions.items()):
        for missing in sorted(set(range(1, max(present))) - present):
            path = folder / f"{name}@{missing}.parquet"
            if path.relative_to(root).as_posix() not in reported:
                yield _missing(root, path, f"{name}@{max(present)} is there")


def _missing_first_files(root: Path) -> Iterator[CheckedFile]:
    for kind, name in _FIRST_FILES.items():
        for folder in filled_folders(root / kind, "*/*"):
            if not (folder / name).is_file():
                yield _missing(root, folder / name, "other files of its folder are there")


def _broken_reviews(root: Path, metadata: _MetadataByPlace, present: set[str]) -> Iterator[CheckedFile]:
    for folder in filled_folders(root / "reviews", "*/*"):
        place = folder.relative_to(root).as_posix()
        for name in (FRAME, DRAWN):
            if f"{place}/{name}" not in present:
                yield _missing(root, folder / name, "other files of the review are there")
        labels = place_of("labels", original_name(folder.parent.name), original_name(folder.name))
        if labels not in present:
            yield _missing(root, root / labels, f"{place} is a review of it")
        yield from _broken_samples(root, folder, metadata)


def _broken_samples(root: Path, folder: Path, metadata: _MetadataByPlace) -> Iterator[CheckedFile]:
    """Files of decisions and draws that are missing or not counted, and files that belong to another frame."""
    place = folder.relative_to(root).as_posix()
    if drawn := metadata.get(f"{place}/{DRAWN}"):
        for path, trouble in (*decision_file_problems(folder, drawn), *draw_file_problems(folder, drawn)):
            yield CheckedFile(path.relative_to(root).as_posix(), 0, str(damaged(path, trouble)))
    frame = metadata.get(f"{place}/{FRAME}", {}).get("digest")
    for stored_place, stated in metadata.items():
        if frame and stored_place.startswith(f"{place}/") and stated.get("frame", frame) != frame:
            yield CheckedFile(stored_place, 0, f"it belongs to another sample than {place}/{FRAME}")


def _missing_test_sets(root: Path, present: set[str]) -> Iterator[CheckedFile]:
    for name, path in _needing_test_sets(root).items():
        place = place_of("testsets", name)
        if place not in present:
            yield _missing(root, root / place, f"{path.relative_to(root).as_posix()} belongs to it")


def _needing_test_sets(root: Path) -> dict[str, Path]:
    """A file or folder that belongs to each test set, by the name of the test set."""
    folders = [folder for kind in _BY_TEST_SET for folder in filled_folders(root / kind, "*")]
    files = [
        path
        for pattern in ("images/*.parquet", "ladders/*.parquet", "maps/*.json", "training_sets/*.json")
        for path in sorted(root.glob(pattern))
    ]
    return {original_name(folder.name): folder for folder in folders} | {original_name(f.stem): f for f in files}


def _other_test_sets(metadata: _MetadataByPlace) -> Iterator[CheckedFile]:
    for path, stated in metadata.items():
        place = place_of("testsets", stated["test_set"]) if "test_set_digest" in stated else ""
        if place in metadata and metadata[place]["digest"] != stated["test_set_digest"]:
            yield CheckedFile(path, 0, f"it was made for another version of {place}: restore the one or the other")


def _other_class_spaces(
    metadata: _MetadataByPlace, present: set[str], class_space: Callable[[str], ClassSpace]
) -> Iterator[CheckedFile]:
    in_classes = {path: stated for path, stated in metadata.items() if "class_space_digest" in stated}
    needed_by = {stated["class_space"]: path for path, stated in in_classes.items()}
    digests = {name: _digest(class_space, name) for name in needed_by}
    for name, path in needed_by.items():
        place = place_of("classes", name)
        if not digests[name] and place not in present:
            yield CheckedFile(place, 0, f"it is missing, and {path} needs it: restore it from a copy")
    for path, stated in in_classes.items():
        if digests[stated["class_space"]] not in ("", stated["class_space_digest"]):
            yield CheckedFile(path, 0, f"it was stored with other classes than the present {stated['class_space']!r}")


def _digest(class_space: Callable[[str], ClassSpace], name: str) -> str:
    """The digest of a class space; empty if it cannot be read, which its own check reports."""
    try:
        return class_space(name).digest
    except InputError:
        return ""


def _missing(root: Path, path: Path, evidence: str) -> CheckedFile:
    return CheckedFile(path.relative_to(root).as_posix(), 0, str(lost(path, evidence)))


def first_published_file(root: Path) -> Path | None:
    """The relative path of a file that was published from a ledger, None if there is none; skips damaged files."""
    tables = (path for pattern in _PUBLISHED_TABLES for path in sorted(root.glob(pattern)))
    manifests = sorted(root.glob(PREDICTIONS))
    published = (path for path in chain(tables, manifests) if _is_published(path))
    return next((path.relative_to(root) for path in published), None)


def _is_published(path: Path) -> bool:
    try:
        if path.name == MANIFEST:
            return bool(read_manifest(path.parent).queues)
        stated = read_meta(path)
    except FormatError:
        return False
    return bool(stated.get("queues") or stated.get("queue"))


_READERS: Mapping[str, Callable[[Path], _Metadata]] = {
    **dict.fromkeys(TABLES, read_meta),
    **dict.fromkeys(OBJECTS, read_stored_json),
    PREDICTIONS: lambda path: vars(read_manifest(path.parent)),
    CHECKPOINTS: lambda path: vars(read_checkpoint_manifest(path.parent)),
    SIGNATURES: _signature_metadata,
}
"""The function that checks files of a pattern and returns their metadata, with further checksums in ``files``."""
