"""Numbers in addresses and forms: as large as a database takes them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import Field

LARGEST = 2**31 - 1
"""The largest number of a row."""

Number = Annotated[int, Field(ge=1, le=LARGEST)]
"""A row's number in a form."""

JsonNumber = Annotated[int, Field(ge=1, le=LARGEST, strict=True)]
"""A row's number in JSON: neither text nor true."""

PathNumber = Annotated[int, Path(ge=1, le=LARGEST)]
"""A row's number in an address."""
