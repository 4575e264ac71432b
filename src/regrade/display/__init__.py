"""How results are shown: figures, findings in words, and tables as text."""

from regrade.display.figure import Figure
from regrade.display.finding import Finding, FindingKind
from regrade.display.terminal import print_table
from regrade.display.text import csv_parts, to_csv, to_latex, to_markdown

__all__ = [
    "Figure",
    "Finding",
    "FindingKind",
    "csv_parts",
    "print_table",
    "to_csv",
    "to_latex",
    "to_markdown",
]
