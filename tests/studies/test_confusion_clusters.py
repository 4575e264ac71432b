"""The study of confusion on images of households: single images, copies, bootstraps of households, wider intervals."""

from dataclasses import replace

import numpy as np
import pytest
from all_estimates import all_estimates, bounds
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from benchmarks.calibration.coverage_clustered_confusion import normal_pairs, score_and_errors
from benchmarks.calibration.households import alike, households
from benchmarks.calibration.null_confusion import studied
from regrade.stats import (
    auroc_difference,
    biserial_correlations,
    error_correlations,
    kendall,
    mean_auroc,
    quantile,
    rank_errors,
    reweighted_proportion,
    robust_pearson,
)
from regrade.stats.correlation import _tau_influence
from regrade.studies.confusion.distribution import ScoreBins, error_curve
from regrade.studies.confusion.expected_error import (
    SetClusters,
    SetScores,
    agreement_lines,
    expected_by_confidence,
    expected_by_score,
    expected_by_threshold,
)
from regrade.studies.confusion.trends import _first_half


def world(images, seed):
    rng = np.random.default_rng(seed)
    unsure = rng.standard_normal(images)
    return unsure, rng.standard_normal((6, images)) + np.linspace(0.5, 1.5, 6)[:, None] > 0.7 * unsure


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 999))
def test_clusters_of_one_image_change_nothing(seed):
    unsure, right = world(120, seed)
    order = np.random.default_rng(seed).permutation(120)
    single, plain = (studied(np.random.default_rng(0), unsure, right, numbers) for numbers in (order, None))
    assert bounds(single.models) == pytest.approx(bounds(plain.models))
    for part in ("distribution", "agreements", "fewer", "ranking", "rivals", "strides"):
        assert bounds(getattr(single, part)) == pytest.approx(bounds(getattr(plain, part)), abs=1e-4)


def test_images_three_times_in_their_household_count_once():
    (unsure, right), copies = world(300, 1), np.repeat(np.arange(300), 3)
    once, copied, plain = (
        studied(np.random.default_rng(0), unsure[take], right[:, take], numbers)
        for take, numbers in ((np.arange(300), None), (copies, copies), (copies, None))
    )
    for part in ("models", "rivals", "strides"):  # rivals with labels see random ones, other than those of copies
        rows = [[row for row in getattr(result, part) if not getattr(row, "uses_labels", False)]
                for result in (copied, once, plain)]  # fmt: skip
        own, expected, narrow = (bounds(part) for part in rows)
        widths, expected_widths, narrow_widths = (rows[:, 2] - rows[:, 1] for rows in (own, expected, narrow))
        varies = expected_widths > 0.01
        assert (widths[varies] > 0.7 * expected_widths[varies]).mean() > 0.97
        assert np.median(narrow_widths[varies] / expected_widths[varies]) < 0.7
        assert np.median(widths[varies] / expected_widths[varies]) == pytest.approx(1.0, abs=0.1)


def test_every_interval_over_images_is_over_households():
    """The ranking is over models."""
    homes = households(np.random.default_rng(14), 60)
    unsure, right = world(len(homes), 14)
    result = studied(np.random.default_rng(0), unsure, right, homes)
    methods = {part.method for part in all_estimates(replace(result, ranking=None, trends=None))}
    assert len(methods) > 5 and all("cluster" in method for method in methods)


def test_bounds_are_wider_in_households():
    rng = np.random.default_rng(2)
    homes = households(rng, 80)
    unsure, *hidden = alike(rng, homes, rows=7)
    right = np.stack(hidden) > 0.3
    wide, narrow = (studied(np.random.default_rng(0), unsure, right, numbers) for numbers in (homes, None))
    for row, plain in zip(wide.models, narrow.models, strict=True):
        assert row.error.value == plain.error.value
        assert row.error.half_width > 1.3 * plain.error.half_width
        assert row.transfer.rest.half_width > 1.3 * plain.transfer.rest.half_width
    assert wide.ranking.value == narrow.ranking.value and wide.ranking.high >= narrow.ranking.high
    assert "clustered korn-graubard" in wide.models[0].error.method
    assert "clustered newcombe" in wide.models[0].transfer.difference.method


