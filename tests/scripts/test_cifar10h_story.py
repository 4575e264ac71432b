"""The story of selection on CIFAR-10H: accuracies by strategy are in the order of the paper; few answers bias."""

import numpy as np
import pytest
from loaded_script import loaded_script

SPLITS = 4


@pytest.fixture(scope="module")
def script():
    with loaded_script("cifar10h_story") as module:
        yield module


@pytest.fixture(scope="module")
def data(script, published):
    return script.Cifar10h.read(published)


def test_strategies_change_accuracy_in_the_order_of_the_paper(script, data):
    rows = [script.strategies(data, seed) for seed in range(SPLITS)]
    means = {name: np.mean([getattr(row, name) for row in rows]) for name in script.Strategies.__dataclass_fields__}
    assert means["lowest"] < means["reference"] < means["threshold"] < means["top"]
    assert means["matched"] == pytest.approx(means["reference"], abs=0.01)
    assert means["lowest"] < 0.82
    assert means["top"] > 0.95


def test_the_naive_bias_grows_as_workers_fall_and_the_correction_removes_most_of_it(script, data):
    means = {}
    for workers in (None, 10, 5):
        rows = [script.noise(data, workers, seed) for seed in range(SPLITS)]
        means[workers] = {name: np.mean([getattr(row, name) for row in rows]) for name in ("naive", "corrected")}
    assert means[5]["naive"] < means[10]["naive"] < means[None]["naive"]
    assert means[5]["naive"] < -0.008
    for own in means.values():
        assert abs(own["corrected"]) < 0.008


def test_with_three_answers_most_of_the_bias_is_removed_and_the_rest_is_named(script, data):
    rows = [script.noise(data, 3, seed) for seed in range(SPLITS)]
    naive, corrected = (np.mean([getattr(row, name) for row in rows]) for name in ("naive", "corrected"))
    assert naive < -0.012
    assert abs(corrected) < abs(naive) / 2
    assert min(row.unreachable for row in rows) > 3
    assert script.noise(data, None, 0).unreachable == 0


def test_the_change_of_frequency_is_estimated_from_the_answers_alone(script, data):
    rows = [script.noise(data, 5, seed) for seed in range(SPLITS)]
    estimated = np.mean([row.estimated_frequency_change for row in rows])
    true = np.mean([row.true_frequency_change for row in rows])
    assert estimated == pytest.approx(true, abs=0.01)
    assert true < -0.01
