"""Tests of multi-label accuracy, averaged over images and over classes."""

import json
from statistics import mean

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import InputError, UndefinedError
from regrade.metrics import MultilabelRule
from regrade.stats import balanced_proportion, proportion
from regrade.studies import multilabel_accuracy

IMAGES, CLASSES = MultilabelRule.IMAGES, MultilabelRule.CLASSES
BOTH_RULES = pytest.mark.parametrize("rule", MultilabelRule)


def test_multilabel_accuracy_is_a_mean_over_images_or_over_classes():
    right = np.array([True, True, True, False, False])
    scored, originals = np.ones(5, bool), np.array([1, 1, 1, 1, 5])
    assert multilabel_accuracy(right, scored, originals, rule=IMAGES) == proportion(3, 5)
    by_class = multilabel_accuracy(right, scored, originals, rule=CLASSES, confidence=0.9)
    assert by_class == balanced_proportion(right, originals, confidence=0.9)[0]
    assert by_class.value == pytest.approx((3 / 4 + 0 / 1) / 2)


def test_multilabel_accuracy_over_few_unequal_classes_covers():
    rng, classes = np.random.default_rng(0), np.repeat([0, 1], [95, 5])
    scored = np.ones(100, dtype=bool)
    estimates = [multilabel_accuracy(rng.random(100) < 0.97, scored, classes, rule=CLASSES) for _ in range(1000)]
    assert np.mean([estimate.low <= 0.97 <= estimate.high for estimate in estimates]) >= 0.935


def test_multilabel_accuracy_ignores_classes_without_a_scored_image():
    right = np.array([True, False, True, True])
    scored = np.array([True, True, True, False])
    accuracy = multilabel_accuracy(right, scored, np.array([3, 3, 8, 9]), rule=CLASSES)
    assert (accuracy.value, accuracy.n) == (pytest.approx((1 / 2 + 1) / 2), 3)


def test_multilabel_accuracy_with_one_image_per_class_is_a_mean_over_images():
    right, scored, originals = np.array([True, False, True]), np.ones(3, bool), np.array([7, 2, 4])
    assert multilabel_accuracy(right, scored, originals, rule=CLASSES) == proportion(2, 3)


@BOTH_RULES
def test_multilabel_accuracy_without_a_scored_image_is_undefined(rule):
    nothing = np.zeros(3, bool)
    with pytest.raises(UndefinedError, match="no image is scored"):
        multilabel_accuracy(nothing, nothing, np.zeros(3, int), rule=rule)


def test_multilabel_accuracy_over_classes_needs_an_original_label_per_scored_image():
    right, scored, originals = np.array([True, False]), np.ones(2, bool), np.array([4, -1])
    assert multilabel_accuracy(right, scored, originals, rule=IMAGES).value == 0.5
    with pytest.raises(InputError, match="no original label"):
        multilabel_accuracy(right, scored, originals, rule=CLASSES)
    assert multilabel_accuracy(right, originals >= 0, originals, rule=CLASSES).value == 1


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 4)), min_size=1, max_size=25),
    st.sampled_from(MultilabelRule),
)
@settings(deadline=None, max_examples=200)
def test_multilabel_accuracy_is_a_plain_loop_over_images(images, rule):
    right, scored, originals = (np.array(column) for column in zip(*images, strict=True))
    by_class = {}
    for is_right, is_scored, original in images:
        if is_scored:
            by_class.setdefault(original, []).append(is_right)
    if not by_class:
        with pytest.raises(UndefinedError):
            multilabel_accuracy(right, scored, originals, rule=rule)
        return
    everything = [is_right for own in by_class.values() for is_right in own]
    expected = mean(everything) if rule is IMAGES else mean(mean(own) for own in by_class.values())
    accuracy = multilabel_accuracy(right, scored, originals, rule=rule)
    assert (accuracy.value, accuracy.n) == (pytest.approx(expected), len(everything))
    assert 0 <= accuracy.low <= accuracy.value + 1e-12 and accuracy.value - 1e-12 <= accuracy.high <= 1


@pytest.mark.parametrize(("model", "percent"), [("resnet50", 82.96), ("pnasnet_large_tf", 87.70)])
def test_multilabel_accuracy_of_published_predictions_is_real_accuracy(published, model, percent):
    """ReaL: entry i belongs to ILSVRC2012_val_{i+1:08d}; images with an empty list are excluded."""
    lists = json.loads((published / "real" / "real.json").read_text())
    table = pq.read_table(published / "recht2019" / "imagenet-val.top5.parquet", columns=["image", "wnid", model])
    top5 = table[model].combine_chunks().flatten().to_numpy().reshape(-1, 5)
    numbers = [int(name[len("ILSVRC2012_val_") : -len(".JPEG")]) for name in table["image"].to_pylist()]
    own = [lists[number - 1] for number in numbers]
    right = np.array([top1 in classes for top1, classes in zip(top5[:, 0], own, strict=True)])
    originals = np.unique(table["wnid"].to_pylist(), return_inverse=True)[1]
    accuracy = multilabel_accuracy(right, np.array([bool(classes) for classes in own]), originals, rule=IMAGES)
    assert (100 * accuracy.value, accuracy.n) == (pytest.approx(percent, abs=0.005), 46_837)
