"""The forecast of candidates: values by hand, an independent sum, a simulation, and the step."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regrade
from regrade.build.exchange import tile_name
from regrade.build.files import TaskCollection
from regrade.build.forecast import BinForecast, candidates_needed, forecast
from regrade.core import ClassSpace, InputError


def enough(missing, hits, count, further):
    """The probability of enough hits, summed term by term with log gamma functions."""

    def log_beta(a, b):
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)

    a, b = hits + 0.5, count - hits + 0.5
    terms = (
        math.log(math.comb(further, k)) + log_beta(k + a, further - k + b) - log_beta(a, b)
        for k in range(missing, further + 1)
    )
    return math.fsum(map(math.exp, terms))


def test_candidates_needed_by_hand():
    assert candidates_needed(1, 0, 0, 0.9, prior=1) == 9  # m / (m + 1) >= 0.9
    assert candidates_needed(1, 0, 1, 0.5, prior=1) == 2  # 1 - 2 / (m + 2) >= 0.5
    assert candidates_needed(0, 0, 5, 0.9) == candidates_needed(-3, 5, 5, 0.9) == 0
    assert candidates_needed(2, 10**6, 10**6, 0.9) == 2
    assert candidates_needed(5, 0, 10**6, 0.9) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(0, 20), st.integers(0, 20), st.sampled_from([0.025, 0.5, 0.9]))
def test_candidates_needed_are_the_fewest_that_suffice(missing, hits, rest, probability):
    needed = candidates_needed(missing, hits, hits + rest, probability)
    if needed is not None and needed <= 300:
        assert enough(missing, hits, hits + rest, needed) >= probability - 1e-9
        assert enough(missing, hits, hits + rest, needed - 1) < probability + 1e-9


def test_candidates_needed_cover_a_simulated_collection():
    generator = np.random.default_rng(0)
    shares = generator.beta(6.5, 14.5, 20000)  # the posterior of 6 of 20
    until_full = generator.negative_binomial(4, shares) + 4
    for probability in (0.025, 0.5, 0.975):
        needed = candidates_needed(4, 6, 20, probability)
        assert np.mean(until_full <= needed) >= probability - 0.012
        assert np.mean(until_full <= needed - 1) < probability + 0.012


def test_forecast_compares_bins_with_the_targets_of_matched_frequency():
    rows = forecast(
        {"cat": [0, 0, 5, 0, 15]}, {"cat": [0, 0, 10, 0, 10], "dog": [0] * 5}, per_class=20, confidence=0.95
    )
    needed, low, high = (candidates_needed(5, 5, 20, probability) for probability in (0.5, 0.025, 0.975))
    assert rows == (
        BinForecast("cat", "[0.4, 0.6)", 10, 5, 20, needed, low, high),
        BinForecast("cat", "[0.8, 1]", 10, 15, 20, 0, 0, 0),
    )
    assert low < needed < high
    assert [row.missing for row in rows] == [5, 0]


def test_forecast_of_a_class_without_candidates_is_wide():
    (row,) = forecast({}, {"cat": [0, 0, 20, 0, 0]}, per_class=10, confidence=0.95)
    assert (row.available, row.annotated, row.needed_low) == (0, 0, 10)
    assert row.needed_high > 1000


def test_forecast_step_reads_the_answers_of_a_build(tmp_path):
    workspace = regrade.init(tmp_path / "workspace")
    space = ClassSpace("pets", ("cat",))
    for name, count in (("pool", 8), ("val", 4)):
        table = tmp_path / f"{name}.csv"
        table.write_text("id,label\n" + "".join(f"{name}{number},cat\n" for number in range(count)))
        workspace.testsets.add(name, table, classes=space)
    workspace.build.tasks("v2", "pool", "val", tiles=12, positives=4, negatives=0, workers=2, annotated=0)
    stored = TaskCollection(workspace.store.root).read("v2")
    (task,) = stored.tasks
    chosen = {"ann": ("val0", "val1", "val2", "val3", "pool0", "pool1"), "bob": ("val0", "val1", "pool0")}
    names = {image: tile_name(task, image, key=stored.digest) for images in chosen.values() for image in images}
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(
            json.dumps({"task": task.id, "worker": worker, "selected": [names[image] for image in images]}) + "\n"
            for worker, images in chosen.items()
        )
    )
    with pytest.raises(InputError, match="has no answers yet"):
        workspace.build.forecast("v2")
    workspace.build.answers("v2", answers)
    result = workspace.build.forecast("v2", per_class=4, min_answers=2)
    assert [(row.bin, row.target, row.available, row.annotated) for row in result.bins] == [
        ("[0.4, 0.6)", 2, 1, 8),
        ("[0.8, 1]", 2, 1, 8),
    ]
    assert result.short_classes == ("cat",)
    assert result.table().title == "v2: 1 class lacks candidates for 4 images per class"
    assert len(result.table().rows) == 2
    with pytest.raises(InputError, match="no reference image of v2 has 10 answers yet"):
        workspace.build.forecast("v2")


@pytest.mark.parametrize(("hits", "count", "probability"), [(3, 2, 0.5), (-1, 2, 0.5), (1, 2, 1.0)])
def test_candidates_needed_rejects_impossible_counts(hits, count, probability):
    with pytest.raises(InputError, match="impossible"):
        candidates_needed(1, hits, count, probability)
