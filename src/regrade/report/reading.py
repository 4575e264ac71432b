"""Imports all findings modules; each registers the findings of one kind of result."""

from regrade.report import (
    comparison_findings,
    confusion_findings,
    corruption_findings,
    generalization_findings,
    geography_findings,
    grade_findings,
    label_change_findings,
    leakage_findings,
    mistakes_findings,
    people_findings,
    similarity_findings,
)

__all__ = [
    "comparison_findings",
    "confusion_findings",
    "corruption_findings",
    "generalization_findings",
    "geography_findings",
    "grade_findings",
    "label_change_findings",
    "leakage_findings",
    "mistakes_findings",
    "people_findings",
    "similarity_findings",
]
