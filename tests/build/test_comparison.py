"""A pool compared with a reference set: planted differences are found, and equal sets are not told apart."""

import numpy as np
import pytest
from scipy import stats

from regrade.build.comparison import Conclusion, ImageSizes, ProfiledSet, compare_sets, in_classes_of
from regrade.core import UNLABELED, ClassSpace, InputError, TestSet

SPACE = ClassSpace("three", ("cat", "dog", "owl"))
RUNS, LEVEL, ALARM = 100, 0.05, 1e-4
FEW = 199
"""Permutations of a simulated comparison."""


def make_set(rng, name, images, *, authors=60, first_year=2010, licenses=(0.5, 0.5), width=500, space=SPACE):
    """Images of random authors; date, license, size and keyword depend on the author, as they do on the web."""
    author = rng.integers(0, authors, images)
    taste = rng.random((authors, 4))
    days = first_year * 365 + (taste[author, 0] * 600 + rng.random(images) * 120).astype(int)
    dates = np.datetime64("0000-01-01") + days
    widths = width * (1 + np.round(taste[author, 1], 1)) + 10 * rng.integers(0, 3, images)
    groups = {
        "author": tuple(f"{name} {number}" for number in author),
        "license": tuple(np.where(taste[author, 2] < licenses[0], "CC BY 2.0", "unknown").tolist()),
        "keyword": tuple(np.where(taste[author, 3] < 0.5, "young", "old").tolist()),
        "taken": tuple(str(day) for day in dates),
    }
    labels = rng.integers(0, len(space), images)
    sizes = {"width": widths, "height": widths * 0.75, "file bytes": widths**2 / 8}
    ids = tuple(f"{name}-{number}" for number in range(images))
    return ProfiledSet(TestSet(name, space, ids, labels, groups), ImageSizes(sizes))


def conclusions(comparison):
    return {row.name: row.conclusion for row in comparison.properties}


def without(profiled, *columns):
    """The same set without these columns."""
    old = profiled.test_set
    groups = {name: values for name, values in old.groups.items() if name not in columns}
    return ProfiledSet(TestSet(old.name, old.class_space, old.ids, old.labels, groups), profiled.sizes)


def test_equal_distributions_are_rarely_said_to_differ():
    """Any property, at most 5% of runs: sets of different size, and authors whose images are similar."""
    rng, alarms, naive = np.random.default_rng(0), 0, 0
    for _ in range(RUNS):
        pool, reference = make_set(rng, "pool", 240), make_set(rng, "reference", 120, authors=60)
        alarms += Conclusion.DIFFERS in conclusions(compare_sets(pool, reference, rng=rng, permutations=FEW)).values()
        single = compare_sets(without(pool, "author"), without(reference, "author"), rng=rng, permutations=FEW)
        naive += Conclusion.DIFFERS in conclusions(single).values()
    most = stats.binom.isf(ALARM, RUNS, LEVEL)
    assert alarms <= most
    assert naive > 2 * most  # the simulation can tell: without authors, images that depend on each other mislead


def test_planted_differences_are_found():
    rng = np.random.default_rng(1)
    pool = make_set(rng, "pool", 600, authors=200, first_year=2013, licenses=(0.9, 0.1), width=700)
    reference = make_set(rng, "reference", 400, authors=200)
    found_by_name = conclusions(compare_sets(pool, reference, rng=rng))
    assert {name for name, own in found_by_name.items() if own is Conclusion.DIFFERS} == {
        "taken", "width", "height", "file bytes", "license"
    }  # fmt: skip
    assert found_by_name["keyword"] is found_by_name["class"] is Conclusion.NOT_DETECTED
    assert found_by_name["uploaded"] is Conclusion.NOT_COMPARED


def test_few_prolific_authors_differ_from_many():
    rng = np.random.default_rng(2)
    pool, reference = make_set(rng, "pool", 900, authors=60), make_set(rng, "reference", 300, authors=250)
    assert conclusions(compare_sets(pool, reference, rng=rng))["images per author"] is Conclusion.DIFFERS


def test_a_larger_set_of_the_same_authors_does_not_differ():
    """Thinned to the same size, both have as many images per author; without, the larger has three times as many."""
    rng, alarms = np.random.default_rng(3), 0
    for _ in range(RUNS):
        pool, reference = make_set(rng, "pool", 300, authors=80), make_set(rng, "reference", 100, authors=80)
        properties = compare_sets(pool, reference, rng=rng, permutations=FEW).properties
        alarms += next(row for row in properties if row.name == "images per author").p_value <= LEVEL
    assert alarms <= stats.binom.isf(ALARM, RUNS, LEVEL)


