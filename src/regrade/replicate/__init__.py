"""Replication: the papers' own tables, figure by figure, beside what we compute."""

from regrade.replicate.cell import Cell, Outcome, Replication
from regrade.replicate.published_files import PublishedFile, fetch, folder_for, official_files
from regrade.replicate.registry import Paper, papers, replicate

__all__ = [
    "Cell",
    "Outcome",
    "Paper",
    "PublishedFile",
    "Replication",
    "fetch",
    "folder_for",
    "official_files",
    "papers",
    "replicate",
]
