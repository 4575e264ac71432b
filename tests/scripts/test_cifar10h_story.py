"""The story of selection on CIFAR-10H: accuracies by strategy are in the order of the paper; few answers bias."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SPLITS = 4


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("cifar10h_story", ROOT / "scripts" / "cifar10h_story.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


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


def test_the_change_of_frequency_is_estimated_from_the_answers_alone(script, data):
    rows = [script.noise(data, 5, seed) for seed in range(SPLITS)]
    estimated = np.mean([row.estimated_frequency_change for row in rows])
    true = np.mean([row.true_frequency_change for row in rows])
    assert estimated == pytest.approx(true, abs=0.01)
    assert true < -0.01
