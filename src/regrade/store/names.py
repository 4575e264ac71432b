"""Converting names of models and sets to file names and back."""

from __future__ import annotations

import unicodedata
from urllib.parse import quote, unquote

from regrade.core import InputError

_KEPT = " :+=@,()[]~"
_LONGEST = 200


def file_name(name: str) -> str:
    """A file name for any name that is valid on every file system; `original_name` reverses it.

    >>> file_name("open_clip:ViT-B-32/laion2b")
    'open_clip:ViT-B-32%2Flaion2b'
    """
    if not name.strip():
        raise InputError("a name must not be empty")
    if any(unicodedata.category(letter) == "Cc" for letter in name):
        raise InputError(f"the name {name!r} contains a control character")
    try:
        quoted = quote(name, safe=_KEPT)
    except UnicodeEncodeError:
        raise InputError(f"the name {name!r} is not valid text: give it in UTF-8") from None
    if quoted.startswith("."):
        quoted = "%2E" + quoted[1:]
    if len(quoted) > _LONGEST:
        raise InputError(f"the name {name[:40]!r}... is too long: {len(quoted)} characters, at most {_LONGEST}")
    return quoted


def original_name(file: str) -> str:
    """The name from which `file_name` made a file name."""
    return unquote(file)
