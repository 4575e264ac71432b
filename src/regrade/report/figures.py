"""Imports all figure modules; each registers the figure of one kind of result."""

from regrade.report import (
    comparison_figure,
    confusion_figure,
    generalization_figure,
    geography_figure,
    grade_figure,
    label_change_figure,
    leakage_figure,
    mistakes_figure,
    people_figure,
    similarity_figure,
)

__all__ = [
    "comparison_figure",
    "confusion_figure",
    "generalization_figure",
    "geography_figure",
    "grade_figure",
    "label_change_figure",
    "leakage_figure",
    "mistakes_figure",
    "people_figure",
    "similarity_figure",
]
