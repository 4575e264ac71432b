"""Replication of papers: each printed figure compared with the value that regrade computes."""

from regrade.replicate.cell import (
    Cell,
    CellKind,
    CellOutcome,
    Coverage,
    CoveredPart,
    PrintedFigure,
    Replication,
    printed_figure,
    printed_figures,
)
from regrade.replicate.registry import Paper, PublishedFile, fetch, folder_for, official_files, papers, replicate

__all__ = [
    "Cell",
    "CellKind",
    "CellOutcome",
    "Coverage",
    "CoveredPart",
    "Paper",
    "PrintedFigure",
    "PublishedFile",
    "Replication",
    "fetch",
    "folder_for",
    "official_files",
    "papers",
    "printed_figure",
    "printed_figures",
    "replicate",
]
