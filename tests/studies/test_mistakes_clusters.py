"""The mistakes study on images of households: single images, copies, every interval over clusters, and tests."""

from dataclasses import replace

import mistake_world as world
import numpy as np
import pytest
from all_estimates import all_estimates, bounds
from mistake_world import B, predictions, studied

from benchmarks.calibration.households import alike, households
from regrade.core import MistakeAnnotations, MistakeCategory, Severity
from regrade.stats import chi_square, paired_chi_square
from regrade.studies.mistakes.categories import categories_of
from regrade.studies.mistakes.flow import change_between
from regrade.studies.mistakes.mistake_labels import MistakeList

PAIRS_OF_IMAGES = np.arange(12) // 2


def everything(clusters=None):
    """A study with reviews, decisions and a comparison."""
    return studied(frame=world.verdicts(), against=predictions("b", B), clusters=clusters)


def test_clusters_of_one_image_change_nothing():
    single, plain = everything({"dozen": np.arange(12)[::-1]}), everything()
    assert bounds(single) == pytest.approx(bounds(plain))
    for own, test in zip(single.categories.tests, plain.categories.tests, strict=True):
        assert own.test == test.test
        assert own.paired is None or own.paired.p_value == pytest.approx(test.paired.p_value)


def test_every_interval_is_over_clusters():
    result = everything({"dozen": PAIRS_OF_IMAGES})
    methods = {part.method for part in all_estimates(result)}
    assert len(all_estimates(result)) > 50 and all("clustered" in method for method in methods)
    assert [part.value for part in all_estimates(result)] == [part.value for part in all_estimates(everything())]


def test_every_table_says_what_the_clusters_are():
    result = replace(everything(), cluster_notes=("over clusters",))
    assert len(result.parts) > 5
    assert all(result.part(part).notes[-1] == "over clusters" for part in result.parts)
    assert "over clusters" in result.json_fields()["notes"]


def test_other_sets_have_their_own_clusters():
    elsewhere = world.review("a", [(1, "lynx", "FINE_GRAINED", "MAJOR"), (2, "wolf", "SPURIOUS", "MINOR")], "other")
    counts = categories_of(
        [world.REVIEW_A, elsewhere], {"other": PAIRS_OF_IMAGES}, home="dozen", confidence=0.95
    ).counts
    methods = {(count.review, part.method) for count in counts for part in all_estimates(count)}
    assert methods == {("a", "clopper-pearson 95%"), ("a on other", "clustered korn-graubard 95%")}


def annotated(rng, homes, copies=1):
    """A review of a model that errs on all images; categories are alike within households."""
    kinds = (alike(rng, homes, rows=1)[0] * 3).astype(int)
    images = np.repeat(np.arange(len(homes)), copies)
    categories, severities = list(MistakeCategory), (Severity.MAJOR, Severity.MINOR, Severity.MINOR)
    return MistakeAnnotations(
        "model", "set", len(images), 8, np.arange(len(images)), np.zeros(len(images), dtype=int),
        tuple(categories[kinds[image]] for image in images), tuple(severities[kinds[image]] for image in images),
        ("",) * len(images),
    )  # fmt: skip


def test_reviews_of_equal_models_rarely_differ():
    """Of the same images, and of other ones; without households both tests find differences too often."""
    rng, p_values = np.random.default_rng(0), []
    for _ in range(120):
        homes = households(rng, 40)
        first, second = annotated(rng, homes), annotated(rng, homes)
        for clusters in ({"set": homes}, None):
            test = categories_of([first, second], clusters, home="set", confidence=0.95).tests[0]
            p_values.append((test.test.p_value, test.paired.p_value))
    over, plain = ((np.array(p_values[start::2]) <= 0.05).mean(axis=0) for start in (0, 1))
    assert (over <= 0.09).all() and (plain > 0.2).all()


def test_copies_of_images_count_once():
    rng, homes = np.random.default_rng(1), np.arange(150)
    once = annotated(np.random.default_rng(2), homes)
    copied = annotated(np.random.default_rng(2), homes, copies=3)
    clusters = np.repeat(homes, 3)
    own, expected = (
        categories_of([review], numbers, home="set", confidence=0.95)
        for review, numbers in ((copied, {"set": clusters}), (once, None))
    )
    assert bounds(own) == pytest.approx(bounds(expected), abs=0.01)
    kinds = rng.integers(0, 3, (2, 150))
    paired, of_copies = paired_chi_square(*kinds), paired_chi_square(*kinds.repeat(3, axis=1), clusters)
    assert (of_copies.statistic, of_copies.freedom) == (pytest.approx(paired.statistic), paired.freedom)
    assert chi_square([[60, 90], [30, 120]], effect=3.0).p_value == pytest.approx(
        chi_square([[20, 30], [10, 40]]).p_value
    )
    assert chi_square([[60, 90], [30, 120]], effect=3.0).n == 300


def test_fixed_mistakes_are_over_households():
    homes = np.arange(60) // 6
    against = MistakeList("old", np.arange(60), np.zeros(60, dtype=int))
    left = MistakeList("new", np.flatnonzero(homes % 3 == 0), np.zeros(24, dtype=int))
    wide, narrow = (change_between(left, against, numbers, confidence=0.95) for numbers in (homes, None))
    assert wide.fixed_share.value == narrow.fixed_share.value == 36 / 60
    assert wide.fixed_share.half_width > 1.8 * narrow.fixed_share.half_width


def test_single_household_says_nothing_of_others():
    share = everything({"dozen": np.zeros(12, dtype=int)}).flows[0].after.over_images
    assert (share.low, share.high) == (0.0, 1.0)
