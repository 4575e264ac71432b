"""Results as people see them: tables on the terminal and in files."""

from regrade.report.terminal import print_table
from regrade.report.text import to_csv, to_latex, to_markdown

__all__ = ["print_table", "to_csv", "to_latex", "to_markdown"]
