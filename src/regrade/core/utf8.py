"""The error message for files that are not UTF-8 text."""

from __future__ import annotations


def not_utf8(error: UnicodeDecodeError) -> str:
    r"""A message with the position of the invalid byte, worded to follow the name of the file.

    >>> try:
    ...     b"cat\nd\xffg".decode()
    ... except UnicodeDecodeError as error:
    ...     not_utf8(error)
    'is not UTF-8 text (line 2, byte 5): save it in that encoding'
    """
    line = error.object.count(b"\n", 0, error.start) + 1
    return f"is not UTF-8 text (line {line:,}, byte {error.start:,}): save it in that encoding"
