"""Reports: how results are shown, as tables, as figures and in words.

A figure is registered by its module, and the modules are named in figures.py, which is read when one is first drawn: a
command that prints a table does not wait for altair.
"""

from regrade.report.figure import Figure, figure
from regrade.report.finding import Finding, findings
from regrade.report.terminal import print_table
from regrade.report.text import to_csv, to_latex, to_markdown

__all__ = ["Figure", "Finding", "figure", "findings", "print_table", "to_csv", "to_latex", "to_markdown"]
