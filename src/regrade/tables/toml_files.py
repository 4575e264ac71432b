"""TOML files that users edit: settings of a workspace, and the rules of a gate."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from regrade.core import FormatError
from regrade.core.errors import not_utf8


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; a missing file, other text, and duplicate or invalid lines raise with the place."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} {not_utf8(error)}") from None
    except (ValueError, RecursionError) as error:  # also numbers with too many digits
        line = re.search(r"at line (\d+)", str(error))
        place = f"line {line[1]}" if line else "its last line" if "end of document" in str(error) else "a value"
        raise FormatError(
            f"{path} is not valid TOML at {place}: write each setting once, on its own line, as name = value, with "
            "text in quotes"
        ) from None
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}") from None
