"""JSON files with a checksum of their content, which is checked on reading."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regrade.core import FormatError
from regrade.store.file_errors import damaged
from regrade.store.metadata import PLACE, Metadata, metadata_in_place

_CHECKSUM = "sha256"


def checked_json(content: Mapping[str, Any]) -> bytes:
    """A JSON object as bytes, one key per line, with a checksum of its content."""
    return (json.dumps({**content, _CHECKSUM: _checksum(content)}, indent=1, ensure_ascii=False) + "\n").encode()


def read_checked_json(path: Path) -> Metadata:
    """Read a file that `checked_json` wrote; raise if it is damaged or anything else."""
    try:
        content = json.loads(path.read_bytes())
        stored = content.pop(_CHECKSUM)
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError, KeyError, AttributeError, TypeError):
        raise damaged(path) from None
    if stored != _checksum(content):
        raise damaged(path)
    return Metadata(path, content)


def stored_json(content: Mapping[str, Any], *, place: str) -> bytes:
    """A JSON object as bytes, with its place in the workspace and a checksum."""
    return checked_json({**content, PLACE: place})


def read_stored_json(path: Path) -> Metadata:
    """Read a file that `stored_json` wrote for this place; raise if it is damaged, misplaced or anything else."""
    metadata = metadata_in_place(path, read_checked_json(path))
    del metadata[PLACE]
    return metadata


def _checksum(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
