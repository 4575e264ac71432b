"""Build a new test set from candidate images: grids, selection frequencies, samplers, cleaning and revisions."""

from regrade.build.registry import BUILD_STEPS, Builds

__all__ = ["BUILD_STEPS", "Builds"]
