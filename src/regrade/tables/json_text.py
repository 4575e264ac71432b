"""Reading users' JSON files strictly."""

from __future__ import annotations

from pathlib import Path

from regrade.core import FormatError
from regrade.core.strict_json import parse_json
from regrade.tables.text_files import check_file, read_text


def read_json(path: Path) -> object:
    """Read a JSON file; invalid JSON and duplicate keys in an object raise."""
    check_file(path)
    try:
        content: object = parse_json(read_text(path))
    except FormatError as error:
        raise FormatError(f"{path} {error}") from None
    return content
