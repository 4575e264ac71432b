"""The checkpoints of ensembles as folders: a manifest, and one array per member and epoch, written epoch by epoch."""

from __future__ import annotations

import hashlib
import io
import json
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from regrade.core import (
    AlreadyStored,
    Checkpoints,
    ClassSpace,
    FormatError,
    InputError,
    MismatchError,
    ScoreKind,
    TestSet,
    UnknownName,
)
from regrade.core.arrays import FloatArray
from regrade.core.checkpoints import check_same_epochs
from regrade.core.cores import on_all_cores
from regrade.metrics.mean_softmax import blocks
from regrade.store.array_file import StoredArray
from regrade.store.atomic import replace_file
from regrade.store.checked_files import (
    Checksums,
    Metadata,
    checked_json,
    read_checked_json,
    read_stored_json,
    stored_json,
)
from regrade.store.class_spaces import ClassSpaceCollection
from regrade.store.collection import Collection, check_test_set
from regrade.store.file_errors import damaged, is_filled, lost, write_errors
from regrade.store.layout import file_name, original_name, place_of
from regrade.store.locks import work_folder
from regrade.store.transaction import Transaction

CHECKPOINT_MANIFEST = "manifest.json"
_CHECKSUMS = ".checksums"
_LAST_EPOCH = 10**12  # training steps count as epochs; larger numbers are times or hashes


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


class EnsembleCollection(Collection[tuple[Path, CheckpointManifest], ClassSpace]):
    """The checkpoints of ensembles on test sets: a complete folder with its manifest, in a class space."""

    kind = "checkpoints"
    main_file = CHECKPOINT_MANIFEST

    def __init__(self, root: Path, class_spaces: ClassSpaceCollection) -> None:
        super().__init__(root)
        self._class_spaces = class_spaces

    def names_of(self, entry: tuple[Path, CheckpointManifest], _space: ClassSpace) -> tuple[str, ...]:
        """The names of the test set and of the ensemble."""
        return entry[1].test_set, entry[1].ensemble

    def refusal(self, entry: tuple[Path, CheckpointManifest], space: ClassSpace) -> str:
        """The error for other checkpoints of the same ensemble."""
        test_set, ensemble = self.names_of(entry, space)
        return (
            f"other checkpoints of {ensemble!r} on {test_set} are stored: choose another name, or first "
            f"{self.removal_command(test_set, ensemble)}"
        )

    def removal_command(self, test_set: str, ensemble: str) -> str:
        """The command that removes checkpoints."""
        return shlex.join(("regrade", "models", "remove", "--ensemble", ensemble, "-t", test_set))

    def put(self, change: Transaction, entry: tuple[Path, CheckpointManifest], space: ClassSpace) -> None:
        """Stage a folder, and the class space of its scores."""
        self._class_spaces.place(change, space, None)
        change.place(entry[0], self.path(*self.names_of(entry, space)))

    def is_same(self, entry: tuple[Path, CheckpointManifest], space: ClassSpace) -> bool:
        """Whether the stored checkpoints have the same digest."""
        return self.manifest(*self.names_of(entry, space)).digest == entry[1].digest

    def manifest(self, test_set: str, ensemble: str) -> CheckpointManifest:
        """The manifest of an ensemble's checkpoints."""
        return read_checkpoint_manifest(self.path(test_set, ensemble))

    def read(self, test_set: TestSet, ensemble: str) -> Checkpoints:
        """The checkpoints of an ensemble; raise if they were made for another version of the test set."""
        folder = self.path(test_set.name, ensemble)
        if not (folder / CHECKPOINT_MANIFEST).is_file():
            if is_filled(folder):
                raise lost(folder / CHECKPOINT_MANIFEST)
            self.refuse_lost(test_set.name, ensemble)
            names = self.names(test_set.name)
            raise UnknownName(f"ensemble on {test_set.name}", ensemble, names, first="regrade import checkpoints")
        manifest = read_checkpoint_manifest(folder)
        check_test_set(folder, manifest.test_set_digest, test_set)
        return _decoded(folder, manifest)

    def writer(
        self, test_set: TestSet, ensemble: str, kind: ScoreKind, space: ClassSpace | None = None
    ) -> CheckpointWriter:
        """A writer that collects an ensemble's scores epoch by epoch and stores them once they are complete."""
        base = self._unfinished / file_name(test_set.name) / file_name(ensemble)
        own_space = space or test_set.class_space
        return CheckpointWriter(ensemble, test_set, own_space, kind, base, partial(self._add, space=own_space))

    def unfinished(self, ensemble: str) -> tuple[str, ...]:
        """The test sets on which an ensemble has scores that are not stored yet."""
        return tuple(
            sorted(original_name(path.parent.name) for path in self._unfinished.glob(f"*/{file_name(ensemble)}"))
        )

    @property
    def _unfinished(self) -> Path:
        return self.root / ".partial" / ".checkpoints"

    @contextmanager
    def temporary_writer(
        self, test_set: TestSet, ensemble: str, kind: ScoreKind, space: ClassSpace | None = None
    ) -> Iterator[CheckpointWriter]:
        """A writer with an empty folder of its own: it does not resume a stopped run, and leaves nothing behind."""
        with work_folder(self.root) as folder:
            yield replace(self.writer(test_set, ensemble, kind, space), base=folder / "checkpoints")

    def _add(self, folder: Path, manifest: CheckpointManifest, *, space: ClassSpace) -> bool:
        return bool(self.add((folder, manifest), space).new)