def test_few_images_are_not_enough_to_tell():
    rng = np.random.default_rng(4)
    pool, reference = make_set(rng, "pool", 12), make_set(rng, "reference", 10)
    assert set(conclusions(compare_sets(pool, reference, rng=rng)).values()) == {
        Conclusion.TOO_FEW, Conclusion.NOT_COMPARED
    }  # fmt: skip


def test_rows_have_counts_shares_and_quantiles():
    labels = np.array([0, 0, 1, UNLABELED])
    groups = {
        "taken": ("2012-01-05", "2012-01-09", "2012-03-01", "2012-00-00"),
        "author": ("ann", "ann", "bob", "?"),
        "license": ("CC0", "", "CC0", "CC BY"),
    }
    sizes = ImageSizes({name: np.array([1.0, 2.0, 3.0, np.nan]) for name in ("width", "height", "file bytes")}, 1)
    pool = ProfiledSet(TestSet("pool", SPACE, tuple("abcd"), labels, groups), sizes)
    reference = ProfiledSet(TestSet("val", SPACE, tuple("efgh"), labels, groups), sizes)
    result = compare_sets(pool, reference, rng=np.random.default_rng(0))
    rows = {(row.name, row.value): row for row in result.values}
    assert (rows["taken", "2012-01"].pool, rows["taken", "2012-01"].pool_share) == (2, pytest.approx(2 / 3))
    assert rows["width", "50% quantile"].reference == 2
    assert rows["license", "(unknown)"].pool_share == 0.25
    assert rows["images per author", "authors"].pool == 2
    most = rows["images per author", "images of the most frequent author"]
    assert (most.pool, most.pool_share) == (2, pytest.approx(2 / 3))
    single = rows["images per author", "classes with one author only"]
    assert (single.pool, single.pool_share) == (1, 1.0)
    assert rows["class", "cat"].pool == 2
    assert "pool: 1 image cannot be read" in result.notes
    assert "val: 1 of 4 images have no author" in result.notes


def test_a_long_time_is_shown_by_year():
    groups = {"uploaded": ("2001-05-05", "2012-01-05")}
    pool, reference = (
        ProfiledSet(TestSet(name, SPACE, tuple("ab"), np.array([0, 1]), groups)) for name in ("pool", "val")
    )
    rows = compare_sets(pool, reference, rng=np.random.default_rng(0)).values
    assert [row.value for row in rows if row.name == "uploaded"] == ["2001", "2012"]


def test_what_is_missing_is_named():
    rng = np.random.default_rng(5)
    pool = make_set(rng, "pool", 100)
    bare = without(make_set(rng, "val", 50), "author", "license", "keyword", "taken")
    unread = ProfiledSet(bare.test_set)
    result = compare_sets(pool, unread, rng=rng)
    notes = {row.name: row.note for row in result.properties if row.conclusion is Conclusion.NOT_COMPARED}
    assert notes["license"] == "val has no column license"
    assert notes["uploaded"] == "pool and val have no column uploaded"
    assert notes["width"] == "the images of val were not read"
    assert any("images count as independent" in note for note in result.notes)
    assert [row.name for row in result.properties if row.p_value is not None] == ["class"]


def test_other_classes_are_not_compared():
    rng = np.random.default_rng(6)
    pool = make_set(rng, "pool", 50)
    digits = make_set(rng, "digits", 50, space=ClassSpace("digits", ("1", "2", "3")))
    row = compare_sets(pool, digits, rng=rng).properties[-1]
    assert (row.name, row.note) == ("class", "the classes differ: three and digits")
    assert in_classes_of(pool.test_set, digits.test_set) is digits.test_set


def test_only_reference_images_of_the_pools_classes_count():
    pool = TestSet("pool", SPACE, ("a",), np.array([1]))
    reference = TestSet("val", SPACE, ("b", "c", "d"), np.array([0, 1, UNLABELED]), {"author": ("x", "y", "z")})
    inside = in_classes_of(pool, reference)
    assert (inside.ids, inside.groups) == (("c",), {"author": ("y",)})
    with pytest.raises(InputError, match="no image of the classes of pool"):
        in_classes_of(pool, inside.subset("val", []))
