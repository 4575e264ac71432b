"""The study of classes on images of households: single images, copies, and a bootstrap of households."""

import numpy as np
import pytest
from all_estimates import all_estimates
from clustered_oracle import korn_graubard
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.calibration.coverage_clustered_classes import graded
from regrade.core import ClassSpace
from regrade.stats import balanced_proportion, clustered_f1_scores, macro_f1
from regrade.studies import PredictedClasses, class_study, findings

SPACE = ClassSpace("simulated", tuple("abcd"))


def studied(labels, classes, clusters=None, most=3):
    return class_study("photos", SPACE, [PredictedClasses("model", labels, classes, clusters)], most=most)


def bounds(study):
    (row,) = study.averages
    of_classes = [(cell.precision, cell.recall, cell.f1) for cell in sorted(study.rows, key=lambda cell: cell.class_id)]
    averages = row.accuracy, row.balanced_accuracy, row.macro_precision, row.macro_f1, row.weighted_f1
    parts = [*(part for cells in of_classes for part in cells), *averages, *(pair.share for pair in study.pairs)]
    return np.array([(part.value, part.low, part.high) for part in parts if part])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 9999))
def test_clusters_of_one_image_change_nothing(seed):
    rng = np.random.default_rng(seed)
    labels, classes, _ = graded(rng, 60, classes=4, apart=False)
    single = studied(labels, classes, rng.permutation(len(labels)))
    assert bounds(single) == pytest.approx(bounds(studied(labels, classes)))
    assert [part.headline for part in findings(single)] == [
        part.headline for part in findings(studied(labels, classes))
    ]


def test_images_three_times_in_their_household_count_once():
    labels, classes, _ = graded(np.random.default_rng(1), 100, classes=4, apart=False)
    copies = np.repeat(np.arange(len(labels)), 3)
    once, copied = studied(labels, classes), studied(labels[copies], classes[copies], copies)
    assert bounds(copied) == pytest.approx(bounds(once), abs=0.005)
    assert bounds(studied(labels[copies], classes[copies])) != pytest.approx(bounds(once), abs=0.03)


def test_every_interval_is_over_households():
    result = studied(*graded(np.random.default_rng(5), 90, classes=4, apart=False))
    methods = {part.method for part in all_estimates(result)}
    assert len(methods) >= 5 and all("clustered" in method for method in methods)


def test_recall_is_that_of_korn_and_graubard():
    labels, classes, clusters = graded(np.random.default_rng(2), 80, classes=4, apart=False)
    row = next(row for row in studied(labels, classes, clusters).rows if row.name == "a")
    own = labels == 0
    expected = korn_graubard(classes[own] == 0, clusters[own], 1 - 0.05 / 4)
    assert (row.recall.value, row.recall.low, row.recall.high) == pytest.approx(expected)
    assert row.recall.method == "clustered korn-graubard, 4 together 95%"


@pytest.mark.parametrize("apart", [True, False])
def test_widths_are_those_of_a_bootstrap_of_households(apart):
    """Within 25 % of a normal interval with the bootstrap's standard error, and wider than for independent images."""
    rng = np.random.default_rng(4)
    labels, classes, clusters = graded(rng, 500, classes=4, apart=apart)
    places = [np.flatnonzero(clusters == number) for number in range(500)]
    drawn = [np.concatenate([places[part] for part in rng.integers(0, 500, 500)]) for _ in range(200)]
    measures = {
        "macro F1": lambda take, numbers: macro_f1(labels[take], classes[take], numbers),
        "balanced": lambda take, numbers: balanced_proportion(labels[take] == classes[take], labels[take], numbers)[0],
    }
    everything = np.arange(len(labels))
    for measure in measures.values():
        clustered = measure(everything, clusters)
        error = np.std([measure(take, None).value for take in drawn])
        assert 0.9 < clustered.half_width / (1.96 * error) < 1.4
        assert clustered.half_width > 1.3 * measure(everything, None).half_width
    f1 = clustered_f1_scores(labels, classes, clusters)[0]
    error = np.std([clustered_f1_scores(labels[take], classes[take], np.arange(len(take)))[0].value for take in drawn])
    assert 0.85 < f1.half_width / (1.96 * error) < 1.25


def test_macro_f1_needs_clusters_of_each_class():
    labels = np.repeat([0, 1], 100)
    assert studied(labels, labels, np.arange(200)).averages[0].macro_f1 is not None
    few = studied(labels, labels, np.arange(200) // 10)
    assert few.averages[0].macro_f1 is None
    assert "fewer than 20 clusters of images per class" in few.averages_table().notes[1]


def test_single_household_says_nothing_of_others():
    labels = np.repeat([0, 1], 30)
    (row,) = studied(labels, labels, np.zeros(60, dtype=int)).averages
    assert (row.balanced_accuracy.low, row.balanced_accuracy.high) == (0.0, 1.0)
