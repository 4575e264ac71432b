"""Pages from templates; whatever people wrote is shown as text, never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from regrade.app.words import ago, percent
from regrade.core.amounts import amount, duration

HERE = Path(__file__).parent
_TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(amount=amount, ago=ago, duration=duration, percent=percent)


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page for whoever asks; ``session`` is none where no one is signed in."""
    session = getattr(request.state, "session", None)
    site = request.app.state.site
    text = _TEMPLATES.get_template(template).render(session=session, site=site, path=request.url.path, **values)
    return HTMLResponse(text, status)
