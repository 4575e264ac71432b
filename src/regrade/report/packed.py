"""Compressed data inside a page; a script of the page decompresses it when needed."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from typing import Any


def packed_text(text: str) -> str:
    """A text, compressed and encoded in base64."""
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


def packed(data: Any) -> str:
    """Data as JSON, compressed and encoded in base64."""
    return packed_text(json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False))


def script_hash(script: str) -> str:
    """The source expression of a script in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
