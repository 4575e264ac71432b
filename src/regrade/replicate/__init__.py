"""Replication: the papers' own tables, figure by figure, beside what we compute."""

from regrade.replicate.cell import Cell, Outcome, Replication
from regrade.replicate.registry import Paper, papers, replicate

__all__ = ["Cell", "Outcome", "Paper", "Replication", "papers", "replicate"]
