"""Files that people bring as text, opened in one way: there, not empty, UTF-8."""

from __future__ import annotations

from pathlib import Path

from regrade.core import FormatError, InputError


def check_file(path: Path) -> None:
    """See that there is a file with something in it."""
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder, a file is wanted")
    if path.stat().st_size == 0:
        raise FormatError(f"{path} is empty")


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, with or without a byte order mark; other encodings raise."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"is not UTF-8 text (byte {error.start:,}): save it in that encoding") from None


def first_line(error: BaseException) -> str:
    """The first line of an error's message; a character that cannot be shown is a question mark."""
    line = str(error).strip().partition("\n")[0]
    return "".join(letter if letter.isprintable() else "?" for letter in line)