@dataclass(frozen=True)
class CheckpointWriter:
    """Collects the scores of one ensemble on one test set: get it from a workspace, `add` scores, then `finish`.

    A run that was stopped can be resumed: `has` says whether scores were added already. Scores of another kind, for
    another version of the test set or for other classes are kept apart. Several processes may add at the same time.
    """

    ensemble: str
    test_set: TestSet
    space: ClassSpace
    kind: ScoreKind
    base: Path
    place: Callable[[Path, CheckpointManifest], bool]

    @property
    def folder(self) -> Path:
        """The folder of the scores added so far; their checksums are in a folder next to it."""
        plan = json.dumps([self.kind.value, self.test_set.digest, self.space.digest])
        return self.base / hashlib.sha256(plan.encode()).hexdigest()[:12]

    def has(self, *, seed: int | str, epoch: int) -> bool:
        """Whether the scores of a seed after an epoch were added already."""
        name = array_name(str(seed), epoch)  # a process that is killed after finishing may leave the checksum alone
        return self._checksum_path(name).is_file() and (self.folder / name).is_file()

    def add(self, scores: ArrayLike, *, seed: int | str, epoch: int) -> None:
        """Add the scores (n, c) of one seed after one epoch, rows in the order of the test set.

        They are stored in half precision. Raises if rows do not match the kind of scores, or if other scores were
        added for this seed and epoch.
        """
        title = f"{self.ensemble}, seed {seed}, epoch {epoch}"
        content = _packed(self._checked(np.asarray(scores), title))
        checksums = Checksums.of(content)
        name = array_name(str(seed), _whole(epoch))
        if self.has(seed=seed, epoch=epoch):
            if self._kept(name) != checksums:
                raise AlreadyStored(f"other scores of {title} were added already: remove {self.folder} to start over")
            return
        for path, data in (
            (self.folder / name, content),
            (self._checksum_path(name), checked_json(checksums.as_json())),  # last: it marks the array as complete
        ):
            with write_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data)

    def finish(self) -> bool:
        """Store all scores atomically and return whether they are new; other content under the same name raises.

        Every seed must have the same epochs.
        """
        members, epochs = self._complete()
        names = [array_name(member, epoch) for member in members for epoch in epochs]
        manifest = CheckpointManifest(
            ensemble=self.ensemble,
            test_set=self.test_set.name,
            test_set_digest=self.test_set.digest,
            class_space=self.space.name,
            class_space_digest=self.space.digest,
            kind=self.kind.value,
            members=members,
            epochs=epochs,
            examples=len(self.test_set),
            classes=len(self.space),
            digest=_digest(self.folder, self.kind, members, epochs),
            regrade=version("regrade"),
            files=dict(zip(names, on_all_cores(self._kept, names), strict=True)),
        )
        replace_file(self.folder / CHECKPOINT_MANIFEST, _manifest_text(manifest))
        new = self.place(self.folder, manifest)
        self.discard()
        return new

    def refuse_mixed(self) -> None:
        """Raise if scores were added that this writer keeps apart: `finish` would store only its own."""
        own = self.folder.with_suffix(_CHECKSUMS)
        if apart := [folder for folder in sorted(self.base.glob(f"*{_CHECKSUMS}")) if folder != own]:
            raise MismatchError(
                f"ensemble {self.ensemble!r} on {self.test_set.name} has unfinished scores of another kind, in another "
                f"class order or for another version of the test set: choose another name, or remove {apart[0]}"
            )

    def discard(self) -> None:
        """Remove all scores that were added and not finished."""
        shutil.rmtree(self.base, ignore_errors=True)
        with suppress(OSError):  # the first folder that is not empty stays
            for parent in self.base.parents:
                parent.rmdir()

    def _checksum_path(self, name: str) -> Path:
        return (self.folder.with_suffix(_CHECKSUMS) / name).with_suffix(".json")

    def _kept(self, name: str) -> Checksums:
        """The checksums of an added file; raise if it was damaged since."""
        stated = Checksums.from_json(read_checked_json(self._checksum_path(name)))
        path = self.folder / name
        if not path.is_file() or Checksums.of_file(path) != stated:
            raise damaged(path)
        return stated

    def _checked(self, scores: FloatArray, name: str) -> FloatArray:
        shape = len(self.test_set), len(self.space)
        if scores.shape != shape:
            raise InputError(
                f"scores of {name} have shape {scores.shape}: expected {shape} for {self.test_set.name} in "
                f"{self.space.name}"
            )
        if not np.issubdtype(scores.dtype, np.floating):
            raise InputError(f"scores of {name} are {scores.dtype}: expected floating-point numbers")
        with np.errstate(over="ignore"):
            halves = scores.astype(np.float16, copy=False)
        if np.isinf(halves).any() and not np.isinf(scores).any():
            raise InputError(f"scores of {name} are larger than half precision can hold: scale them down")
        for _ in blocks([halves], self.kind, [name]):  # iterating checks each block
            pass
        return halves

    def _complete(self) -> tuple[list[str], list[int]]:
        epochs_by_seed: dict[str, list[int]] = {}
        for folder in sorted(self._checksum_path("seed-").parent.glob("seed-*"), key=_in_order):
            epochs = sorted(int(path.stem.removeprefix("epoch-")) for path in folder.glob("epoch-*.json"))
            epochs_by_seed[original_name(folder.name.removeprefix("seed-"))] = epochs
        if not any(epochs_by_seed.values()):
            raise InputError(f"ensemble {self.ensemble!r} has no scores yet: add some first")
        check_same_epochs(epochs_by_seed)
        return list(epochs_by_seed), next(iter(epochs_by_seed.values()))


