"""Reports: the results of a workspace as one page, with their provenance."""

from regrade.reports.drawing import Drawing
from regrade.reports.sections import (
    Gallery,
    GalleryTile,
    KeyFinding,
    Provenance,
    Report,
    Section,
    anchor_of,
    section_of,
)
from regrade.reports.write_report import check_replaceable, write_report

__all__ = [
    "Drawing",
    "Gallery",
    "GalleryTile",
    "KeyFinding",
    "Provenance",
    "Report",
    "Section",
    "anchor_of",
    "check_replaceable",
    "section_of",
    "write_report",
]
