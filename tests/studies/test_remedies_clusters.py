"""Effective robustness of interventions over households: one image each, every image twice, and coverage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from benchmarks.calibration.households import alike, households
from benchmarks.calibration.null_remedies import compared_interventions
from regrade.core import UndefinedError
from regrade.studies.geography.group_frame import ModelCorrectness
from regrade.studies.image_clusters import ImageClusters
from regrade.studies.remedies.effective import accuracy_counts, with_effective_robustness
from regrade.studies.seeded_methods import SeededMethod, paired_methods

STANDARD = tuple(f"standard-{place}" for place in range(6))
PAIR = paired_methods(SeededMethod("base-0", {"": "base-0"}), SeededMethod("modified-0", {"": "modified-0"}))
MODELS = (*STANDARD, "base-0", "modified-0")
ACCURACIES = np.linspace(0.6, 0.85, len(MODELS))
SHIFTED = special.expit(special.logit(ACCURACIES) - 0.5)


def counts_of(name, correct, clusters):
    everywhere = np.ones(correct.shape[1], dtype=bool)
    rows = [ModelCorrectness(model, row, everywhere, "") for model, row in zip(MODELS, correct, strict=True)]
    column = None if clusters is None else ImageClusters("household", clusters, np.zeros(len(clusters), dtype=bool))
    return accuracy_counts(name, rows, column)


def effective(old, new, clusters):
    """The effective robustness of the intervention on the new set; its base model is one of the standard ones."""
    result = compared_interventions(np.stack([old[-2:-1], old[-1:]]), split=old.shape[1] - 60, in_slice=0)
    counts = [counts_of(*part) for part in zip(("old", "new"), (old, new), clusters, strict=True)]
    rows = with_effective_robustness(result, counts, [PAIR], (*STANDARD, "base-0")).rows
    return next(row.effective.remedied for row in rows if row.effective)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 9999))
def test_clusters_of_one_image_change_nothing(seed):
    rng = np.random.default_rng(seed)
    old, new = (rng.random((len(MODELS), 300)) < part[:, None] for part in (ACCURACIES, SHIFTED))
    single = effective(old, new, (rng.permutation(300), rng.permutation(300)))
    plain = effective(old, new, (None, None))
    assert (single.value, single.low, single.high, single.n) == (plain.value, plain.low, plain.high, plain.n)


def test_images_twice_in_their_household_count_once():
    rng, twice = np.random.default_rng(1), np.arange(4000) // 2
    old, new = (rng.random((len(MODELS), 2000)) < part[:, None] for part in (ACCURACIES, SHIFTED))
    once, double = effective(old, new, (None, None)), effective(old[:, twice], new[:, twice], (twice, twice))
    assert (double.value, double.low, double.high) == pytest.approx((once.value, once.low, once.high), abs=1e-3)
    assert double.n == 2 * once.n and double.method == f"clustered {once.method}"


def test_only_the_shifted_set_has_households():
    rng = np.random.default_rng(2)
    homes = households(rng, 80)
    old = rng.random((len(MODELS), 500)) < ACCURACIES[:, None]
    new = alike(rng, homes, rows=len(MODELS)) < SHIFTED[:, None]
    wide, narrow = effective(old, new, (None, homes)), effective(old, new, (None, None))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_a_single_household_is_refused():
    correct = np.eye(len(MODELS), dtype=bool)
    with pytest.raises(UndefinedError, match="of one household, which says nothing of others; --clusters none"):
        counts_of("new", correct, np.zeros(len(MODELS), dtype=np.int64))


def test_an_intervention_without_effect_is_covered():
    """An intervention on the line, with errors of its own in 40 households on each set."""
    rng, covered = np.random.default_rng(3), []
    for _ in range(300):
        sides = [households(rng, 40) for _ in range(2)]
        rights = [
            alike(rng, side, rows=len(MODELS)) < part[:, None]
            for part, side in zip((ACCURACIES, SHIFTED), sides, strict=True)
        ]
        intervals = [effective(*rights, clusters) for clusters in (sides, (None, None))]
        covered.append([interval.low <= 0 <= interval.high for interval in intervals])
    clustered, plain = np.mean(covered, axis=0)
    assert clustered >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / 300) and plain < 0.91
