"""regrade.toml: the settings of a workspace, which users may edit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from regrade.core import FormatError, UnknownName, VersionError
from regrade.tables import read_toml

CONFIG = "regrade.toml"

FORMAT = 3
"""The version of the workspace's layout that this regrade reads and writes."""

TEMPLATE = f"""\
# A regrade workspace: https://toml.io for how to write this file.

# The layout of this folder. A newer regrade may raise it; do not edit.
version = {FORMAT}

# Intervals in every table: 0.95 means 95%.
confidence = 0.95

# Where people's judgments are kept: a file in this folder, or a database for teams such as
# "postgresql://user@host/name". A password is better left to PGPASSWORD or ~/.pgpass.
ledger = "ledger.sqlite"

# Metrics in every grade besides accuracies, such as ["ece", "brier"].
metrics = []
"""


class Config(BaseModel):
    """The settings of a workspace."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: int = Field(ge=1)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    ledger: str = Field(default="ledger.sqlite", min_length=1)
    metrics: list[str] = Field(default=[])


_EXPECTED = {
    "version": "a whole number from 1",
    "confidence": "a number between 0 and 1, such as 0.95",
    "ledger": 'text in quotes, such as "ledger.sqlite"',
    "metrics": 'a list of names, such as ["ece", "brier"]',
}


def read_config(path: Path) -> Config:
    """Read and check regrade.toml; a workspace of another layout raises with the command to run."""
    raw = read_toml(path)
    version = _layout_version(path, raw)
    if version > FORMAT:
        raise VersionError(
            f"{path.parent} was written by a newer regrade (layout {version}; this one reads layout {FORMAT}): "
            "upgrade with pip install -U regrade"
        )
    if version < FORMAT:
        raise VersionError(
            f"{path.parent} was written by an older regrade (layout {version}; this one reads layout {FORMAT}): "
            f"bring it up to date with regrade upgrade -w {path.parent}"
        )
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        raise _bad_setting(path, raw, str(error.errors()[0]["loc"][0])) from None


def _bad_setting(path: Path, raw: Mapping[str, Any], setting: str) -> FormatError:
    """The error for an unknown setting or an invalid value."""
    if setting not in _EXPECTED:
        return FormatError(f"{path}: {UnknownName('setting', setting, _EXPECTED)}: rename or remove it")
    return FormatError(f"{path}: {setting} must be {_EXPECTED[setting]}, and is {str(raw[setting])[:40]!r}")


def _layout_version(path: Path, raw: Mapping[str, Any]) -> int:
    if "version" not in raw:
        raise FormatError(f"{path} states no version of the layout: put back the line version = {FORMAT}")
    version = raw["version"]
    if type(version) is not int or version < 1:  # true and false are no versions
        raise _bad_setting(path, raw, "version")
    return version


def stated_version(path: Path) -> int:
    """The layout version in a regrade.toml, supported or not."""
    return _layout_version(path, read_toml(path))
