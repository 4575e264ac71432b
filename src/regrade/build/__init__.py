"""Build a new test set from candidate images: grids, selection frequencies, samplers, cleaning and revisions."""
