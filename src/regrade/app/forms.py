"""What pages send as JSON."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class StrictForm(BaseModel):
    """A form that takes the fields it names, and no others."""

    model_config = ConfigDict(extra="forbid")
