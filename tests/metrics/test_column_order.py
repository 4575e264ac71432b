"""Reversed columns of top-k predictions: by hand, against scipy, false alarms, and the published files."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from regrade.classes import imagenet_1k
from regrade.metrics import FALSE_ALARMS, last_column_p_value, looks_reversed


def columns(hits):
    """Top-k classes of images labeled 0, with as many hits per column as given; all other classes are wrong."""
    labels_in = np.repeat(np.arange(len(hits)), hits)
    classes = np.arange(1, len(hits) + 1) + np.zeros((len(labels_in), 1), dtype=int)
    classes[np.arange(len(labels_in)), labels_in] = 0
    return classes, np.zeros(len(labels_in), dtype=int)


def test_p_value_by_hand():
    """The label is in the last column of all 4 images that have it in either of two: 1/16; of 4 of 5: 6/32."""
    assert last_column_p_value(*columns([0, 0, 4])) == 1 / 16
    assert last_column_p_value(*columns([0, 1, 4])) == 6 / 32


@given(st.lists(st.integers(0, 40), min_size=2, max_size=5).filter(lambda hits: sum(hits) > 0 and hits[-1] > 0))
def test_p_value_is_the_largest_of_exact_sign_tests(hits):
    expected = max(binomtest(hits[-1], own + hits[-1], 0.5, alternative="greater").pvalue for own in hits[:-1])
    assert last_column_p_value(*columns(hits)) == pytest.approx(expected)


@pytest.mark.parametrize("hits", [[7], [5, 3, 0], [0, 0, 0]])
def test_p_value_is_one_without_an_earlier_column_or_a_hit_in_the_last(hits):
    classes, labels = columns(hits) if any(hits) else (np.ones((4, 3), dtype=int), np.zeros(4, dtype=int))
    assert last_column_p_value(classes, labels) == 1
    assert not looks_reversed(classes, labels)


def test_reversed_columns_are_recognized_and_ordered_ones_are_not():
    classes, labels = columns([500, 200, 90, 60, 40])
    assert looks_reversed(classes[:, ::-1], labels)
    assert not looks_reversed(classes, labels)


def test_a_model_that_chose_the_images_by_failing_on_them_is_not_called_reversed():
    """Its first column is never right, its second most often: the last one is not the best."""
    assert not looks_reversed(*columns([0, 300, 150, 100, 80]))
    assert not looks_reversed(*columns([0, 300]))


def test_false_alarms_are_no_more_frequent_than_the_level():
    """The last two columns are equally accurate, the worst case: at a level of 5%, at most 5% are called."""
    draws, rng = 4_000, np.random.default_rng(0)
    hits = rng.multinomial(200, [0.0, 0.5, 0.5], draws)
    alarms = np.mean([last_column_p_value(*columns(row)) <= 0.05 for row in hits])
    assert 0.02 < alarms < 0.05
    assert FALSE_ALARMS == 1e-6


@pytest.mark.parametrize(
    ("name", "faulty"),
    [
        ("imagenet-val", []),
        ("imagenetv2-matched-frequency", ["fv_16k"]),
        ("imagenetv2-threshold-0.7", ["fv_16k"]),
        ("imagenetv2-top-images", ["fv_16k_model"]),
    ],
)
def test_published_files_with_reversed_columns_are_recognized(published, name, faulty):
    table, space = pq.read_table(published / "recht2019" / f"{name}.top5.parquet"), imagenet_1k()
    labels = np.array([space.index_of[wnid] for wnid in table["wnid"].to_pylist()])
    models = [model for model in table.column_names if model not in ("image", "wnid")]
    assert [model for model in models if looks_reversed(np.stack(table[model].to_numpy()), labels)] == faulty
