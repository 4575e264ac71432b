"""All figures there are: each module registers how one kind of result is drawn."""

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
