"""The browser app: label, judge, decide as a panel, and look behind every number."""

from regrade.app.server import serve
from regrade.app.serving import create_app
from regrade.app.site import Site

__all__ = ["Site", "create_app", "serve"]
