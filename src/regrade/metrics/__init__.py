"""Metrics for image classifiers: pure functions of predictions and labels."""

from regrade.metrics.balanced_accuracy import balanced_accuracy
from regrade.metrics.calibration import (
    SMALLEST_PROBABILITY,
    ReliabilityBins,
    brier_score,
    brier_scores,
    equal_size_bins,
    log_losses,
    negative_log_likelihood,
    reliability_bins,
)
from regrade.metrics.conformal import (
    RAPS_FREE,
    RAPS_PENALTY,
    aps_scores,
    conformal_rank,
    conformal_threshold,
    lac_scores,
    raps_scores,
)
from regrade.metrics.confusion_pairs import ConfusedPairs, confused_pairs, confusions
from regrade.metrics.confusion_score import (
    ConfusionEntropies,
    FinalPredictions,
    confusion_entropies,
    confusion_score,
    final_predictions,
)
from regrade.metrics.hardness_scores import (
    area_under_margin,
    el2n,
    human_entropies,
    label_confidence,
    label_variability,
    prediction_entropies,
    prediction_margins,
)
from regrade.metrics.multilabel import Judged, MultilabelRule, judge
from regrade.metrics.robustness import (
    ALEXNET_CLEAN_ERROR,
    ALEXNET_ERRORS,
    corruption_errors,
    effective_robustness,
    mean_corruption_error,
    relative_mean_corruption_error,
    relative_robustness,
)
from regrade.metrics.similarity import (
    agreement,
    dominance_probability,
    error_consistency,
    independent_dominance,
)
from regrade.metrics.temperature import fit_temperature, scale_probabilities
from regrade.metrics.top_k import best_within, mapped_correct, top_k_classes, top_k_correct, top_k_within
from regrade.metrics.training_scores import EARLY_CHECKPOINTS, LabelScores, TrainingScores, training_scores

__all__ = [
    "ALEXNET_CLEAN_ERROR",
    "ALEXNET_ERRORS",
    "EARLY_CHECKPOINTS",
    "RAPS_FREE",
    "RAPS_PENALTY",
    "SMALLEST_PROBABILITY",
    "ConfusedPairs",
    "ConfusionEntropies",
    "FinalPredictions",
    "Judged",
    "LabelScores",
    "MultilabelRule",
    "ReliabilityBins",
    "TrainingScores",
    "agreement",
    "aps_scores",
    "area_under_margin",
    "balanced_accuracy",
    "best_within",
    "brier_score",
    "brier_scores",
    "conformal_rank",
    "conformal_threshold",
    "confused_pairs",
    "confusion_entropies",
    "confusion_score",
    "confusions",
    "corruption_errors",
    "dominance_probability",
    "effective_robustness",
    "el2n",
    "equal_size_bins",
    "error_consistency",
    "final_predictions",
    "fit_temperature",
    "human_entropies",
    "independent_dominance",
    "judge",
    "label_confidence",
    "label_variability",
    "lac_scores",
    "log_losses",
    "mapped_correct",
    "mean_corruption_error",
    "negative_log_likelihood",
    "prediction_entropies",
    "prediction_margins",
    "raps_scores",
    "relative_mean_corruption_error",
    "relative_robustness",
    "reliability_bins",
    "scale_probabilities",
    "top_k_classes",
    "top_k_correct",
    "top_k_within",
    "training_scores",
]
