"""Data inside a page, packed: a script of the page unpacks it when it is needed."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from typing import Any


def packed_text(text: str) -> str:
    """A text, compressed, in letters that mean nothing to a page."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


def packed(data: Any) -> str:
    """Data as JSON, compressed."""
    return packed_text(json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False))


def script_hash(script: str) -> str:
    """What a page's policy calls a script that may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
