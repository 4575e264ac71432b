"""The browser app: label images, judge predictions, decide as a panel, and explore results."""

from regrade.app.server import create_app, serve
from regrade.app.site import Site

__all__ = ["Site", "create_app", "serve"]
