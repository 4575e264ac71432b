"""Pages from templates; text written by people is escaped."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from regrade.core import amounts


def ago(moment: datetime) -> str:
    """The time since a moment, as text."""
    return amounts.ago((datetime.now(UTC) - moment).total_seconds())


def percent(share: float) -> str:
    """A share in whole percent; 0% and 100% only if exact.

    >>> percent(0.999), percent(1.0), percent(0.001)
    ('99%', '100%', '1%')
    """
    if 0 < share < 1:
        return f"{min(99, max(1, round(100 * share)))}%"
    return f"{100 * share:.0f}%"


HERE = Path(__file__).parent
_TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(amount=amounts.amount, ago=ago, duration=amounts.duration, percent=percent)


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template; it also gets ``session``, which is None if no one is signed in."""
    session = getattr(request.state, "session", None)
    site = request.app.state.site
    text = _TEMPLATES.get_template(template).render(session=session, site=site, path=request.url.path, **values)
    return HTMLResponse(text, status)
