"""Checking references between stored files: the files that others need exist and are the same as when stored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from regrade.core import ClassSpace, InputError
from regrade.store.checkpoints import CHECKPOINT_MANIFEST
from regrade.store.contents import contents_problems
from regrade.store.damage import damaged
from regrade.store.layout import original_name, place_of
from regrade.store.lost_files import filled_folders, lost
from regrade.store.predictions import MANIFEST
from regrade.store.reviews import DRAWN, FRAME, draw_file_problems, verdict_file_problems
from regrade.store.signatures import TABLE
from regrade.store.verify import CheckedFile

_Metadata = Mapping[str, Mapping[str, Any]]
_BY_TEST_SET = ("slices", "labels", "predictions", "checkpoints", "reviews", "mistakes")
_FIRST_FILES = {"predictions": MANIFEST, "checkpoints": CHECKPOINT_MANIFEST, "neighbors": TABLE}
"""The file that every folder of a kind must contain."""


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


def _broken_reviews(root: Path, metadata: _Metadata, present: set[str]) -> Iterator[CheckedFile]:
    for folder in filled_folders(root / "reviews", "*/*"):
        place = folder.relative_to(root).as_posix()
        for name in (FRAME, DRAWN):
            if f"{place}/{name}" not in present:
                yield _missing(root, folder / name, "other files of the review are there")
        labels = place_of("labels", original_name(folder.parent.name), original_name(folder.name))
        if labels not in present:
            yield _missing(root, root / labels, f"{place} is a review of it")
        yield from _broken_samples(root, folder, metadata)


def _broken_samples(root: Path, folder: Path, metadata: _Metadata) -> Iterator[CheckedFile]:
    """Files of verdicts and draws that are missing or not counted, and files that belong to another frame."""
    place = folder.relative_to(root).as_posix()
    if drawn := metadata.get(f"{place}/{DRAWN}"):
        for path, trouble in (*verdict_file_problems(folder, drawn), *draw_file_problems(folder, drawn)):
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
    files = [path for pattern in ("images/*.parquet", "maps/*.json") for path in sorted(root.glob(pattern))]
    return {original_name(folder.name): folder for folder in folders} | {original_name(f.stem): f for f in files}


def _other_test_sets(metadata: _Metadata) -> Iterator[CheckedFile]:
    for path, stated in metadata.items():
        place = place_of("testsets", stated["test_set"]) if "test_set_digest" in stated else ""
        if place in metadata and metadata[place]["digest"] != stated["test_set_digest"]:
            yield CheckedFile(path, 0, f"it was made for another version of {place}: restore the one or the other")


def _other_class_spaces(
    metadata: _Metadata, present: set[str], class_space: Callable[[str], ClassSpace]
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
