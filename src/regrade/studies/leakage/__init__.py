"""Study of leakage: images of a test set with near duplicates in a training set, and their effect on accuracies."""

from regrade.studies.leakage.pairs import LeakedPair
from regrade.studies.leakage.result import (
    ANY,
    DistanceResult,
    DuplicateGroup,
    Leakage,
    LeakagePart,
    LeakedModel,
    NearestBar,
    SkippedImage,
)
from regrade.studies.leakage.study import leakage

__all__ = [
    "ANY",
    "DistanceResult",
    "DuplicateGroup",
    "Leakage",
    "LeakagePart",
    "LeakedModel",
    "LeakedPair",
    "NearestBar",
    "SkippedImage",
    "leakage",
]
