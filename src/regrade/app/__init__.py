"""The browser app: label, judge, decide as a panel, and look behind every number."""

from regrade.app.serving import create_app, serve
from regrade.app.site import Site

__all__ = ["Site", "create_app", "serve"]
