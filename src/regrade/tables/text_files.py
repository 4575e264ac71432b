"""Checking and reading users' text and JSON files."""

from __future__ import annotations

import errno
from pathlib import Path

from regrade.core import FormatError, InputError
from regrade.core.errors import not_utf8
from regrade.core.strict_json import parse_json


def check_file(path: Path) -> None:
    """Raise if there is no file, or if it is empty."""
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder: expected a file")
    if path.stat().st_size == 0:
        raise FormatError(f"{path} is empty")


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with or without a byte order mark; other encodings raise."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(not_utf8(error)) from None


def read_json(path: Path) -> object:
    """Read a JSON file; invalid JSON and duplicate keys in an object raise."""
    check_file(path)
    try:
        content: object = parse_json(read_text(path))
    except FormatError as error:
        raise FormatError(f"{path} {error}") from None
    return content


def why_unreadable(error: Exception, form: str) -> str:
    """Why a file of a format, such as Parquet, cannot be read."""
    if isinstance(error, OSError) and error.strerror and error.errno != errno.EINVAL:  # of an offset in the file
        return error.strerror
    if isinstance(error, MemoryError):
        return "it does not fit in memory"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, NotImplementedError):
        return f"it uses a part of {form} that is not supported: write it with plain columns and the usual compression"
    return f"it is truncated or damaged, or is not {form}: write it again"


def first_line(error: BaseException) -> str:
    """The first line of an error's message; characters that cannot be printed are replaced by question marks."""
    line = str(error).strip().partition("\n")[0]
    return "".join(letter if letter.isprintable() else "?" for letter in line)
