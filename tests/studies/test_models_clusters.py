"""Trends over models whose images come in households: one image each, every image twice, and no trend."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.calibration.households import correct_in_households, households
from benchmarks.calibration.worlds import correct_predictions, counted
from regrade.core import ModelAttributes
from regrade.studies.models.analysis import ModelSets, model_trends

ACCURACIES = np.linspace(0.5, 0.85, 8)
YEARS = [2013, 2012, 2015, 2014, 2016, 2018, 2017, 2019]


def studied(new, old, years=YEARS):
    stated = {name: ModelAttributes(year=year) for name, year in zip(new.models, years, strict=True)}
    return model_trends(ModelSets(new, old), stated)


def bounds(result):
    slopes = [(row.slope.value, row.slope.low, row.slope.high) for row in result.trends]
    return slopes + [(row.accuracy.value, row.accuracy.low, row.accuracy.high) for row in result.models]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 9999))
def test_clusters_of_one_image_change_nothing(seed):
    rng = np.random.default_rng(seed)
    old, new = (correct_predictions(rng, ACCURACIES, images=300) for _ in range(2))
    order = rng.permutation(300)
    single = bounds(studied(counted("new", new, order), counted("old", old, order)))
    plain = bounds(studied(counted("new", new), counted("old", old)))
    assert np.array(single) == pytest.approx(np.array(plain))


def test_images_twice_in_their_household_count_once():
    rng, twice = np.random.default_rng(1), np.arange(1200) // 2
    old, new = (correct_predictions(rng, ACCURACIES, images=600) for _ in range(2))
    once = studied(counted("new", new), counted("old", old))
    double = studied(*(counted(name, row[:, twice], twice) for name, row in (("new", new), ("old", old))))
    assert np.array(bounds(double)) == pytest.approx(np.array(bounds(once)), abs=0.002)
    assert "models and clusters of images" in double.trends[0].slope.method


def test_no_trend_is_rarely_claimed():
    """Early models err on the same households, late ones on others, and all are as accurate."""
    rng, years = np.random.default_rng(5), [2012, 2013, 2014, 2015, 2022, 2023, 2024, 2025]
    covered = []
    for _ in range(300):
        homes = households(rng, 60)
        right = np.concatenate([correct_in_households(rng, np.full(4, 0.7), homes) for _ in range(2)])
        trends = [studied(counted("new", right, part), None, years).trends for part in (homes, None)]
        covered.append([row.slope.low <= 0 <= row.slope.high for (row,) in trends])
    clustered, plain = np.mean(covered, axis=0)
    assert clustered >= 0.93 and plain < 0.88
