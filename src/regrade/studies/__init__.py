"""Studies: from loaded records to a finished, frozen result. Pure; the caller loads and shows."""

from regrade.studies.compare import compare, compare_correctness
from regrade.studies.comparison import Basis, Comparison, McNemarTests, Pair, Rank
from regrade.studies.corruption_frame import CorruptionFrame, corruption_frame
from regrade.studies.corruption_grade import CleanAnswers, CorruptionGrade, CorruptionRow, corruption_grade
from regrade.studies.grade import EVERYTHING, Grade, GradeRow, grade, slice_masks
from regrade.studies.multilabel_grade import MultilabelGrade, ReviewedLabels
from regrade.studies.review import Novel, StratifyBy, draw_review, novel_predictions, review_of, with_verdicts
from regrade.studies.scoring import MultilabelScoring, Scoring, TopK, scoring_for

__all__ = [
    "EVERYTHING",
    "Basis",
    "CleanAnswers",
    "Comparison",
    "CorruptionFrame",
    "CorruptionGrade",
    "CorruptionRow",
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
    "compare_correctness",
    "corruption_frame",
    "corruption_grade",
    "draw_review",
    "grade",
    "novel_predictions",
    "review_of",
    "scoring_for",
    "slice_masks",
    "with_verdicts",
]
