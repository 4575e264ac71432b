"""Explore: every number of a grade, and the images behind it."""

from regrade.app.explore.choice import Choice
from regrade.app.explore.explorer import Explorer

__all__ = ["Choice", "Explorer"]