def array_name(member: str, epoch: int) -> str:
    """The path of the scores of a member after an epoch, relative to the folder of the ensemble."""
    return f"seed-{file_name(member)}/epoch-{epoch:03}.npy"


def _digest(folder: Path, kind: ScoreKind, members: Sequence[str], epochs: Sequence[int]) -> str:
    """A hash of the kind of scores, the members, the epochs and the content of all arrays."""
    state = hashlib.sha256(json.dumps([kind.value, list(members), list(epochs)]).encode())
    paths = [folder / array_name(member, epoch) for member in members for epoch in epochs]
    for file in on_all_cores(_file_hash, paths):
        state.update(file)
    return state.hexdigest()


def _manifest_text(manifest: CheckpointManifest) -> bytes:
    """The content of manifest.json."""
    files = {name: stated.as_json() for name, stated in manifest.files.items()}
    place = f"{place_of('checkpoints', manifest.test_set, manifest.ensemble)}/{CHECKPOINT_MANIFEST}"
    return stored_json({**asdict(manifest), "files": files}, place=place)


def read_checkpoint_manifest(folder: Path) -> CheckpointManifest:
    """Read and check manifest.json."""
    return checkpoint_manifest_in(read_stored_json(folder / CHECKPOINT_MANIFEST))


def checkpoint_manifest_in(raw: Metadata) -> CheckpointManifest:
    """The manifest in the JSON object of its file."""
    try:
        files = {name: Checksums.from_json(stated) for name, stated in raw["files"].items()}
        return CheckpointManifest(**{**raw, "files": files})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{raw.path} cannot be read: {error}") from None


def _file_hash(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _decoded(folder: Path, manifest: CheckpointManifest) -> Checkpoints:
    """Checkpoints whose arrays are opened lazily as memory maps, and checked as they are used."""
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


def _in_order(path: Path) -> tuple[int, str]:
    """Sort key: numeric seeds by number, then other seeds by name."""
    name = path.name.removeprefix("seed-")
    return (int(name) if name.isdecimal() else 10**12, name)


def _whole(epoch: int) -> int:
    if isinstance(epoch, bool) or int(epoch) != epoch or not 0 <= epoch <= _LAST_EPOCH:
        raise InputError(f"an epoch is a whole number from 0 to {_LAST_EPOCH:,}, got {epoch!r}")
    return int(epoch)


def _packed(halves: FloatArray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(halves.astype(halves.dtype.newbyteorder("<"), copy=False)))
    return buffer.getvalue()
