"""Explore: every number of a grade, and the images it was computed from."""

from regrade.app.explore.explorer import Explorer

__all__ = ["Explorer"]
