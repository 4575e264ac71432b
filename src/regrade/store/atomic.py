"""Atomic writes of single files and folders."""

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
from typing import TYPE_CHECKING

from regrade.core import AlreadyStored, InputError, WriteError
from regrade.store.file_errors import write_errors
from regrade.store.locks import is_free, locked

if TYPE_CHECKING:
    from PIL.Image import Image

PRIVATE = 0o600
"""The mode of a file that only its owner may read, for files with personal data."""

_PUBLIC = 0o666  # before the umask
_AT_FDCWD = -100  # paths are relative to the working folder
_RENAME_EXCHANGE = 2  # flag of renameat2
_MANY = 64  # from this number of files on, one flush of the whole disk is faster


def write_image(path: Path, image: Image) -> None:
    """Write an image as PNG atomically; an existing file is replaced."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    replace_file(path, buffer.getvalue())


def write_file(path: Path, text: str) -> None:
    """Write a text file atomically; an existing file is replaced."""
    replace_file(path, text.encode())


def replace_file(path: Path, content: bytes, *, mode: int = _PUBLIC) -> None:
    """Write a file atomically and flush it to the disk; an existing file is replaced."""
    with write_errors(path), _written(path, content, mode) as staged:
        try:
            staged.link_to(path)
        except FileExistsError:
            staged.replace(path)
        sync_folder(path.parent)


def write_new_file(path: Path, content: bytes, *, mode: int = _PUBLIC) -> None:
    """Write a file atomically; raise if it exists already."""
    try:
        with write_errors(path), _written(path, content, mode) as staged:
            staged.link_to(path)
            sync_folder(path.parent)
    except WriteError as error:
        if isinstance(error.__cause__, FileExistsError):
            raise AlreadyStored(f"{path} exists already: choose another name, or remove it first") from None
        raise


@dataclass(frozen=True)
class _StagedFile:
    """An open file without a name, or with a temporary name on file systems without ``O_TMPFILE``."""

    handle: int
    name: Path | None

    def link_to(self, path: Path) -> None:
        """Give the file its name; raise if the name is taken."""
        source = self.name or f"/proc/self/fd/{self.handle}"
        os.link(source, path, src_dir_fd=self.handle)  # the handle makes Python follow the link that source is

    def replace(self, path: Path) -> None:
        """Replace an existing file, and remove temporary files that killed processes have left."""
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
        with suppress(OSError):  # any other error is raised again below
            return _StagedFile(os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, mode), None)
    name = _temporary(path)
    return _StagedFile(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), name)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.tmp")


def check_folder(final: Path, *, force: bool, holding: Sequence[str]) -> None:
    """Raise if a folder exists and ``force`` is not set, or if it lacks the files that allow replacing it."""
    if final.exists() and not force:
        raise AlreadyStored(f"{final} exists already: choose another name, or replace it with --force")
    if final.exists() and not all((final / name).is_file() for name in holding):
        raise AlreadyStored(f"{final} exists already and is not replaced: it has no {' and '.join(holding)}")


def replace_folder(final: Path, files: Mapping[str, bytes], *, force: bool, holding: Sequence[str]) -> None:
    """Write a folder of files, given by their paths within it, atomically.

    An existing folder raises; with ``force`` it is replaced if it contains the files of ``holding``, so that no other
    folder is lost. The two folders are exchanged in one step; on file systems that cannot do that, a folder that a
    killed process has left under its temporary name is put back by the next call.
    """
    staged, old = (final.with_name(f".{final.name}.{suffix}") for suffix in ("new", "old"))
    with write_errors(final), ExitStack() as cleanup:
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
    """Remove a folder that was replaced, or put it back if nothing took its place."""
    if final.exists():
        shutil.rmtree(old, ignore_errors=True)
    elif old.exists():
        old.rename(final)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step, if the system and the file system can, and say whether it was done."""
    try:
        rename = CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    rename.argtypes = (c_int, c_char_p, c_int, c_char_p, c_uint)
    return rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0


def sync_files(paths: Sequence[Path]) -> None:
    """Flush files and their folders to the disk: one by one, or the whole disk if there are many."""
    if len(paths) > _MANY and _sync_disk(paths[0]):
        return
    for path in (*paths, *{path.parent for path in paths}):
        _sync(path)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk."""
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
    """Flush the whole file system of a path, if the system can, and say whether it was done."""
    try:
        sync = CDLL(None, use_errno=True).syncfs
    except (AttributeError, OSError):
        return False
    handle = os.open(path, os.O_RDONLY)
    try:
        return sync(handle) == 0
    finally:
        os.close(handle)


def check_new_file(path: Path) -> None:
    """Raise if a file exists already, or its folder does not."""
    if path.exists():
        raise AlreadyStored(f"{path} exists already: choose another name, or remove it first")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} for {path.name}")
