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
from regrade.metrics.confusion_pairs import ConfusedPairs, confused_pairs, confusions
from regrade.metrics.confusion_score import (
    ConfusionEntropies,
    FinalPredictions,
    confusion_entropies,
    confusion_score,
    final_predictions,
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
from regrade.metrics.top_k import best_within, mapped_correct, top_k_classes, top_k_correct, top_k_within

__all__ = [
    "ALEXNET_CLEAN_ERROR",
    "ALEXNET_ERRORS",
    "SMALLEST_PROBABILITY",
    "ConfusedPairs",
    "ConfusionEntropies",
    "FinalPredictions",
    "Judged",
    "MultilabelRule",
    "ReliabilityBins",
    "agreement",
    "balanced_accuracy",
    "best_within",
    "brier_score",
    "brier_scores",
    "confused_pairs",
    "confusion_entropies",
    "confusion_score",
    "confusions",
    "corruption_errors",
    "dominance_probability",
    "effective_robustness",
    "equal_size_bins",
    "error_consistency",
    "final_predictions",
    "independent_dominance",
    "judge",
    "log_losses",
    "mapped_correct",
    "mean_corruption_error",
    "negative_log_likelihood",
    "relative_mean_corruption_error",
    "relative_robustness",
    "reliability_bins",
    "top_k_classes",
    "top_k_correct",
    "top_k_within",
]
