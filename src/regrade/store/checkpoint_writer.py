"""Writing checkpoints epoch by epoch; they become visible once they are complete."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from regrade.core import AlreadyStored, ClassSpace, InputError, ScoreKind, TestSet
from regrade.core.arrays import FloatArray
from regrade.core.checkpoints import check_same_epochs
from regrade.core.cores import on_all_cores
from regrade.metrics.mean_softmax import blocks
from regrade.store.atomic import replace_file
from regrade.store.checked_json import checked_json, read_checked_json
from regrade.store.checkpoint_folder import (
    CHECKPOINT_MANIFEST,
    CheckpointManifest,
    array_name,
    checkpoint_digest,
    manifest_text,
)
from regrade.store.checksums import Checksums
from regrade.store.damage import damaged
from regrade.store.error_contexts import write_errors
from regrade.store.names import original_name

_LAST_EPOCH = 10**12  # training steps count as epochs; larger numbers are times or hashes


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
            digest=checkpoint_digest(self.folder, self.kind, members, epochs),
            regrade=version("regrade"),
            files=dict(zip(names, on_all_cores(self._kept, names), strict=True)),
        )
        replace_file(self.folder / CHECKPOINT_MANIFEST, manifest_text(manifest))
        new = self.place(self.folder, manifest)
        self.discard()
        return new

    def discard(self) -> None:
        """Remove all scores that were added and not finished."""
        shutil.rmtree(self.base, ignore_errors=True)
        with suppress(OSError):  # the first folder that is not empty stays
            for parent in self.base.parents:
                parent.rmdir()

    def _checksum_path(self, name: str) -> Path:
        return (self.folder.with_suffix(".checksums") / name).with_suffix(".json")

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
