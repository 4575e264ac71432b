"""Metrics for image classifiers: pure functions of predictions and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from regrade.metrics.balanced_accuracies import balanced_accuracy
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
    from regrade.metrics.column_order import FALSE_ALARMS, last_column_p_value, looks_reversed
    from regrade.metrics.conformal import (
        RAPS_FREE,
        RAPS_PENALTY,
        aps_scores,
        conformal_rank,
        conformal_threshold,
        label_places,
        lac_scores,
        ordered_aps_scores,
        rank_penalties,
        raps_scores,
    )
    from regrade.metrics.confusion_pairs import ConfusedPairs, confused_pairs, confusions
    from regrade.metrics.confusion_scores import (
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
    from regrade.metrics.temperature import ScaledPredictions, fit_temperature, scale_predictions, scale_probabilities
    from regrade.metrics.top_k import (
        best_within,
        expected_correct,
        mapped_correct,
        ties_across,
        top_k_classes,
        top_k_correct,
        top_k_within,
    )
    from regrade.metrics.training_measures import EARLY_CHECKPOINTS, LabelScores, TrainingScores, training_scores

__all__ = [
    "ALEXNET_CLEAN_ERROR",
    "ALEXNET_ERRORS",
    "EARLY_CHECKPOINTS",
    "FALSE_ALARMS",
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
    "ScaledPredictions",
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
    "expected_correct",
    "final_predictions",
    "fit_temperature",
    "human_entropies",
    "independent_dominance",
    "judge",
    "label_confidence",
    "label_places",
    "label_variability",
    "lac_scores",
    "last_column_p_value",
    "log_losses",
    "looks_reversed",
    "mapped_correct",
    "mean_corruption_error",
    "negative_log_likelihood",
    "ordered_aps_scores",
    "prediction_entropies",
    "prediction_margins",
    "rank_penalties",
    "raps_scores",
    "relative_mean_corruption_error",
    "relative_robustness",
    "reliability_bins",
    "scale_predictions",
    "scale_probabilities",
    "ties_across",
    "top_k_classes",
    "top_k_correct",
    "top_k_within",
    "training_scores",
]

_HOME = {
    "regrade.metrics.balanced_accuracies": "balanced_accuracy",
    "regrade.metrics.calibration": (
        "SMALLEST_PROBABILITY ReliabilityBins brier_score brier_scores equal_size_bins log_losses "
        "negative_log_likelihood reliability_bins"
    ),
    "regrade.metrics.column_order": "FALSE_ALARMS last_column_p_value looks_reversed",
    "regrade.metrics.conformal": (
        "RAPS_FREE RAPS_PENALTY aps_scores conformal_rank conformal_threshold label_places lac_scores "
        "ordered_aps_scores rank_penalties raps_scores"
    ),
    "regrade.metrics.confusion_pairs": "ConfusedPairs confused_pairs confusions",
    "regrade.metrics.confusion_scores": (
        "ConfusionEntropies FinalPredictions confusion_entropies confusion_score final_predictions"
    ),
    "regrade.metrics.hardness_scores": (
        "area_under_margin el2n human_entropies label_confidence label_variability prediction_entropies "
        "prediction_margins"
    ),
    "regrade.metrics.multilabel": "Judged MultilabelRule judge",
    "regrade.metrics.robustness": (
        "ALEXNET_CLEAN_ERROR ALEXNET_ERRORS corruption_errors effective_robustness mean_corruption_error "
        "relative_mean_corruption_error relative_robustness"
    ),
    "regrade.metrics.similarity": "agreement dominance_probability error_consistency independent_dominance",
    "regrade.metrics.temperature": "ScaledPredictions fit_temperature scale_predictions scale_probabilities",
    "regrade.metrics.top_k": (
        "best_within expected_correct mapped_correct ties_across top_k_classes top_k_correct top_k_within"
    ),
    "regrade.metrics.training_measures": "EARLY_CHECKPOINTS LabelScores TrainingScores training_scores",
}

if not TYPE_CHECKING:  # type checkers then find misspelled names
    __getattr__, __dir__ = lazy_names(globals(), _HOME)
