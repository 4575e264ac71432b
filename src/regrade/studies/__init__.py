"""Studies: from loaded records to a finished, frozen result. Pure; the caller loads and shows."""

from regrade.studies.adaptivity import Adaptivity, Verdict
from regrade.studies.alike import AlikePair, PairMatrix, Similarity
from regrade.studies.compare import compare, compare_correctness
from regrade.studies.comparison import Basis, Comparison, Rank
from regrade.studies.confusion import (
    Confusion,
    ConfusionPart,
    HardRule,
    HardSet,
    WithoutLabels,
    confusion,
)
from regrade.studies.corruption_frame import CorruptionFrame, corruption_frame
from regrade.studies.corruption_grade import CleanAnswers, CorruptionGrade, CorruptionRow, Extreme, corruption_grade
from regrade.studies.difficulty import Difficulty
from regrade.studies.generalization import SetPair, generalization
from regrade.studies.generalization_result import Generalization, ModelShift, SetShift
from regrade.studies.geography import (
    BenchmarkKind,
    Disparity,
    DisparityGrowth,
    Geography,
    GeographyPart,
    Grouping,
    GroupSize,
    GrowthVerdict,
    ModelByGroup,
    Progress,
    ProgressGap,
    ProgressRate,
    geography,
    grouping,
)
from regrade.studies.grade import EVERYTHING, Grade, GradeRow, grade, slice_masks
from regrade.studies.image_noise import ImageNoise
from regrade.studies.label_change import LabelChange, ModelChange, label_change
from regrade.studies.label_diff import LabelDiff, ProblemChange, label_diff, move_in_words
from regrade.studies.leakage import (
    ANY,
    DuplicateGroup,
    FoundBy,
    Leakage,
    LeakagePart,
    LeakedModel,
    LeakedPair,
    NearestBar,
    Unreadable,
    leakage,
)
from regrade.studies.lines import DRAWS, ModelLine
from regrade.studies.loss_parts import LossParts
from regrade.studies.mistakes import (
    MistakePart,
    MistakeReviews,
    Mistakes,
    RemainingMistakes,
    TriageKind,
    TriageSources,
    mistakes,
    remaining_mistakes,
)
from regrade.studies.model_pairs import ModelPairs
from regrade.studies.multilabel_grade import MultilabelGrade, ReviewedLabels
from regrade.studies.pair import McNemarTests, Pair
from regrade.studies.panel_agreement import (
    AgreementMeasures,
    PanelAgreement,
    PanelVote,
    ReviewerAgreement,
    panel_agreement,
)
from regrade.studies.people import FAST_SECONDS, people
from regrade.studies.people_agreement import Agreement, EqualPair
from regrade.studies.people_result import Missed, MissedImage, People
from regrade.studies.people_standings import Chance, Contender, Standing
from regrade.studies.people_timing import FastImages, SpeedBand, TimeSpent
from regrade.studies.review import Novel, StratifyBy, draw_review, novel_predictions, review_of, with_verdicts
from regrade.studies.same_images import SameImages, same_images
from regrade.studies.scoring import MultilabelScoring, Scoring, TopK, scoring_for
from regrade.studies.seeding import Seeds, seeds_among
from regrade.studies.set_counts import ModelCounts, SetCounts, counts_of, counts_with_noise
from regrade.studies.similarity import ALIKE, similarity, similarity_of

__all__ = [
    "ALIKE",
    "ANY",
    "DRAWS",
    "EVERYTHING",
    "FAST_SECONDS",
    "Adaptivity",
    "Agreement",
    "AgreementMeasures",
    "AlikePair",
    "Basis",
    "BenchmarkKind",
    "Chance",
    "CleanAnswers",
    "Comparison",
    "Confusion",
    "ConfusionPart",
    "Contender",
    "CorruptionFrame",
    "CorruptionGrade",
    "CorruptionRow",
    "Difficulty",
    "Disparity",
    "DisparityGrowth",
    "DuplicateGroup",
    "EqualPair",
    "Extreme",
    "FastImages",
    "FoundBy",
    "Generalization",
    "Geography",
    "GeographyPart",
    "Grade",
    "GradeRow",
    "GroupSize",
    "Grouping",
    "GrowthVerdict",
    "HardRule",
    "HardSet",
    "ImageNoise",
    "LabelChange",
    "LabelDiff",
    "Leakage",
    "LeakagePart",
    "LeakedModel",
    "LeakedPair",
    "LossParts",
    "McNemarTests",
    "Missed",
    "MissedImage",
    "MistakePart",
    "MistakeReviews",
    "Mistakes",
    "ModelByGroup",
    "ModelChange",
    "ModelCounts",
    "ModelLine",
    "ModelPairs",
    "ModelShift",
    "MultilabelGrade",
    "MultilabelScoring",
    "NearestBar",
    "Novel",
    "Pair",
    "PairMatrix",
    "PanelAgreement",
    "PanelVote",
    "People",
    "ProblemChange",
    "Progress",
    "ProgressGap",
    "ProgressRate",
    "Rank",
    "RemainingMistakes",
    "ReviewedLabels",
    "ReviewerAgreement",
    "SameImages",
    "Scoring",
    "Seeds",
    "SetCounts",
    "SetPair",
    "SetShift",
    "Similarity",
    "SpeedBand",
    "Standing",
    "StratifyBy",
    "TimeSpent",
    "TopK",
    "TriageKind",
    "TriageSources",
    "Unreadable",
    "Verdict",
    "WithoutLabels",
    "compare",
    "compare_correctness",
    "confusion",
    "corruption_frame",
    "corruption_grade",
    "counts_of",
    "counts_with_noise",
    "draw_review",
    "generalization",
    "geography",
    "grade",
    "grouping",
    "label_change",
    "label_diff",
    "leakage",
    "mistakes",
    "move_in_words",
    "novel_predictions",
    "panel_agreement",
    "people",
    "remaining_mistakes",
    "review_of",
    "same_images",
    "scoring_for",
    "seeds_among",
    "similarity",
    "similarity_of",
    "slice_masks",
    "with_verdicts",
]
