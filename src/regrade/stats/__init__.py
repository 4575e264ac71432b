"""Statistics for accuracies: pure functions, vectorized over many models at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regrade.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from regrade.stats.adaptive import adaptive_level, better_p_value, smallest_passing_gain
    from regrade.stats.agreement import (
        covariance_interval,
        covariance_sizes,
        fleiss_kappa,
        kappa_interval,
        kappa_sizes,
        krippendorff_alpha,
        pairwise_agreement,
    )
    from regrade.stats.annotators import (
        AnnotatorModel,
        VoteArrays,
        dawid_skene,
        identified,
        one_coin,
        reviewer_accuracies,
    )
    from regrade.stats.auroc import ErrorRanking, auroc_difference, mean_auroc, rank_errors
    from regrade.stats.balanced_proportions import balanced_proportion
    from regrade.stats.calibration_errors import calibration_error
    from regrade.stats.chi_square_tests import ChiSquare, PairedChiSquare, chi_square, paired_chi_square
    from regrade.stats.class_resampling import ClassBootstrap, class_bootstrap
    from regrade.stats.clustered_pairs import (
        clustered_best_share,
        clustered_share,
        design_effect,
        design_effects,
        paired_share_difference,
        share_design_effect,
    )
    from regrade.stats.clusters import Clusters, cluster, components, representatives
    from regrade.stats.confidence_gaps import ReliabilityPoint, confidence_gap, reliability_curve
    from regrade.stats.confidence_sequences import RandomOrder, anytime_accuracy, anytime_estimate, confidence_sequence
    from regrade.stats.conformal_coverage import least_expected_coverage, undercoverage_p_value
    from regrade.stats.correlation import (
        Correlations,
        binned_correlation,
        kendall,
        kendall_matrix,
        pearson,
        pearson_matrix,
        robust_pearson,
        spearman,
        spearman_matrix,
    )
    from regrade.stats.cross_fitting import cluster_folds, cross_fitted_auc
    from regrade.stats.error_correlation import biserial_correlations, error_correlations
    from regrade.stats.f1 import FEWEST_PER_CLASS, clustered_f1_scores, f1_scores, macro_f1, weighted_f1
    from regrade.stats.finite_population import finite_share
    from regrade.stats.independent import (
        difference_of_samples,
        fisher_exact,
        independent_difference,
        interval_p_value,
        newcombe_bounds,
        subset_effect,
    )
    from regrade.stats.influence import influence_effects
    from regrade.stats.intervals import (
        Intervals,
        Ratio,
        clopper_pearson,
        jeffreys,
        proportion,
        proportions,
        quantile,
        wilson,
    )
    from regrade.stats.line_fit import Band, LineFit, Scale, bootstrap_line, bootstrap_lines, fit_line, fit_lines
    from regrade.stats.logistic import LogisticFit, ridge_logistic
    from regrade.stats.means import (
        absolute_mean,
        bounded_mean,
        clustered_mean,
        reweighted_proportion,
        stratified_mean,
        stratified_proportion,
    )
    from regrade.stats.median_changes import median_change
    from regrade.stats.model_effects import MeasuredModels, attribute_effect
    from regrade.stats.multiplicity import (
        benjamini_hochberg,
        bonferroni_confidence,
        holm,
        holm_threshold,
        mark_simultaneous,
        simultaneous_proportions,
        widen_for_comparisons,
    )
    from regrade.stats.noisy_line import MIN_SPREAD, NoisyLine, fit_noisy_line, noise_on_scale, spread_beyond_noise
    from regrade.stats.paired import (
        McNemar,
        PairTests,
        corrected_difference,
        discordant_counts,
        exclusive_difference,
        mcnemar,
        mcnemar_all_pairs,
        mcnemar_exact,
        paired_difference,
        paired_equivalence,
    )
    from regrade.stats.partial_reviews import (
        PartialReview,
        judgments_needed,
        partial_review,
        reviewed_accuracy,
    )
    from regrade.stats.permutation import PermutationTest, compare_categories, compare_numbers
    from regrade.stats.power import (
        disparity_power,
        half_width_power,
        images_for_difference,
        images_for_half_width,
        images_for_margin,
        images_for_share,
        images_per_group,
        independent_disagreement,
        mcnemar_power,
        ordered_pairs,
        smallest_difference,
        smallest_disparity,
    )
    from regrade.stats.ranking import Ranks, rank_intervals, rank_intervals_from_counts, rank_ranges, ranks
    from regrade.stats.sampled_shares import EffectiveImages, SampledShares, effective_images
    from regrade.stats.selection import (
        agreeing_with_test,
        align_with_test,
        below_others_p_values,
        best_share,
        lower_share_p_values,
        lowest_candidates,
        significantly_below,
        worst_share,
    )
    from regrade.stats.selective import (
        CertifiedThreshold,
        certified_threshold,
        excess_area,
        risk_coverage_area,
        selective_risks,
    )
    from regrade.stats.shares_of_groups import (
        GroupShares,
        extremes_differ,
        group_shares,
        range_ratio,
        share_difference,
        share_noise,
        share_range,
        shown_above,
        smallest_share,
    )
    from regrade.stats.slopes import slope_deviation, slope_difference, slope_noise, slope_ratio
    from regrade.stats.standardized import standardized_difference
    from regrade.stats.subset_shares import subset_difference, subset_share
    from regrade.stats.two_way import accuracy_covariance, accuracy_variance, largest_covariance, two_way_mean

__all__ = [
    "FEWEST_PER_CLASS",
    "MIN_SPREAD",
    "AnnotatorModel",
    "Band",
    "CertifiedThreshold",
    "ChiSquare",
    "ClassBootstrap",
    "Clusters",
    "Correlations",
    "EffectiveImages",
    "ErrorRanking",
    "GroupShares",
    "Intervals",
    "LineFit",
    "LogisticFit",
    "McNemar",
    "MeasuredModels",
    "NoisyLine",
    "PairTests",
    "PairedChiSquare",
    "PartialReview",
    "PermutationTest",
    "RandomOrder",
    "Ranks",
    "Ratio",
    "ReliabilityPoint",
    "SampledShares",
    "Scale",
    "VoteArrays",
    "absolute_mean",
    "accuracy_covariance",
    "accuracy_variance",
    "adaptive_level",
    "agreeing_with_test",
    "align_with_test",
    "anytime_accuracy",
    "anytime_estimate",
    "attribute_effect",
    "auroc_difference",
    "balanced_proportion",
    "below_others_p_values",
    "benjamini_hochberg",
    "best_share",
    "better_p_value",
    "binned_correlation",
    "biserial_correlations",
    "bonferroni_confidence",
    "bootstrap_line",
    "bootstrap_lines",
    "bounded_mean",
    "calibration_error",
    "certified_threshold",
    "chi_square",
    "class_bootstrap",
    "clopper_pearson",
    "cluster",
    "cluster_folds",
    "clustered_best_share",
    "clustered_f1_scores",
    "clustered_mean",
    "clustered_share",
    "compare_categories",
    "compare_numbers",
    "components",
    "confidence_gap",
    "confidence_sequence",
    "corrected_difference",
    "covariance_interval",
    "covariance_sizes",
    "cross_fitted_auc",
    "dawid_skene",
    "design_effect",
    "design_effects",
    "difference_of_samples",
    "discordant_counts",
    "disparity_power",
    "effective_images",
    "error_correlations",
    "excess_area",
    "exclusive_difference",
    "extremes_differ",
    "f1_scores",
    "finite_share",
    "fisher_exact",
    "fit_line",
    "fit_lines",
    "fit_noisy_line",
    "fleiss_kappa",
    "group_shares",
    "half_width_power",
    "holm",
    "holm_threshold",
    "identified",
    "images_for_difference",
    "images_for_half_width",
    "images_for_margin",
    "images_for_share",
    "images_per_group",
    "independent_difference",
    "independent_disagreement",
    "influence_effects",
    "interval_p_value",
    "jeffreys",
    "judgments_needed",
    "kappa_interval",
    "kappa_sizes",
    "kendall",
    "kendall_matrix",
    "krippendorff_alpha",
    "largest_covariance",
    "least_expected_coverage",
    "lower_share_p_values",
    "lowest_candidates",
    "macro_f1",
    "mark_simultaneous",
    "mcnemar",
    "mcnemar_all_pairs",
    "mcnemar_exact",
    "mcnemar_power",
    "mean_auroc",
    "median_change",
    "newcombe_bounds",
    "noise_on_scale",
    "one_coin",
    "ordered_pairs",
    "paired_chi_square",
    "paired_difference",
    "paired_equivalence",
    "paired_share_difference",
    "pairwise_agreement",
    "partial_review",
    "pearson",
    "pearson_matrix",
    "proportion",
    "proportions",
    "quantile",
    "range_ratio",
    "rank_errors",
    "rank_intervals",
    "rank_intervals_from_counts",
    "rank_ranges",
    "ranks",
    "reliability_curve",
    "representatives",
    "reviewed_accuracy",
    "reviewer_accuracies",
    "reweighted_proportion",
    "ridge_logistic",
    "risk_coverage_area",
    "robust_pearson",
    "selective_risks",
    "share_design_effect",
    "share_difference",
    "share_noise",
    "share_range",
    "shown_above",
    "significantly_below",
    "simultaneous_proportions",
    "slope_deviation",
    "slope_difference",
    "slope_noise",
    "slope_ratio",
    "smallest_difference",
    "smallest_disparity",
    "smallest_passing_gain",
    "smallest_share",
    "spearman",
    "spearman_matrix",
    "spread_beyond_noise",
    "standardized_difference",
    "stratified_mean",
    "stratified_proportion",
    "subset_difference",
    "subset_effect",
    "subset_share",
    "two_way_mean",
    "undercoverage_p_value",
    "weighted_f1",
    "widen_for_comparisons",
    "wilson",
    "worst_share",
]

_HOME = {
    "regrade.stats.adaptive": "adaptive_level better_p_value smallest_passing_gain",
    "regrade.stats.agreement": (
        "covariance_interval covariance_sizes fleiss_kappa kappa_interval kappa_sizes krippendorff_alpha "
        "pairwise_agreement"
    ),
    "regrade.stats.annotators": "AnnotatorModel VoteArrays dawid_skene identified one_coin reviewer_accuracies",
    "regrade.stats.auroc": "ErrorRanking auroc_difference mean_auroc rank_errors",
    "regrade.stats.balanced_proportions": "balanced_proportion",
    "regrade.stats.calibration_errors": "calibration_error",
    "regrade.stats.chi_square_tests": "ChiSquare PairedChiSquare chi_square paired_chi_square",
    "regrade.stats.class_resampling": "ClassBootstrap class_bootstrap",
    "regrade.stats.clustered_pairs": (
        "clustered_best_share clustered_share design_effect design_effects paired_share_difference share_design_effect"
    ),
    "regrade.stats.clusters": "Clusters cluster components representatives",
    "regrade.stats.confidence_gaps": "ReliabilityPoint confidence_gap reliability_curve",
    "regrade.stats.confidence_sequences": "RandomOrder anytime_accuracy anytime_estimate confidence_sequence",
    "regrade.stats.conformal_coverage": "least_expected_coverage undercoverage_p_value",
    "regrade.stats.correlation": (
        "Correlations binned_correlation kendall kendall_matrix pearson pearson_matrix robust_pearson "
        "spearman spearman_matrix"
    ),
    "regrade.stats.cross_fitting": "cluster_folds cross_fitted_auc",
    "regrade.stats.error_correlation": "biserial_correlations error_correlations",
    "regrade.stats.f1": "FEWEST_PER_CLASS clustered_f1_scores f1_scores macro_f1 weighted_f1",
    "regrade.stats.finite_population": "finite_share",
    "regrade.stats.shares_of_groups": (
        "GroupShares extremes_differ group_shares range_ratio share_difference share_noise share_range "
        "shown_above smallest_share"
    ),
    "regrade.stats.independent": (
        "difference_of_samples fisher_exact independent_difference interval_p_value newcombe_bounds subset_effect"
    ),
    "regrade.stats.influence": "influence_effects",
    "regrade.stats.intervals": "Intervals Ratio clopper_pearson jeffreys proportion proportions quantile wilson",
    "regrade.stats.line_fit": "Band LineFit Scale bootstrap_line bootstrap_lines fit_line fit_lines",
    "regrade.stats.logistic": "LogisticFit ridge_logistic",
    "regrade.stats.means": (
        "absolute_mean bounded_mean clustered_mean reweighted_proportion stratified_mean stratified_proportion"
    ),
    "regrade.stats.median_changes": "median_change",
    "regrade.stats.model_effects": "MeasuredModels attribute_effect",
    "regrade.stats.multiplicity": (
        "benjamini_hochberg bonferroni_confidence holm holm_threshold mark_simultaneous "
        "simultaneous_proportions widen_for_comparisons"
    ),
    "regrade.stats.noisy_line": "MIN_SPREAD NoisyLine fit_noisy_line noise_on_scale spread_beyond_noise",
    "regrade.stats.paired": (
        "McNemar PairTests corrected_difference discordant_counts exclusive_difference mcnemar "
        "mcnemar_all_pairs mcnemar_exact paired_difference paired_equivalence"
    ),
    "regrade.stats.partial_reviews": "PartialReview judgments_needed partial_review reviewed_accuracy",
    "regrade.stats.permutation": "PermutationTest compare_categories compare_numbers",
    "regrade.stats.power": (
        "disparity_power half_width_power images_for_difference images_for_half_width images_for_margin "
        "images_for_share images_per_group independent_disagreement mcnemar_power ordered_pairs "
        "smallest_difference smallest_disparity"
    ),
    "regrade.stats.ranking": "Ranks rank_intervals rank_intervals_from_counts rank_ranges ranks",
    "regrade.stats.sampled_shares": "EffectiveImages SampledShares effective_images",
    "regrade.stats.selection": (
        "agreeing_with_test align_with_test below_others_p_values best_share lower_share_p_values "
        "lowest_candidates significantly_below worst_share"
    ),
    "regrade.stats.selective": (
        "CertifiedThreshold certified_threshold excess_area risk_coverage_area selective_risks"
    ),
    "regrade.stats.slopes": "slope_deviation slope_difference slope_noise slope_ratio",
    "regrade.stats.standardized": "standardized_difference",
    "regrade.stats.subset_shares": "subset_difference subset_share",
    "regrade.stats.two_way": "accuracy_covariance accuracy_variance largest_covariance two_way_mean",
}

if not TYPE_CHECKING:  # type checkers then find misspelled names
    __getattr__, __dir__ = lazy_names(globals(), _HOME)
