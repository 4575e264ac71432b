"""Study of a label change: two versions of a label set, and their effect on every model."""
