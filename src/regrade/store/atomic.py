"""Files and folders for people, written whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import glob
import io
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from ctypes import CDLL, c_char_p, c_int, c_uint
from dataclasses import dataclass
from pathlib import Path

from PIL.Image import Image

from regrade.core import AlreadyStored, WriteError
from regrade.store.locks import is_free, locked
from regrade.store.refusals import refusals_as_errors

PRIVATE = 0o600
"""The mode of a file that only its owner may read: it holds what people said, with their names."""

_PUBLIC = 0o666  # less what the umask takes away
_HERE = -100  # AT_FDCWD: paths are relative to the working folder
_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2
_MANY = 64  # files from which one flush of the whole disk takes less time


def write_image(path: Path, image: Image) -> None:
    """Write an image as PNG, whole or not at all; an older file is replaced."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    replace_file(path, buffer.getvalue())


def write_file(path: Path, text: str) -> None:
    """Write a text file, whole or not at all; an older file is replaced."""
    replace_file(path, text.encode())


def replace_file(path: Path, content: bytes, *, mode: int = _PUBLIC) -> None:
    """Write a file whole or not at all and flush it to the disk; an older file is replaced."""
    with refusals_as_errors(path), _written(path, content, mode) as staged:
        try:
            staged.link_to(path)
        except FileExistsError:
            staged.replace(path)
        sync_folder(path.parent)


def write_new_file(path: Path, content: bytes, *, mode: int = _PUBLIC) -> None:
    """Write a file that must not exist yet, whole or not at all; one that exists is left alone and raises."""
    try:
        with refusals_as_errors(path), _written(path, content, mode) as staged:
            staged.link_to(path)
            sync_folder(path.parent)
    except WriteError as error:
        if isinstance(error.__cause__, FileExistsError):
            raise AlreadyStored(f"{path} exists already: choose another name, or remove it first") from None
        raise


@dataclass(frozen=True)
class _StagedFile:
    """An open file that has no name yet, or a temporary one on disks that know no files without names."""

    handle: int
    name: Path | None

    def link_to(self, path: Path) -> None:
        """Give the file its name; one that is taken raises."""
        source = self.name or f"/proc/self/fd/{self.handle}"
        os.link(source, path, src_dir_fd=self.handle)  # the handle makes Python follow the link that source is

    def replace(self, path: Path) -> None:
        """Put the file where an older one is; what killed processes have left of such attempts is removed."""
        for abandoned in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
            if abandoned != self.name and is_free(abandoned):
                abandoned.unlink(missing_ok=True)
        fcntl.flock(self.handle, fcntl.LOCK_EX)
        name = self.name or _temporary(path)
        if self.name is None:
            self.link_to(name)
        name.replace(path)


@contextmanager
def _written(path: Path, content: bytes, mode: int) -> Iterator[_StagedFile]:
    """A staged file with this content, flushed to the disk; without a name, a killed process leaves nothing behind."""
    staged = _staged_file(path, mode)
    try:
        with open(staged.handle, "wb", closefd=False) as file:
            file.write(content)
            file.flush()
            os.fsync(staged.handle)
        yield staged
    finally:
        os.close(staged.handle)
        if staged.name is not None:
            staged.name.unlink(missing_ok=True)


def _staged_file(path: Path, mode: int) -> _StagedFile:
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").is_dir():
        with suppress(OSError):  # a disk that refuses for another reason says so below
            return _StagedFile(os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, mode), None)
    name = _temporary(path)
    return _StagedFile(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), name)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.tmp")


def check_folder(final: Path, *, force: bool, holding: Sequence[str]) -> None:
    """Raise where a folder must not be written: it exists and is not to be replaced, or is something else."""
    if final.exists() and not force:
        raise AlreadyStored(f"{final} is there already: give another name, or --force to replace it")
    if final.exists() and not all((final / name).is_file() for name in holding):
        raise AlreadyStored(f"{final} is there already and is something else (no {' and '.join(holding)}): it stays")


def replace_folder(final: Path, files: Mapping[str, bytes], *, force: bool, holding: Sequence[str]) -> None:
    """Write a folder of files, by their paths within it, whole or not at all.

    One that exists raises; with ``force`` it is replaced if it holds the files named, so that nothing else is lost.
    Old and new folder change places in one step; where the disk cannot do that, a folder that a killed process has
    left under its temporary name is put back by the next call.
    """
    staged, old = (final.with_name(f".{final.name}.{suffix}") for suffix in ("new", "old"))
    with refusals_as_errors(final), ExitStack() as cleanup:
        final.parent.mkdir(parents=True, exist_ok=True)
        cleanup.enter_context(locked(final.parent))
        _settle(old, final)
        check_folder(final, force=force, holding=holding)
        shutil.rmtree(staged, ignore_errors=True)
        cleanup.callback(shutil.rmtree, staged, ignore_errors=True)
        for name, content in files.items():
            (staged / name).parent.mkdir(parents=True, exist_ok=True)
            (staged / name).write_bytes(content)
        if not final.exists():
            staged.rename(final)
        elif not _exchange(staged, final):
            cleanup.callback(_settle, old, final)
            final.rename(old)
            staged.rename(final)
        sync_folder(final.parent)


def _settle(old: Path, final: Path) -> None:
    """Remove a folder that was replaced; where nothing took its place it comes back."""
    if final.exists():
        shutil.rmtree(old, ignore_errors=True)
    elif old.exists():
        old.rename(final)


def _exchange(first: Path, second: Path) -> bool:
    """Let two folders change places in one step, if this system and disk can."""
    try:
        rename = CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    rename.argtypes = (c_int, c_char_p, c_int, c_char_p, c_uint)
    return rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0


def sync_files(paths: Sequence[Path]) -> None:
    """Flush files and their names to the disk: each by itself, or the whole disk where there are many."""
    if len(paths) > _MANY and _sync_disk(paths[0]):
        return
    for path in (*paths, *{path.parent for path in paths}):
        _sync(path)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network disks cannot flush a folder
            raise
    finally:
        os.close(handle)


def _sync_disk(path: Path) -> bool:
    """Flush everything on the disk that holds a path, if this system can."""
    try:
        sync = CDLL(None, use_errno=True).syncfs
    except (AttributeError, OSError):
        return False
    handle = os.open(path, os.O_RDONLY)
    try:
        return sync(handle) == 0
    finally:
        os.close(handle)
