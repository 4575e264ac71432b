"""Writes that happen whole or not at all, and only once."""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from PIL.Image import Image

from regrade.core import AlreadyStored, WriteError, refusal


@contextmanager
def telling_refusals(where: Path) -> Iterator[None]:
    """Turn a refusal of the disk into one clear line."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"cannot write to {where}: {refusal(error)}; nothing was left half-written") from error


class Staging:
    """A folder beside the final places, where things are written before they are moved there whole.

    Use it as a context, one at a time: others who write to the same workspace wait. On leaving, whatever was not
    placed is removed; after an error, so is whatever was.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._base = root / ".staging"
        self._folder = self._base / f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._count = 0
        self._placed: list[Path] = []
        self._turn = ExitStack()

    def __enter__(self) -> Staging:
        with telling_refusals(self.root), ExitStack() as turn:
            turn.enter_context(_alone_in(self.root))
            self._remove_abandoned()
            turn.callback(self._clear)
            self._folder.mkdir(parents=True)
            self._turn = turn.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._turn:
            if kind is not None:
                for final in reversed(self._placed):
                    _take_back(final, self.root)

    def new_folder(self) -> Path:
        """An empty folder to fill."""
        self._count += 1
        folder = self._folder / str(self._count)
        with telling_refusals(self.root):
            folder.mkdir()
        return folder

    def write(self, path: Path, content: Callable[[BinaryIO], object]) -> Path:
        """Write one file below the staging folder and see it onto the disk."""
        with telling_refusals(self.root), path.open("wb") as file:
            content(file)
            file.flush()
            os.fsync(file.fileno())
        return path

    def place(self, staged: Path, final: Path) -> None:
        """Move a staged file or folder to its final place, in one step; what is there already is never replaced."""
        if final.exists():
            raise AlreadyStored(f"{final} was stored by someone else in this moment: run the command again")
        with telling_refusals(self.root):
            final.parent.mkdir(parents=True, exist_ok=True)
            self._placed.append(final)
            os.rename(staged, final)  # noqa: PTH104 - the atomic call, by its name
            _sync_folder(final.parent)

    def replace(self, staged: Path, final: Path) -> None:
        """Put a staged file or folder where an older one is; if that fails, the older one comes back."""
        with telling_refusals(self.root):
            if final.is_file():
                os.replace(staged, final)  # noqa: PTH105 - the atomic call, by its name
            else:
                old = self.new_folder() / final.name
                os.rename(final, old)  # noqa: PTH104
                try:
                    os.rename(staged, final)  # noqa: PTH104
                except OSError:
                    os.rename(old, final)  # noqa: PTH104
                    raise
            _sync_folder(final.parent)

    def remove(self, final: Path) -> None:
        """Take a file or folder away, in one step."""
        with telling_refusals(self.root):
            os.rename(final, self.new_folder() / final.name)  # noqa: PTH104
            _sync_folder(final.parent)

    def _clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._base.is_dir() and not any(self._base.iterdir()):
            shutil.rmtree(self._base, ignore_errors=True)

    def _remove_abandoned(self) -> None:
        """Clear what processes that were killed have left."""
        for folder in self._base.glob("*-*"):
            if not _alive(folder.name.split("-")[0]):
                shutil.rmtree(folder, ignore_errors=True)


def write_once(root: Path, final: Path, content: Callable[[BinaryIO], object]) -> None:
    """Write one file atomically."""
    with Staging(root) as staging:
        staging.place(staging.write(staging.new_folder() / final.name, content), final)


def replace_once(root: Path, final: Path, content: Callable[[BinaryIO], object]) -> None:
    """Write one file atomically in the place of an older one."""
    with Staging(root) as staging:
        staging.replace(staging.write(staging.new_folder() / final.name, content), final)


def write_picture(path: Path, picture: Image) -> None:
    """Write a picture for people as PNG, whole or not at all; an older one is replaced."""
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    replace_file(path, buffer.getvalue())


def write_file(path: Path, text: str) -> None:
    """Write a text file for people, whole or not at all; an older one is replaced."""
    replace_file(path, text.encode())


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all and see it onto the disk; an older one is replaced."""
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    with telling_refusals(path):
        try:
            with staged.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            staged.replace(path)
        finally:
            staged.unlink(missing_ok=True)


def check_folder(final: Path, *, force: bool, holding: Sequence[str]) -> None:
    """Raise where a folder must not be written: it is there and not to be replaced, or is something else."""
    if final.exists() and not force:
        raise AlreadyStored(f"{final} is there already: give another name, or --force to replace it")
    if final.exists() and not all((final / name).is_file() for name in holding):
        raise AlreadyStored(f"{final} is there already and is something else (no {' and '.join(holding)}): it stays")


def replace_folder(final: Path, files: Mapping[str, bytes], *, force: bool, holding: Sequence[str]) -> None:
    """Write a folder of files, by their paths within it, whole or not at all.

    One that is there raises; with ``force`` it is replaced if it holds the files named, so that nothing else is lost.
    """
    check_folder(final, force=force, holding=holding)
    staged, old = (final.with_name(f".{final.name}.{os.getpid()}.{what}") for what in ("new", "old"))
    with telling_refusals(final), ExitStack() as cleaning:
        cleaning.callback(shutil.rmtree, staged, ignore_errors=True)
        for name, content in files.items():
            (staged / name).parent.mkdir(parents=True, exist_ok=True)
            (staged / name).write_bytes(content)
        if final.exists():
            final.rename(old)
            cleaning.callback(_settle, old, final)
        staged.rename(final)
        _sync_folder(final.parent)


def _settle(old: Path, final: Path) -> None:
    """Remove what was replaced; where nothing took its place it comes back."""
    if final.exists():
        shutil.rmtree(old, ignore_errors=True)
    else:
        old.rename(final)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process writes to a folder, and keep the others waiting; a killed process lets go."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network disks know no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _take_back(final: Path, root: Path) -> None:
    """Remove what was placed, and the folders that were made for it."""
    if final.is_dir():
        shutil.rmtree(final, ignore_errors=True)
    else:
        final.unlink(missing_ok=True)
    for parent in final.parents:
        if parent == root or any(parent.iterdir()):
            break
        parent.rmdir()


def _alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        return True
    return True


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
