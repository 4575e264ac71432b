"""Row ids in URLs, forms and JSON, limited to what the database stores."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import Field

MAX_ROW_ID = 2**31 - 1
"""Largest row id."""

FormId = Annotated[int, Field(ge=1, le=MAX_ROW_ID)]
"""A row id in a form."""

JsonId = Annotated[int, Field(ge=1, le=MAX_ROW_ID, strict=True)]
"""A row id in JSON: an integer, neither a string nor a boolean."""

PathId = Annotated[int, Path(ge=1, le=MAX_ROW_ID)]
"""A row id in a URL path."""
