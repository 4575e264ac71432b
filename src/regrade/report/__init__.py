"""Reports: showing results as tables, figures and findings.

Each figure module registers its figure; figures.py imports these modules when a figure is first drawn, so that a
command that only prints a table does not import altair.
"""

from regrade.report.drawing import Drawing
from regrade.report.figure import Figure, figure
from regrade.report.finding import Finding, FindingKind, finding_kinds, findings, verdict_kinds, verdicts
from regrade.report.maps import map_figure
from regrade.report.pairs_page import MOST_PAIRS, VERDICTS, ThumbnailLoader, pairs_page
from regrade.report.sections import Gallery, GalleryTile, KeyFinding, Provenance, Report, Section, anchor_of, section_of
from regrade.report.terminal import print_table
from regrade.report.text import csv_parts, to_csv, to_latex, to_markdown
from regrade.report.write_report import check_replaceable, write_report

__all__ = [
    "MOST_PAIRS",
    "VERDICTS",
    "Drawing",
    "Figure",
    "Finding",
    "FindingKind",
    "Gallery",
    "GalleryTile",
    "KeyFinding",
    "Provenance",
    "Report",
    "Section",
    "ThumbnailLoader",
    "anchor_of",
    "check_replaceable",
    "csv_parts",
    "figure",
    "finding_kinds",
    "findings",
    "map_figure",
    "pairs_page",
    "print_table",
    "section_of",
    "to_csv",
    "to_latex",
    "to_markdown",
    "verdict_kinds",
    "verdicts",
    "write_report",
]
