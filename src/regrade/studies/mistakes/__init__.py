"""Study of mistakes: which predictions are mistakes, their categories and severities (Vasudevan et al. 2022)."""

from regrade.studies.mistakes.agreement import TriageAgreement
from regrade.studies.mistakes.categories import Categories, CategoryCount, CategoryTest
from regrade.studies.mistakes.changes import Change, change_between
from regrade.studies.mistakes.distances import DistanceCount
from regrade.studies.mistakes.flow import Flow, MultilabelAccuracies
from regrade.studies.mistakes.major import MajorScore, MajorSlice, major_slice
from regrade.studies.mistakes.mistake_labels import (
    MistakeList,
    RemainingMistakes,
    remaining_mistakes,
    reviewed_mistakes,
)
from regrade.studies.mistakes.pairs import ConfusedPair, PairTail
from regrade.studies.mistakes.result import MistakePart, Mistakes
from regrade.studies.mistakes.study import MistakeReviews, TriageSources, mistakes
from regrade.studies.mistakes.triage import TriageKind, TriageRow

__all__ = [
    "Categories",
    "CategoryCount",
    "CategoryTest",
    "Change",
    "ConfusedPair",
    "DistanceCount",
    "Flow",
    "MajorScore",
    "MajorSlice",
    "MistakeList",
    "MistakePart",
    "MistakeReviews",
    "Mistakes",
    "MultilabelAccuracies",
    "PairTail",
    "RemainingMistakes",
    "TriageAgreement",
    "TriageKind",
    "TriageRow",
    "TriageSources",
    "change_between",
    "major_slice",
    "mistakes",
    "remaining_mistakes",
    "reviewed_mistakes",
]
