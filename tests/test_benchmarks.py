"""Every benchmark can be imported; those that need no server or published data run at small sizes."""

import json
from importlib import import_module
from unittest import mock

import numpy as np
import pytest

from benchmarks import gpu_readme, head, synthetic
from benchmarks.__main__ import _NAMES
from benchmarks.result import Result

SMALL = {
    "mcnemar": {"_SAMPLE": 10, "correct_matrix": lambda: synthetic.correct_matrix(8, 400)},
    "intervals": {
        "_SAMPLE": 5,
        "_COUNT": 50,
        "workloads": lambda rng: [("few counts", rng.integers(0, 101, 50), np.full(50, 100))],
    },
    "build": {"_CLASSES": 3, "_CANDIDATES": 90, "_REFERENCES": 40, "_CROWD": 25, "_LOWEST": 0.3, "_ROUNDS": 1},
    "neighbors": {"_QUERIES": 20, "_REFERENCES": 200, "_WIDTH": 16, "_ROUNDS": 1},
}
"""Sizes that take less than a second, by benchmark."""


@pytest.mark.parametrize("name", _NAMES)
def test_benchmark_has_a_title_and_a_run(name):
    module = import_module(f"benchmarks.{name}")
    assert module.__doc__ and callable(module.run)


@pytest.mark.parametrize("name", SMALL)
def test_small_benchmark_runs_and_agrees_with_its_baseline(name):
    module = import_module(f"benchmarks.{name}")
    with mock.patch.multiple(module, **SMALL[name]):
        results = list(module.run())
    assert all(isinstance(result, Result) and result.benchmark == name for result in results)
    assert results or name == "neighbors"  # faiss is optional


def test_small_head_reaches_the_objective_of_scikit_learn():
    results = list(head.run(head.HeadCase(200, 8, 4, iterations=20)))
    assert len(results) == 2 and all(result.ratio is not None for result in results)


def test_the_section_on_gpus_is_that_of_the_committed_results():
    text, rows = gpu_readme.README.read_text(), json.loads(gpu_readme.RESULTS.read_text())
    assert gpu_readme.with_section(text, rows) == text
    assert text.count(f"| {rows[0]['case']} |") == sum(row["case"] == rows[0]["case"] for row in rows)
