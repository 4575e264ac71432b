"""Leakage: which images of a test set are in a training set too, and what that does to accuracies."""

from regrade.studies.leakage.pairs import LeakedPair
from regrade.studies.leakage.result import (
    ANY,
    DuplicateGroup,
    FoundBy,
    Leakage,
    LeakagePart,
    LeakedModel,
    NearestBar,
    Unreadable,
)
from regrade.studies.leakage.study import leakage

__all__ = [
    "ANY",
    "DuplicateGroup",
    "FoundBy",
    "Leakage",
    "LeakagePart",
    "LeakedModel",
    "LeakedPair",
    "NearestBar",
    "Unreadable",
    "leakage",
]
