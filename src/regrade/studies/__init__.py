"""Studies: from loaded records to a finished, frozen result. Pure; the caller loads and shows."""

from regrade.studies.compare import Comparison, McNemarTests, Pair, Rank, compare
from regrade.studies.grade import EVERYTHING, Grade, GradeRow, grade, slice_masks
from regrade.studies.multilabel_grade import MultilabelGrade, ReviewedLabels
from regrade.studies.review import Novel, StratifyBy, draw_review, novel_predictions, review_of
from regrade.studies.scoring import MultilabelScoring, Scoring, TopK, scoring_for

__all__ = [
    "EVERYTHING",
    "Comparison",
    "Grade",
    "GradeRow",
    "McNemarTests",
    "MultilabelGrade",
    "MultilabelScoring",
    "Novel",
    "Pair",
    "Rank",
    "ReviewedLabels",
    "Scoring",
    "StratifyBy",
    "TopK",
    "compare",
    "draw_review",
    "grade",
    "novel_predictions",
    "review_of",
    "scoring_for",
    "slice_masks",
]
