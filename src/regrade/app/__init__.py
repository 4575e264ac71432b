"""The browser app: label images, judge predictions, decide as a panel, and explore results."""

from regrade.app.application import create_app
from regrade.app.server import serve
from regrade.app.site import Site

__all__ = ["Site", "create_app", "serve"]
