"""Studies: one folder per question; analyses are pure functions, and a record says how each is loaded and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from regrade.studies.agreement.analysis import (
        AgreementMeasures,
        AgreementPart,
        PanelAgreement,
        QueueAgreements,
        ReviewerAgreement,
        panel_agreement,
    )
    from regrade.studies.agreement.reviewer_models import (
        ItemDisagreement,
        ModelAnswer,
        ModeledReviewer,
        PanelVote,
        ReviewerModels,
        reviewer_models,
    )
    from regrade.studies.agreement.study import AGREEMENT
    from regrade.studies.checks.analysis import CHECKS, Check
    from regrade.studies.checks.result import CheckRow, Methodology, MethodologyOutcome
    from regrade.studies.class_map.result import (
        ClassErrors,
        ClassMapAudit,
        ClassMapPart,
        GroupAccuracy,
        MapEffect,
        MapRow,
        OmissionRow,
    )
    from regrade.studies.classes.analysis import PredictedClasses, class_study
    from regrade.studies.classes.result import (
        ClassAverages,
        ClassesPart,
        ClassGrades,
        ClassOrder,
        ClassScores,
        ConfusedClasses,
        ConfusionMatrix,
    )
    from regrade.studies.compare.analysis import compare_correctness
    from regrade.studies.compare.model_pairs import McNemarTests, ModelPairs, Pair, PairResult
    from regrade.studies.compare.result import Comparison, ComparisonPart, Rank
    from regrade.studies.confidence.analysis import ImageConfidences, confidence_study
    from regrade.studies.confidence.result import (
        AcceptanceVerdict,
        CalibrationVerdict,
        Confidence,
        ConfidencePart,
        ConformalScore,
        ConformalSets,
        CoverageVerdict,
        ModelConfidence,
    )
    from regrade.studies.confusion.analysis import FurtherInputs
    from regrade.studies.confusion.bands import BandComparison, Remedy
    from regrade.studies.confusion.hard_set import HardRule, HardSet
    from regrade.studies.confusion.paper_figures import paper_figures
    from regrade.studies.confusion.result import Confusion, ConfusionPart
    from regrade.studies.confusion.rivals import Rival
    from regrade.studies.confusion.unlabeled import UnlabeledInputs
    from regrade.studies.corruptions.analysis import (
        CleanCorrectness,
        CorruptionFrame,
        CorruptionGrade,
        CorruptionRow,
        Extreme,
        corruption_frame,
        corruption_grade,
    )
    from regrade.studies.frequency.result import (
        AnswerNoise,
        Frequency,
        FrequencyBin,
        FrequencyChange,
        FrequencyStudyPart,
        ModelBin,
    )
    from regrade.studies.gate.result import FlipCount, GateResult, GateRow, GateRule, GateVerdict
    from regrade.studies.gate.rules import GateRules
    from regrade.studies.generalization.explanations import Adaptivity, AdaptivityVerdict, Difficulty, LossParts
    from regrade.studies.generalization.paired_counts import SetPair
    from regrade.studies.generalization.result import Generalization, ModelShift, SetShift
    from regrade.studies.geography.group_frame import Grouping, grouping
    from regrade.studies.geography.progress import (
        BenchmarkKind,
        DisparityGrowth,
        GrowthVerdict,
        Progress,
        ProgressGap,
        ProgressRate,
    )
    from regrade.studies.geography.result import Disparity, Geography, GeographyPart, GroupSize, ModelByGroup
    from regrade.studies.geography.world_map import map_figure
    from regrade.studies.grade.analysis import slice_masks
    from regrade.studies.grade.metrics import BUILT_IN, GradedImages, GradeMetric, MetricFunction, chosen_metrics
    from regrade.studies.grade.result import Grade, GradeRow
    from regrade.studies.image_basis import Basis, SameImages, same_images
    from regrade.studies.label_audit.analysis import (
        AgreedLabels,
        AuditOutcome,
        AuditResult,
        LabelAudits,
        agreed_labels,
        audit_result,
        new_audit,
    )
    from regrade.studies.label_audit.study import LABEL_AUDIT
    from regrade.studies.label_change.analysis import LabelChange, LabelChangePart, ModelChange
    from regrade.studies.label_change.diff import LabelDiff, ProblemChange, describe_change, label_diff
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
    from regrade.studies.leakage.study import NEIGHBORS_COMMAND
    from regrade.studies.lines import DRAWS, ModelLine
    from regrade.studies.methods import study_method
    from regrade.studies.mistakes.analysis import MistakeReviews, TriageSources
    from regrade.studies.mistakes.mistake_labels import RemainingMistakes, remaining_mistakes
    from regrade.studies.mistakes.result import MistakePart, Mistakes
    from regrade.studies.mistakes.triage import TriageKind
    from regrade.studies.models.result import (
        DescribedModel,
        FamilyDifference,
        FamilyVerdict,
        ModelAttribute,
        ModelMeasure,
        ModelTrend,
        ModelTrends,
        ModelTrendsPart,
        TrendVerdict,
    )
    from regrade.studies.multilabel.kinds import ImageKind, KindShare, LabelPair, Relation
    from regrade.studies.multilabel.result import Multilabel, MultilabelPart, MultilabelRow
    from regrade.studies.multilabel_grade import MultilabelGrade, ReviewedLabels, multilabel_accuracy
    from regrade.studies.neighbors.result import NearestImage, NeighborSearch
    from regrade.studies.neighbors.study import TRAINING_NEIGHBORS
    from regrade.studies.people.accuracy import Chance, Contender, PeopleRow
    from regrade.studies.people.analysis import FAST_SECONDS
    from regrade.studies.people.answers import Agreement, EqualPair, FastImages, SpeedBand, TimeSpent
    from regrade.studies.people.result import Missed, MissedImage, People, PeoplePart
    from regrade.studies.people.sets_result import GapVerdict, PeopleOnSets, SetsRow
    from regrade.studies.plan.accuracy import plan_accuracy
    from regrade.studies.plan.groups import GroupContrast, extreme_groups, plan_disparity
    from regrade.studies.plan.pairs import (
        Contrast,
        assumed_ranking,
        contrasts_of,
        plan_difference,
        plan_rank,
        plan_ranks_of,
    )
    from regrade.studies.plan.result import Plan, PlanOptions, PlanRow
    from regrade.studies.plan.review import ReviewedPair, plan_review, reviewed_pair
    from regrade.studies.plan.study import PLANS
    from regrade.studies.registry import (
        STUDIES,
        Plans,
        Studies,
        all_studies,
        figure,
        find_near_duplicates,
        finding_kinds,
        findings,
        study_of,
        verdict_kinds,
        verdicts,
    )
    from regrade.studies.remedies.result import Remedies, RemedyMeasure, RemedyRow, RemedyVerdict
    from regrade.studies.report_data import ReportData, ReportModels
    from regrade.studies.review import Novel, apply_review, draw_review, model_review, novel_predictions
    from regrade.studies.scoring import EVERYTHING, MultilabelScoring, Scoring, TopK, scoring_for
    from regrade.studies.seeded_predictions import Seeds, draw_seeds
    from regrade.studies.set_counts import ImageNoise, ModelCounts, SetCounts, counts_of, counts_with_noise
    from regrade.studies.shift.result import EmbeddingShift, Shift, ShiftPart, ShiftVerdict, TypicalImage
    from regrade.studies.similarity.analysis import CLUSTER_KAPPA, similarity_of
    from regrade.studies.similarity.result import PairMatrix, Similarity, SimilarPair
    from regrade.studies.study import Chapter, Flag, Output, Parts, ProgressCallback, Study, StudyOptions, option

__all__ = [
    "AGREEMENT",
    "ANY",
    "BUILT_IN",
    "CHECKS",
    "CLUSTER_KAPPA",
    "DRAWS",
    "EVERYTHING",
    "FAST_SECONDS",
    "LABEL_AUDIT",
    "NEIGHBORS_COMMAND",
    "PLANS",
    "STUDIES",
    "TRAINING_NEIGHBORS",
    "AcceptanceVerdict",
    "Adaptivity",
    "AdaptivityVerdict",
    "AgreedLabels",
    "Agreement",
    "AgreementMeasures",
    "AgreementPart",
    "AnswerNoise",
    "AuditOutcome",
    "AuditResult",
    "BandComparison",
    "Basis",
    "BenchmarkKind",
    "CalibrationVerdict",
    "Chance",
    "Chapter",
    "Check",
    "CheckRow",
    "ClassAverages",
    "ClassErrors",
    "ClassGrades",
    "ClassMapAudit",
    "ClassMapPart",
    "ClassOrder",
    "ClassScores",
    "ClassesPart",
    "CleanCorrectness",
    "Comparison",
    "ComparisonPart",
    "Confidence",
    "ConfidencePart",
    "ConformalScore",
    "ConformalSets",
    "ConfusedClasses",
    "Confusion",
    "ConfusionMatrix",
    "ConfusionPart",
    "Contender",
    "Contrast",
    "CorruptionFrame",
    "CorruptionGrade",
    "CorruptionRow",
    "CoverageVerdict",
    "DescribedModel",
    "Difficulty",
    "Disparity",
    "DisparityGrowth",
    "DistanceResult",
    "DuplicateGroup",
    "EmbeddingShift",
    "EqualPair",
    "Extreme",
    "FamilyDifference",
    "FamilyVerdict",
    "FastImages",
    "Flag",
    "FlipCount",
    "Frequency",
    "FrequencyBin",
    "FrequencyChange",
    "FrequencyStudyPart",
    "FurtherInputs",
    "GapVerdict",
    "GateResult",
    "GateRow",
    "GateRule",
    "GateRules",
    "GateVerdict",
    "Generalization",
    "Geography",
    "GeographyPart",
    "Grade",
    "GradeMetric",
    "GradeRow",
    "GradedImages",
    "GroupAccuracy",
    "GroupContrast",
    "GroupSize",
    "Grouping",
    "GrowthVerdict",
    "HardRule",
    "HardSet",
    "ImageConfidences",
    "ImageKind",
    "ImageNoise",
    "ItemDisagreement",
    "KindShare",
    "LabelAudits",
    "LabelChange",
    "LabelChangePart",
    "LabelDiff",
    "LabelPair",
    "Leakage",
    "LeakagePart",
    "LeakedModel",
    "LeakedPair",
    "LossParts",
    "MapEffect",
    "MapRow",
    "McNemarTests",
    "Methodology",
    "MethodologyOutcome",
    "MetricFunction",
    "Missed",
    "MissedImage",
    "MistakePart",
    "MistakeReviews",
    "Mistakes",
    "ModelAnswer",
    "ModelAttribute",
    "ModelBin",
    "ModelByGroup",
    "ModelChange",
    "ModelConfidence",
    "ModelCounts",
    "ModelLine",
    "ModelMeasure",
    "ModelPairs",
    "ModelShift",
    "ModelTrend",
    "ModelTrends",
    "ModelTrendsPart",
    "ModeledReviewer",
    "Multilabel",
    "MultilabelGrade",
    "MultilabelPart",
    "MultilabelRow",
    "MultilabelScoring",
    "NearestBar",
    "NearestImage",
    "NeighborSearch",
    "Novel",
    "OmissionRow",
    "Output",
    "Pair",
    "PairMatrix",
    "PairResult",
    "PanelAgreement",
    "PanelVote",
    "Parts",
    "People",
    "PeopleOnSets",
    "PeoplePart",
    "PeopleRow",
    "Plan",
    "PlanOptions",
    "PlanRow",
    "Plans",
    "PredictedClasses",
    "ProblemChange",
    "Progress",
    "ProgressCallback",
    "ProgressGap",
    "ProgressRate",
    "QueueAgreements",
    "Rank",
    "Relation",
    "RemainingMistakes",
    "Remedies",
    "Remedy",
    "RemedyMeasure",
    "RemedyRow",
    "RemedyVerdict",
    "ReportData",
    "ReportModels",
    "ReviewedLabels",
    "ReviewedPair",
    "ReviewerAgreement",
    "ReviewerModels",
    "Rival",
    "SameImages",
    "Scoring",
    "Seeds",
    "SetCounts",
    "SetPair",
    "SetShift",
    "SetsRow",
    "Shift",
    "ShiftPart",
    "ShiftVerdict",
    "SimilarPair",
    "Similarity",
    "SkippedImage",
    "SpeedBand",
    "Studies",
    "Study",
    "StudyOptions",
    "TimeSpent",
    "TopK",
    "TrendVerdict",
    "TriageKind",
    "TriageSources",
    "TypicalImage",
    "UnlabeledInputs",
    "agreed_labels",
    "all_studies",
    "apply_review",
    "assumed_ranking",
    "audit_result",
    "chosen_metrics",
    "class_study",
    "compare_correctness",
    "confidence_study",
    "contrasts_of",
    "corruption_frame",
    "corruption_grade",
    "counts_of",
    "counts_with_noise",
    "describe_change",
    "draw_review",
    "draw_seeds",
    "extreme_groups",
    "figure",
    "find_near_duplicates",
    "finding_kinds",
    "findings",
    "grouping",
    "label_diff",
    "map_figure",
    "model_review",
    "multilabel_accuracy",
    "new_audit",
    "novel_predictions",
    "option",
    "panel_agreement",
    "paper_figures",
    "plan_accuracy",
    "plan_difference",
    "plan_disparity",
    "plan_rank",
    "plan_ranks_of",
    "plan_review",
    "remaining_mistakes",
    "reviewed_pair",
    "reviewer_models",
    "same_images",
    "scoring_for",
    "similarity_of",
    "slice_masks",
    "study_method",
    "study_of",
    "verdict_kinds",
    "verdicts",
]

_HOME = {
    "regrade.studies.agreement.analysis": (
        "AgreementMeasures AgreementPart PanelAgreement QueueAgreements ReviewerAgreement panel_agreement"
    ),
    "regrade.studies.agreement.reviewer_models": (
        "ItemDisagreement ModelAnswer ModeledReviewer PanelVote ReviewerModels reviewer_models"
    ),
    "regrade.studies.agreement.study": "AGREEMENT",
    "regrade.studies.checks.analysis": "CHECKS Check",
    "regrade.studies.checks.result": "CheckRow Methodology MethodologyOutcome",
    "regrade.studies.class_map.result": (
        "ClassErrors ClassMapAudit ClassMapPart GroupAccuracy MapEffect MapRow OmissionRow"
    ),
    "regrade.studies.classes.analysis": "PredictedClasses class_study",
    "regrade.studies.classes.result": (
        "ClassAverages ClassesPart ClassGrades ClassOrder ClassScores ConfusedClasses ConfusionMatrix"
    ),
    "regrade.studies.compare.analysis": "compare_correctness",
    "regrade.studies.compare.model_pairs": "McNemarTests ModelPairs Pair PairResult",
    "regrade.studies.compare.result": "Comparison ComparisonPart Rank",
    "regrade.studies.confidence.analysis": "ImageConfidences confidence_study",
    "regrade.studies.confidence.result": (
        "AcceptanceVerdict CalibrationVerdict Confidence ConfidencePart ConformalScore ConformalSets "
        "CoverageVerdict ModelConfidence"
    ),
    "regrade.studies.confusion.analysis": "FurtherInputs",
    "regrade.studies.confusion.bands": "BandComparison Remedy",
    "regrade.studies.confusion.hard_set": "HardRule HardSet",
    "regrade.studies.confusion.paper_figures": "paper_figures",
    "regrade.studies.confusion.result": "Confusion ConfusionPart",
    "regrade.studies.confusion.rivals": "Rival",
    "regrade.studies.confusion.unlabeled": "UnlabeledInputs",
    "regrade.studies.corruptions.analysis": (
        "CleanCorrectness CorruptionFrame CorruptionGrade CorruptionRow Extreme corruption_frame corruption_grade"
    ),
    "regrade.studies.frequency.result": (
        "AnswerNoise Frequency FrequencyBin FrequencyChange FrequencyStudyPart ModelBin"
    ),
    "regrade.studies.gate.result": "FlipCount GateResult GateRow GateRule GateVerdict",
    "regrade.studies.gate.rules": "GateRules",
    "regrade.studies.generalization.explanations": "Adaptivity AdaptivityVerdict Difficulty LossParts",
    "regrade.studies.generalization.paired_counts": "SetPair",
    "regrade.studies.generalization.result": "Generalization ModelShift SetShift",
    "regrade.studies.geography.group_frame": "Grouping grouping",
    "regrade.studies.geography.progress": (
        "BenchmarkKind DisparityGrowth GrowthVerdict Progress ProgressGap ProgressRate"
    ),
    "regrade.studies.geography.result": "Disparity Geography GeographyPart GroupSize ModelByGroup",
    "regrade.studies.geography.world_map": "map_figure",
    "regrade.studies.grade.analysis": "slice_masks",
    "regrade.studies.grade.metrics": "BUILT_IN GradedImages GradeMetric MetricFunction chosen_metrics",
    "regrade.studies.grade.result": "Grade GradeRow",
    "regrade.studies.image_basis": "Basis SameImages same_images",
    "regrade.studies.label_audit.analysis": (
        "AgreedLabels AuditOutcome AuditResult LabelAudits agreed_labels audit_result new_audit"
    ),
    "regrade.studies.label_audit.study": "LABEL_AUDIT",
    "regrade.studies.label_change.analysis": "LabelChange LabelChangePart ModelChange",
    "regrade.studies.label_change.diff": "LabelDiff ProblemChange describe_change label_diff",
    "regrade.studies.leakage.pairs": "LeakedPair",
    "regrade.studies.leakage.result": (
        "ANY DistanceResult DuplicateGroup Leakage LeakagePart LeakedModel NearestBar SkippedImage"
    ),
    "regrade.studies.leakage.study": "NEIGHBORS_COMMAND",
    "regrade.studies.lines": "DRAWS ModelLine",
    "regrade.studies.mistakes.analysis": "MistakeReviews TriageSources",
    "regrade.studies.mistakes.mistake_labels": "RemainingMistakes remaining_mistakes",
    "regrade.studies.mistakes.result": "MistakePart Mistakes",
    "regrade.studies.mistakes.triage": "TriageKind",
    "regrade.studies.models.result": (
        "DescribedModel FamilyDifference FamilyVerdict ModelAttribute ModelMeasure ModelTrend ModelTrends "
        "ModelTrendsPart TrendVerdict"
    ),
    "regrade.studies.multilabel.kinds": "ImageKind KindShare LabelPair Relation",
    "regrade.studies.multilabel.result": "Multilabel MultilabelPart MultilabelRow",
    "regrade.studies.multilabel_grade": "MultilabelGrade ReviewedLabels multilabel_accuracy",
    "regrade.studies.neighbors.result": "NearestImage NeighborSearch",
    "regrade.studies.neighbors.study": "TRAINING_NEIGHBORS",
    "regrade.studies.people.accuracy": "Chance Contender PeopleRow",
    "regrade.studies.people.analysis": "FAST_SECONDS",
    "regrade.studies.people.answers": "Agreement EqualPair FastImages SpeedBand TimeSpent",
    "regrade.studies.people.result": "Missed MissedImage People PeoplePart",
    "regrade.studies.people.sets_result": "GapVerdict PeopleOnSets SetsRow",
    "regrade.studies.plan.accuracy": "plan_accuracy",
    "regrade.studies.plan.groups": "GroupContrast extreme_groups plan_disparity",
    "regrade.studies.plan.pairs": "Contrast assumed_ranking contrasts_of plan_difference plan_rank plan_ranks_of",
    "regrade.studies.plan.result": "Plan PlanOptions PlanRow",
    "regrade.studies.plan.review": "ReviewedPair plan_review reviewed_pair",
    "regrade.studies.plan.study": "PLANS",
    "regrade.studies.methods": "study_method",
    "regrade.studies.registry": (
        "STUDIES Plans Studies all_studies figure find_near_duplicates finding_kinds findings study_of "
        "verdict_kinds verdicts"
    ),
    "regrade.studies.remedies.result": "Remedies RemedyMeasure RemedyRow RemedyVerdict",
    "regrade.studies.report_data": "ReportData ReportModels",
    "regrade.studies.review": "Novel apply_review draw_review model_review novel_predictions",
    "regrade.studies.scoring": "EVERYTHING MultilabelScoring Scoring TopK scoring_for",
    "regrade.studies.seeded_predictions": "Seeds draw_seeds",
    "regrade.studies.set_counts": "ImageNoise ModelCounts SetCounts counts_of counts_with_noise",
    "regrade.studies.shift.result": "EmbeddingShift Shift ShiftPart ShiftVerdict TypicalImage",
    "regrade.studies.similarity.analysis": "CLUSTER_KAPPA similarity_of",
    "regrade.studies.similarity.result": "PairMatrix Similarity SimilarPair",
    "regrade.studies.study": "Chapter Flag Output Parts ProgressCallback Study StudyOptions option",
}

if not TYPE_CHECKING:  # type checkers then find misspelled names
    __getattr__, __dir__ = lazy_names(globals(), _HOME)
