"""Statistics for accuracies: pure functions, vectorized over many models at once."""

from regrade.stats.absolute_mean import absolute_mean
from regrade.stats.agreement import fleiss_kappa, krippendorff_alpha, pairwise_agreement
from regrade.stats.binned_correlation import binned_correlation
from regrade.stats.bounded_mean import bounded_mean
from regrade.stats.calibration_error import calibration_error
from regrade.stats.chi_square import ChiSquare, PairedChiSquare, chi_square, paired_chi_square
from regrade.stats.class_bootstrap import ClassBootstrap, class_bootstrap
from regrade.stats.clusters import Clusters, cluster
from regrade.stats.components import components, keep_one_per_group
from regrade.stats.confidence_sequence import RandomOrder, anytime_accuracy, anytime_estimate, confidence_sequence
from regrade.stats.correlation import (
    Correlations,
    kendall,
    kendall_matrix,
    pearson,
    pearson_matrix,
    spearman,
    spearman_matrix,
)
from regrade.stats.equivalence import paired_equivalence
from regrade.stats.group_power import disparity_power, images_per_group, ordered_pairs, smallest_disparity
from regrade.stats.group_shares import (
    GroupShares,
    extremes_differ,
    group_shares,
    share_difference,
    share_noise,
    share_range,
    smallest_share,
)
from regrade.stats.independent import fisher_exact, independent_difference, subset_effect
from regrade.stats.intervals import Intervals, clopper_pearson, jeffreys, proportion, proportions, wilson
from regrade.stats.kappa import covariance_interval, kappa_interval
from regrade.stats.line_bootstrap import bootstrap_line, bootstrap_lines
from regrade.stats.line_fit import Band, LineFit, Scale, fit_line, fit_lines
from regrade.stats.means import clustered_mean, clustered_proportion, stratified_mean, stratified_proportion
from regrade.stats.multiplicity import (
    benjamini_hochberg,
    bonferroni_confidence,
    holm,
    holm_threshold,
    mark_simultaneous,
    widen_for_comparisons,
)
from regrade.stats.noisy_line import MIN_SPREAD, NoisyLine, fit_noisy_line, spread_beyond_noise
from regrade.stats.paired import (
    McNemar,
    PairTests,
    discordant_counts,
    exclusive_difference,
    mcnemar,
    mcnemar_all_pairs,
    mcnemar_exact,
    paired_difference,
)
from regrade.stats.partial_review import (
    PartialReview,
    judgments_needed,
    partial_review,
    reviewed_accuracy,
)
from regrade.stats.power import (
    images_for_difference,
    independent_disagreement,
    mcnemar_power,
    smallest_difference,
)
from regrade.stats.precision import half_width_power, images_for_half_width
from regrade.stats.quantiles import quantile
from regrade.stats.range_ratio import range_ratio
from regrade.stats.ranks import Ranks, rank_intervals, rank_intervals_from_counts, rank_ranges, ranks
from regrade.stats.ratio import Ratio
from regrade.stats.reweighted import reweighted_proportion
from regrade.stats.robust_pearson import robust_pearson
from regrade.stats.selection import (
    align_with_test,
    below_others_p_values,
    best_share,
    lower_share_p_values,
    lowest_candidates,
    significantly_below,
    worst_share,
)
from regrade.stats.slopes import slope_deviation, slope_difference, slope_noise, slope_ratio
from regrade.stats.two_way import accuracy_covariance, accuracy_variance, largest_covariance, two_way_mean

__all__ = [
    "MIN_SPREAD",
    "Band",
    "ChiSquare",
    "ClassBootstrap",
    "Clusters",
    "Correlations",
    "GroupShares",
    "Intervals",
    "LineFit",
    "McNemar",
    "NoisyLine",
    "PairTests",
    "PairedChiSquare",
    "PartialReview",
    "RandomOrder",
    "Ranks",
    "Ratio",
    "Scale",
    "absolute_mean",
    "accuracy_covariance",
    "accuracy_variance",
    "align_with_test",
    "anytime_accuracy",
    "anytime_estimate",
    "below_others_p_values",
    "benjamini_hochberg",
    "best_share",
    "binned_correlation",
    "bonferroni_confidence",
    "bootstrap_line",
    "bootstrap_lines",
    "bounded_mean",
    "calibration_error",
    "chi_square",
    "class_bootstrap",
    "clopper_pearson",
    "cluster",
    "clustered_mean",
    "clustered_proportion",
    "components",
    "confidence_sequence",
    "covariance_interval",
    "discordant_counts",
    "disparity_power",
    "exclusive_difference",
    "extremes_differ",
    "fisher_exact",
    "fit_line",
    "fit_lines",
    "fit_noisy_line",
    "fleiss_kappa",
    "group_shares",
    "half_width_power",
    "holm",
    "holm_threshold",
    "images_for_difference",
    "images_for_half_width",
    "images_per_group",
    "independent_difference",
    "independent_disagreement",
    "jeffreys",
    "judgments_needed",
    "kappa_interval",
    "keep_one_per_group",
    "kendall",
    "kendall_matrix",
    "krippendorff_alpha",
    "largest_covariance",
    "lower_share_p_values",
    "lowest_candidates",
    "mark_simultaneous",
    "mcnemar",
    "mcnemar_all_pairs",
    "mcnemar_exact",
    "mcnemar_power",
    "ordered_pairs",
    "paired_chi_square",
    "paired_difference",
    "paired_equivalence",
    "pairwise_agreement",
    "partial_review",
    "pearson",
    "pearson_matrix",
    "proportion",
    "proportions",
    "quantile",
    "range_ratio",
    "rank_intervals",
    "rank_intervals_from_counts",
    "rank_ranges",
    "ranks",
    "reviewed_accuracy",
    "reweighted_proportion",
    "robust_pearson",
    "share_difference",
    "share_noise",
    "share_range",
    "significantly_below",
    "slope_deviation",
    "slope_difference",
    "slope_noise",
    "slope_ratio",
    "smallest_difference",
    "smallest_disparity",
    "smallest_share",
    "spearman",
    "spearman_matrix",
    "spread_beyond_noise",
    "stratified_mean",
    "stratified_proportion",
    "subset_effect",
    "two_way_mean",
    "widen_for_comparisons",
    "wilson",
    "worst_share",
]
