"""Reports: how results are shown, as tables and as figures."""

from regrade.report.figure import Figure, figure
from regrade.report.terminal import print_table
from regrade.report.text import to_csv, to_latex, to_markdown

__all__ = ["Figure", "figure", "print_table", "to_csv", "to_latex", "to_markdown"]