BOOTSTRAPPED = {
    "r": lambda score, wrong, homes: robust_pearson(score, wrong[0], homes),
    "auroc": lambda score, wrong, homes: mean_auroc(rank_errors(score, wrong, clusters=homes)),
    "difference": lambda score, wrong, homes: auroc_difference(
        rank_errors(score, wrong, clusters=homes), rank_errors(score**2 + wrong[2] / 5, wrong, clusters=homes)
    ),
}


@pytest.mark.parametrize("name", BOOTSTRAPPED)
def test_widths_are_those_of_a_bootstrap_of_households(name):
    measure = BOOTSTRAPPED[name]
    score, wrong, homes = score_and_errors(np.random.default_rng(3), 250)
    rng, places = np.random.default_rng(4), [np.flatnonzero(homes == number) for number in range(250)]
    drawn = [np.concatenate([places[part] for part in rng.integers(0, 250, 250)]) for _ in range(150)]
    error = np.std([measure(score[take], wrong[:, take], None).value for take in drawn])
    clustered, plain = measure(score, wrong, homes), measure(score, wrong, None)
    assert 0.8 < clustered.half_width / (1.96 * error) < 1.35
    assert clustered.value == plain.value and clustered.half_width > 1.1 * plain.half_width
    assert clustered.method.startswith(("clustered", "paired clustered"))


def test_width_of_tau_is_that_of_a_bootstrap_of_households():
    x, y, homes = normal_pairs(np.random.default_rng(3), 250)
    rng, places = np.random.default_rng(4), [np.flatnonzero(homes == number) for number in range(250)]
    drawn = [np.concatenate([places[part] for part in rng.integers(0, 250, 250)]) for _ in range(150)]
    error = np.std([kendalltau(x[take], y[take]).statistic for take in drawn])
    clustered, plain = kendall(x, y, homes), kendall(x, y)
    assert 0.85 < clustered.half_width / (1.96 * error) < 1.3
    assert clustered.value == plain.value and clustered.half_width > 1.3 * plain.half_width


def test_influence_on_tau_is_that_of_leaving_a_pair_out():
    x, y, _ = normal_pairs(np.random.default_rng(5), 20)
    n, tau = len(x), kendalltau(x, y).statistic
    left_out = np.array([kendalltau(np.delete(x, i), np.delete(y, i)).statistic for i in range(n)])
    expected = (n - 2) / 2 * (tau - left_out)
    assert np.corrcoef(_tau_influence(x, y), expected)[0, 1] > 0.99


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_quantile_of_copies_is_that_of_the_values(share):
    values = np.sort(np.random.default_rng(6).exponential(size=80))
    plain, copied = quantile(values, share), quantile(np.repeat(values, 4), share, worth=80)
    assert (copied.low, copied.high) == (plain.low, plain.high)
    assert quantile(values, share, worth=80.0).low == plain.low


def test_single_household_says_nothing_of_others():
    score, wrong, homes = score_and_errors(np.random.default_rng(7), 30)
    same = np.zeros(len(homes), dtype=int)
    for estimate in (kendall(score, score + wrong[0], same), robust_pearson(score, wrong[0], same)):
        assert (estimate.low, estimate.high) == (-1.0, 1.0)
    expected = expected_by_confidence(score, same, confidence=0.95)
    assert (expected.low, expected.high) == (0.0, 1.0)
    assert reweighted_proportion(wrong[0], same, same, same).high == 1.0


@pytest.fixture(scope="module")
def sets():
    """A labeled and an unlabeled set of households: scores, errors and households of both."""
    rng = np.random.default_rng(8)
    return score_and_errors(rng, 60), score_and_errors(rng, 60)


