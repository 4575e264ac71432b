"""Group columns with a study of their own, which a report does not show as slices of a grade."""

CORRUPTION_COLUMNS = ("corruption", "severity")
"""The group columns of a test set with corrupted images."""

PLACE_COLUMNS = ("region", "continent", "country", "income")
"""The group columns that the study of geography has a chapter for."""
