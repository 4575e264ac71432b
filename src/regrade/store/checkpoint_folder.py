"""The folder of an ensemble's checkpoints on a test set: a manifest, and one array per member and epoch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from regrade.core import Checkpoints, FormatError, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.core.cores import on_all_cores
from regrade.store.array_file import StoredArray
from regrade.store.checked_json import read_stored_json, stored_json
from regrade.store.checksums import Checksums
from regrade.store.layout import folder_of_checkpoints
from regrade.store.names import file_name

CHECKPOINT_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class CheckpointManifest:
    """The provenance of stored checkpoints and the checksums of their files; scores are in half precision."""

    ensemble: str
    test_set: str
    test_set_digest: str
    class_space: str
    class_space_digest: str
    kind: str
    members: list[str]
    epochs: list[int]
    examples: int
    classes: int
    digest: str
    regrade: str
    dtype: str = "float16"
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    files: Mapping[str, Checksums] = field(default_factory=dict)
    format: int = 2


def array_name(member: str, epoch: int) -> str:
    """The path of the scores of a member after an epoch, relative to the folder of the ensemble."""
    return f"seed-{file_name(member)}/epoch-{epoch:03}.npy"


def checkpoint_digest(folder: Path, kind: ScoreKind, members: Sequence[str], epochs: Sequence[int]) -> str:
    """A hash of the kind of scores, the members, the epochs and the content of all arrays."""
    state = hashlib.sha256(json.dumps([kind.value, list(members), list(epochs)]).encode())
    paths = [folder / array_name(member, epoch) for member in members for epoch in epochs]
    for file in on_all_cores(_file_hash, paths):
        state.update(file)
    return state.hexdigest()


def manifest_text(manifest: CheckpointManifest) -> bytes:
    """The content of manifest.json."""
    files = {name: stated.as_json() for name, stated in manifest.files.items()}
    place = f"{folder_of_checkpoints(manifest.test_set, manifest.ensemble)}/{CHECKPOINT_MANIFEST}"
    return stored_json({**asdict(manifest), "files": files}, place=place)


def read_checkpoint_manifest(folder: Path) -> CheckpointManifest:
    """Read and check manifest.json."""
    path = folder / CHECKPOINT_MANIFEST
    raw = read_stored_json(path)
    try:
        files = {name: Checksums.from_json(stated) for name, stated in raw["files"].items()}
        return CheckpointManifest(**{**raw, "files": files})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{path} cannot be read: {error}") from None


def read_checkpoints(folder: Path) -> Checkpoints:
    """Checkpoints whose arrays are opened lazily as memory maps, and checked as they are used."""
    manifest = read_checkpoint_manifest(folder)
    members, epochs = tuple(manifest.members), tuple(manifest.epochs)

    def read(member: int, epoch: int) -> FloatArray:
        name = array_name(members[member], epochs[epoch])
        return cast(FloatArray, StoredArray(folder / name, manifest.files[name]))

    return Checkpoints(
        manifest.ensemble,
        manifest.test_set,
        manifest.class_space,
        ScoreKind(manifest.kind),
        members,
        epochs,
        manifest.examples,
        manifest.classes,
        read,
    )


def _file_hash(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