class TestExpectedErrors:
    def test_clusters_of_one_image_change_nothing(self, sets):
        (score, wrong, _), (unlabeled, _, _) = sets
        single = SetClusters(np.arange(len(score))[::-1], np.arange(len(unlabeled)))
        for measure in (
            lambda numbers: expected_by_score(wrong[0], SetScores(score, unlabeled), numbers, confidence=0.9),
            lambda numbers: expected_by_threshold(wrong[0], score, unlabeled, numbers, confidence=0.9),
            lambda numbers: expected_by_confidence(score, numbers and numbers.labeled, confidence=0.9),
        ):
            ours, plain = measure(single), measure(None)
            assert (ours.value, ours.low, ours.high) == pytest.approx((plain.value, plain.low, plain.high))

    def test_households_widen_the_intervals(self, sets):
        (score, wrong, homes), (unlabeled, _, new_homes) = sets
        clusters = SetClusters(homes, new_homes)
        for measure in (
            lambda numbers: expected_by_score(wrong[0], SetScores(score, unlabeled), numbers, confidence=0.95),
            lambda numbers: expected_by_threshold(wrong[0], score, unlabeled, numbers, confidence=0.95),
            lambda numbers: expected_by_confidence(score, numbers and numbers.labeled, confidence=0.95),
        ):
            ours, plain = measure(clusters), measure(None)
            assert ours.value == plain.value and ours.half_width > 1.2 * plain.half_width
            assert ours.method.startswith("clustered")

    def test_line_is_bootstrapped_over_households(self):
        rng = np.random.default_rng(9)
        homes = [np.repeat(np.arange(40), 5) for _ in range(2)]
        hidden = [np.repeat(rng.random(40), 5) + 0.2 * rng.random(200) for _ in range(2)]
        skills = np.array([0.4, 0.6, 0.8, 1.0])[:, None]
        correct, right = (skills + 0.2 * rng.standard_normal((4, 200)) > part for part in hidden)
        classes, new_classes = (np.where(part, 0, rng.integers(1, 9, 200)) for part in (correct, right))
        wide, narrow = (
            agreement_lines(classes, correct, new_classes, rng=np.random.default_rng(0), clusters=numbers)
            for numbers in (SetClusters(*homes), None)
        )
        assert wide[1].half_width > 1.2 * narrow[1].half_width
        assert wide[1].method == "bootstrap of clusters 95%"


def test_covariances_of_correlations_are_those_of_households():
    score, wrong, homes = score_and_errors(np.random.default_rng(10), 200)
    counted = np.ones_like(wrong)
    copies = np.repeat(np.arange(len(score)), 3)
    for relation in (error_correlations, biserial_correlations):
        plain, single = relation(score, wrong, counted), relation(score, wrong, counted, np.arange(len(score)))
        assert single.noise == pytest.approx(plain.noise, abs=1e-9)
        copied = relation(score[copies], wrong[:, copies], counted[:, copies], copies)
        assert copied.noise == pytest.approx(plain.noise, rel=0.02, abs=1e-5)
        assert (np.diag(relation(score, wrong, counted, homes).noise) > 1.2 * np.diag(plain.noise)).all()


def test_halves_share_no_household():
    homes = households(np.random.default_rng(11), 50)
    first = _first_half(len(homes), homes)
    assert not set(homes[first]) & set(homes[~first]) and 0.3 < first.mean() < 0.7
    assert (_first_half(9, None) == (np.arange(9) % 2 == 0)).all()
    assert (_first_half(9, np.arange(9)) == _first_half(9, None)).all()


def test_correlation_over_bins_without_an_effect_is_unchanged():
    score, wrong, _ = score_and_errors(np.random.default_rng(12), 100)
    copies = np.repeat(np.arange(len(score)), 4)
    single, plain, copied = (
        error_curve(score[take], wrong[0][take], ScoreBins(0.1, 1.0), numbers, rng=rng, confidence=0.95)
        for take, numbers, rng in (
            (np.arange(len(score)), np.arange(len(score)), np.random.default_rng(0)),
            (np.arange(len(score)), None, np.random.default_rng(0)),
            (copies, copies, np.random.default_rng(0)),
        )
    )
    assert bounds(single) == pytest.approx(bounds(plain))
    assert bounds(copied.binned) == pytest.approx(bounds(plain.binned), abs=0.01)
