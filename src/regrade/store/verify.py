"""Checking the stored files of a workspace: checksums, places, and the references between them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regrade.core import ClassSpace, FormatError, InputError
from regrade.store.checked_files import Checksums, meta_of, read_content, stored_json_of
from regrade.store.checkpoints import CHECKPOINT_MANIFEST, checkpoint_manifest_in
from regrade.store.contents import contents_problems
from regrade.store.file_errors import damaged, filled_folders, lost
from regrade.store.layout import CHECKPOINTS, OBJECTS, PREDICTIONS, SIGNATURES, TABLES, original_name, place_of
from regrade.store.predictions import MANIFEST, manifest_in
from regrade.store.review_files import DECISION_FILES, DRAWN, FRAME, decision_file_problems, draw_file_problems
from regrade.store.signatures import TABLE

_Metadata = Mapping[str, Any]
_MetadataByPlace = Mapping[str, _Metadata]
_FILES = "files"
_PUBLISHED = (
    "labels/*/*@*.parquet", "mistakes/*/*.parquet", f"reviews/*/*/{DECISION_FILES}", "pairs/*/decisions-*.parquet",
    PREDICTIONS,
)  # fmt: skip
_BY_TEST_SET = (
    "slices", "labels", "predictions", "checkpoints", "reviews", "mistakes", "pairs", "nearest", "audits"
)  # fmt: skip
_FIRST_FILES = {"predictions": MANIFEST, "checkpoints": CHECKPOINT_MANIFEST, "neighbors": TABLE}
"""The file that every folder of a kind must contain."""


@dataclass(frozen=True)
class CheckedFile:
    """A checked file: its path in the workspace, its size, the problem if there is one, and its metadata.

    ``sha256`` is that of a file with a checksum of its own.
    """

    path: str
    bytes: int
    trouble: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""


def stored_files(root: Path) -> list[Path]:
    """All files with their own checksum; manifests among them list the checksums of further files."""
    return [path for pattern in _READERS for path in sorted(root.glob(pattern))]


def check_stored_file(root: Path, path: Path) -> Iterator[CheckedFile]:
    """Check a stored file, which is read once, and the files of its folder whose checksums it lists."""
    pattern = next(pattern for pattern in _READERS if path.relative_to(root).match(pattern))
    try:
        content = read_content(path)
        metadata = _READERS[pattern](path, content)
    except FormatError as error:
        yield _checked(root, path, str(error))
        return
    yield replace(_checked(root, path, metadata=metadata), sha256=hashlib.sha256(content).hexdigest())
    for name, checksums in metadata.get(_FILES, {}).items():
        yield _checked(root, path.parent / name, _trouble_with(path.parent / name, checksums))


def _checked(root: Path, path: Path, trouble: str = "", metadata: _Metadata | None = None) -> CheckedFile:
    size = path.stat().st_size if path.is_file() else 0
    return CheckedFile(path.relative_to(root).as_posix(), size, trouble, metadata or {})


def _trouble_with(path: Path, checksums: Checksums) -> str:
    if not path.is_file():
        return str(damaged(path, "it is missing"))
    return "" if Checksums.of_file(path) == checksums else str(damaged(path))


def _signature_metadata(path: Path, content: bytes) -> _Metadata:
    meta = meta_of(path, content)
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
    intact = {file.path: file.sha256 for file in files if file.sha256}
    reported = {file.path for file in (*files, *by_reference) if file.trouble}
    by_list = [CheckedFile(path, 0, trouble) for path, trouble in contents_problems(root, intact, reported)]
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
    paths = (path for pattern in _PUBLISHED for path in sorted(root.glob(pattern)))
    return first_published(next(check_stored_file(root, path)) for path in paths)


def first_published(files: Iterable[CheckedFile]) -> Path | None:
    """The path of the first of checked files that was published from a ledger, None if there is none."""
    paths = (Path(file.path) for file in files if file.metadata.get("queues") or file.metadata.get("queue"))
    return next((path for path in paths if any(path.match(pattern) for pattern in _PUBLISHED)), None)


_READERS: Mapping[str, Callable[[Path, bytes], _Metadata]] = {
    **dict.fromkeys(TABLES, meta_of),
    **dict.fromkeys(OBJECTS, stored_json_of),
    PREDICTIONS: lambda path, content: vars(manifest_in(stored_json_of(path, content))),
    CHECKPOINTS: lambda path, content: vars(checkpoint_manifest_in(stored_json_of(path, content))),
    SIGNATURES: _signature_metadata,
}
"""Checks the content of files of a pattern and returns their metadata, with further checksums in ``files``."""
