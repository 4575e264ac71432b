"""regrade.toml: the settings of a workspace, written for people to edit."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from regrade.core import FormatError, VersionError
from regrade.core.utf8 import not_utf8

CONFIG = "regrade.toml"

FORMAT = 2
"""The version of the workspace's layout that this regrade writes, and the newest it reads."""

TEMPLATE = f"""\
# A regrade workspace: https://toml.io for how to write this file.

# The layout of this folder. A newer regrade may raise it; do not edit.
version = {FORMAT}

# Intervals in every table: 0.95 means 95%.
confidence = 0.95

# Where people's judgements are kept: a file in this folder, or a database for teams such as
# "postgresql://user@host/name". A password is better left to PGPASSWORD or ~/.pgpass.
ledger = "ledger.sqlite"
"""


class Config(BaseModel):
    """The settings of a workspace."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = Field(ge=1)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    ledger: str = Field(default="ledger.sqlite", min_length=1)


def read_config(path: Path) -> Config:
    """Read and check regrade.toml; another layout than this regrade's raises and says what to do."""
    raw = _read_toml(path)
    version = raw.get("version")
    if isinstance(version, int) and version > FORMAT:
        raise VersionError(
            f"{path.parent} was written by a newer regrade (layout {version}; this one reads up to {FORMAT}): "
            "upgrade with pip install -U regrade"
        )
    if isinstance(version, int) and version < FORMAT:
        raise VersionError(
            f"{path.parent} was written by an older regrade (layout {version}, without checksums): bring it "
            f"up to date with regrade upgrade -w {path.parent}"
        )
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise FormatError(f"{path}: {field}: {first['msg']}") from None


def stated_version(path: Path) -> int:
    """The layout that a regrade.toml states, whether this regrade reads it or not."""
    version = _read_toml(path).get("version")
    if not isinstance(version, int):
        raise FormatError(f"{path} states no version")
    return version


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} {not_utf8(error)}") from None
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path} is not valid TOML: {error}") from None
