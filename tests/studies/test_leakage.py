"""Tests of the leakage study: by hand, coverage by simulation, and edge cases."""

import json
from dataclasses import replace

import numpy as np
import pytest

from regrade.classes import class_space
from regrade.core import ClassSpace, Distance, InputError, MismatchError, NearPairs, Predictions, TestSet
from regrade.core.panel import PairRelation
from regrade.stats import independent_difference, proportion, subset_effect
from regrade.studies import ANY, LeakagePart, Scoring
from regrade.studies.leakage import pairs as pairs_module
from regrade.studies.leakage.analysis import leakage

SPACE = ClassSpace("pets", ("n1", "n2", "n3"), ("cat", "dog", "bird"))
OTHER = ClassSpace("more", ("n3", "n9", "n1"), ("birdie", "ship", "kitty"))


def near(distance, pairs, size, *, cut=1.0, seen=None, mirrored=(), crowded=0, values=None):
    first, second = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    nearest = np.full(size, np.nan)
    nearest[first] = 0.5
    apart = np.full(len(pairs), 0.5) if values is None else np.array(values, dtype=float)
    turned = np.array([pair in mirrored for pair in pairs], dtype=bool)
    compared = np.ones(size, bool) if seen is None else seen
    return NearPairs(distance, cut, first, second, apart, turned, compared, nearest, crowded)


def examples(labels, name="test", space=SPACE):
    return TestSet(name, space, tuple(f"{name}{i}" for i in range(len(labels))), np.array(labels))


def model(test_set, right, name="m"):
    """Predictions with the given correctness."""
    answers = np.where(right, test_set.labels, (test_set.labels + 1) % len(test_set.class_space))
    return Predictions(name, test_set.name, test_set.class_space.name, answers[:, None]), Scoring(test_set)


def test_intervals_of_the_model_table_agree_with_the_corrected_test():
    test_set, train = examples([0, 1, 2] * 60), examples([0] * 60, "train")
    pairs = [near(Distance.EXACT, [(i, i) for i in range(60)], 180)]
    wrong = [np.isin(np.arange(180), np.arange(60, 60 + 2 * count)) for count in range(12)]  # only clean images
    result = leakage(test_set, pairs, [model(test_set, ~part, f"m{i}") for i, part in enumerate(wrong)], against=train)
    table, rows = result.part(LeakagePart.MODELS), result.models_by()
    places = [[column.key for column in table.columns].index(key) for key in ("difference", "change")]
    changed_minds = 0
    for row, cells in zip(rows, table.rows, strict=True):
        for estimate in (cells[place] for place in places):
            assert (estimate.low > 0) == (row.holm <= 0.05)
            assert "12 together" in estimate.method
        changed_minds += (row.difference.low > 0) != (row.holm <= 0.05)
    assert {row.holm <= 0.05 for row in rows} == {True, False}
    assert changed_minds  # the intervals per model would contradict


def test_between_two_sets_by_hand():
    test_set, train = examples([0, 1, 2, 0, 1, 2]), examples([2, 0, 0, 1, -1], "train", OTHER)
    pairs = [
        near(Distance.EXACT, [(0, 2), (2, 2)], 6, cut=0.0, values=[0, 0]),
        near(Distance.PHASH, [(0, 2), (1, 3), (3, 4), (2, 2)], 6, cut=8.0, values=[2, 6, 0, 4], mirrored=[(1, 3)]),
    ]
    right = np.array([True, True, True, True, False, False])
    result = leakage(test_set, pairs, [model(test_set, right)], against=train)
    whole, exact, phash = result.results
    assert (whole.distance, exact.distance, phash.distance) == (ANY, "exact", "phash")
    assert (whole.pairs, whole.images, whole.share) == (4, 4, proportion(4, 6))
    assert (exact.pairs, exact.images) == (2, 2)
    # 0 is a cat against a bird, 1 a dog against a ship, which is no pet, 2 a bird against a bird, 3 has no label there
    assert (whole.labeled, whole.differing) == (3, proportion(2, 3))
    assert (exact.labeled, exact.differing) == (2, proportion(1, 2))
    (on_all,) = result.models_by()
    assert (on_all.all, on_all.leaked, on_all.clean) == (proportion(4, 6), proportion(4, 4), proportion(0, 2))
    bounds = independent_difference(4, 4, 0, 2)
    assert (on_all.difference.value, on_all.difference.low) == (1.0, pytest.approx(float(bounds.low)))
    assert on_all.change.value == pytest.approx(on_all.all.value - on_all.clean.value)
    effect = subset_effect(4, 4, 0, 2)
    assert (on_all.change.low, on_all.change.high) == (float(effect.low), float(effect.high))
    # 4 of the 4 right ones are among 4 of 6 images: 1 of 15 tables, and no other is as unlikely
    assert on_all.p_value == on_all.holm == pytest.approx(1 / 15)
    (by_exact,) = result.models_by("exact")
    assert (by_exact.leaked, by_exact.clean) == (proportion(2, 2), proportion(2, 4))
    assert result.groups == () and LeakagePart.GROUPS not in result.parts


def test_pairs_come_nearest_first_each_once():
    test_set, train = examples([0, 1, 2]), examples([0, 0, 0], "train")
    pairs = [
        near(Distance.EXACT, [(2, 1)], 3, cut=0.0, values=[0]),
        near(Distance.PHASH, [(0, 0), (1, 2), (2, 1)], 3, cut=8.0, values=[4, 0, 0], mirrored=[(0, 0)]),
        near(Distance.DSSIM, [(0, 0), (2, 1)], 3, cut=0.2, values=[0.1, 0]),
    ]
    listed = leakage(test_set, pairs, against=train).pairs
    assert [(pair.image, pair.reference) for pair in listed] == [
        ("test2", "train1"), ("test0", "train0"), ("test1", "train2")
    ]  # fmt: skip
    assert [pair.closeness for pair in listed] == [0.0, pytest.approx(0.5), pytest.approx(0.5)]
    assert listed[1].distances == {"phash": 4, "dssim": 0.1}
    assert [pair.mirrored for pair in listed] == [False, False, False]  # by dssim it is the image itself
    assert [pair.differs for pair in listed] == [True, False, True]
    assert (listed[0].label, listed[0].reference_label) == ("bird", "cat")


def test_the_labels_of_a_large_set_are_looked_up_once(monkeypatch):
    """Not once per pair: there may be thousands of pairs and millions of labels."""
    calls = []
    usual = pairs_module._in_classes_of
    monkeypatch.setattr(pairs_module, "_in_classes_of", lambda *sets: calls.append(1) or usual(*sets))
    test_set, train = examples([0, 1, 2] * 20), examples([2, 0, 1] * 20, "train", OTHER)
    every = [(i, i) for i in range(60)]
    result = leakage(test_set, [near(Distance.PHASH, every, 60)], against=train)
    assert [pair.differs for pair in result.pairs[:3]] == [False, True, True]
    assert len(calls) < 5


def test_within_one_set_the_surplus_counts():
    test_set = examples([0, 0, 1, 2, 2, 1])
    pairs = [near(Distance.PHASH, [(0, 1), (1, 4), (2, 3)], 6)]
    areas = np.array([10, 30, 20, 20, 30, 5])
    right = np.array([True, False, True, False, True, True])
    result = leakage(test_set, pairs, [model(test_set, right)], preference=areas)
    assert [(group.kept, group.surplus) for group in result.groups] == [
        ("test1", ("test0", "test4")), ("test2", ("test3",))
    ]  # fmt: skip
    whole = result.by(ANY)
    assert (whole.images, whole.share) == (3, proportion(3, 6))
    assert (whole.labeled, whole.differing) == (5, proportion(4, 5))  # 0-1 agree; 1-4 and 2-3 do not
    (leaked_model,) = result.models_by()
    assert (leaked_model.leaked, leaked_model.clean) == (proportion(2, 3), proportion(2, 3))
    assert result.title == "within test"


def test_images_that_could_not_be_compared_are_in_neither_part():
    test_set, train = examples([0, 0, 0, 0]), examples([0], "train")
    seen = np.array([True, True, False, False])
    pairs = [
        near(Distance.PHASH, [(0, 0)], 4, seen=seen),
        near(Distance.FEATURES, [(2, 0)], 4, seen=np.array([True, True, True, False])),
    ]
    unreadable = {"test": {"test2": "empty", "test3": "not an image"}, "train": {}}
    result = leakage(test_set, pairs, [model(test_set, np.ones(4, bool))], against=train, unreadable=unreadable)
    assert result.by("phash").share == proportion(1, 2)
    assert result.by(ANY).share == proportion(2, 3)  # 2 was found by what could see it, 3 by nothing
    (leaked_model,) = result.models_by()
    assert (leaked_model.all.n, leaked_model.leaked.n, leaked_model.clean.n) == (3, 2, 1)
    assert [(row.test_set, row.image, row.reason) for row in result.unreadable] == [
        ("test", "test2", "empty"), ("test", "test3", "not an image")
    ]  # fmt: skip
    assert any("not an image" in note for note in result.table().notes)


@pytest.mark.parametrize("pairs", [[], [(0, 0), (1, 0)]])
def test_nothing_found_or_everything(pairs):
    test_set, train = examples([0, 1]), examples([0], "train")
    result = leakage(
        test_set, [near(Distance.PHASH, pairs, 2)], [model(test_set, np.array([True, False]))], against=train
    )
    (leaked_model,) = result.models_by()
    assert leaked_model.difference is None and leaked_model.change is None
    assert (leaked_model.leaked is None) == (not pairs) and (leaked_model.clean is None) == bool(pairs)
    assert str(result) and str(result.part(LeakagePart.MODELS))
    json.dumps(result.as_dict(), allow_nan=False)


def test_without_labels_there_is_no_accuracy_and_no_dispute():
    test_set, train = examples([-1, -1]), examples([-1], "train")
    result = leakage(test_set, [near(Distance.PHASH, [(0, 0)], 2)], [model(test_set, np.ones(2, bool))], against=train)
    assert result.models == () and result.by(ANY).differing is None
    assert result.pairs[0].differs is None
    assert [column.key for column in result.table().columns] == ["distance", "cut", "pairs", "images", "share"]
    assert "label" not in [column.key for column in result.pair_table().columns]
    with pytest.raises(InputError, match="no models to show"):
        result.part(LeakagePart.MODELS)


def test_nearest_bars_are_in_units_of_the_threshold():
    test_set, train = examples([0] * 5), examples([0], "train")
    pairs = near(Distance.PHASH, [], 5, cut=8.0)
    pairs = NearPairs(**{**vars(pairs), "nearest": np.array([0.0, 8.0, 8.1, 900.0, np.nan])})
    bars = leakage(test_set, [pairs], against=train).nearest
    counts = {(bar.low, bar.high): bar.images for bar in bars if bar.images}
    assert counts == {(0.0, 0.25): 1, (0.75, 1.0): 1, (1.0, 1.25): 1, (4.0, None): 1}


def test_change_interval_covers():
    # leaked images are recognized, clean ones less often: the change of the total for a population with that share,
    # of which the images are a sample
    rng = np.random.default_rng(11)
    images, leaked, p, q = 400, 60, 0.95, 0.7
    test_set, train = examples([0] * images), examples([0], "train")
    truth = leaked / images * (p - q)
    covered = 0
    for _ in range(400):
        in_train = rng.random(images) < leaked / images
        pairs = [near(Distance.PHASH, [(i, 0) for i in np.flatnonzero(in_train)], images)]
        right = rng.random(images) < np.where(in_train, p, q)
        (leaked_model,) = leakage(test_set, pairs, [model(test_set, right)], against=train).models_by()
        covered += leaked_model.change.low <= truth <= leaked_model.change.high
    assert covered / 400 == pytest.approx(0.95, abs=0.035)


def test_many_models_best_first_and_people_asked_of_some():
    test_set, train = examples([0] * 10), examples([0], "train")
    pairs = [near(Distance.PHASH, [(i, 0) for i in range(4)], 10)]
    models = [
        model(test_set, np.arange(10) < count, name) for name, count in (("weak", 3), ("strong", 9), ("other", 9))
    ]
    result = leakage(test_set, pairs, models, against=train)
    assert [row.model for row in result.models_by()] == ["other", "strong", "weak"]
    assert len(result.models) == 6


def test_tables_and_json():
    test_set, train = examples([0, 1, 2]), examples([0, 1, 1], "train")
    pairs = [near(Distance.PIXELS, [(0, 0), (2, 2)], 3, cut=6e7, values=[1234.5, 6e6], crowded=1)]
    result = leakage(test_set, pairs, [model(test_set, np.array([True, True, False]))], against=train)
    text = str(result)
    assert "60,000,000" in text and "with more near duplicates" in text
    assert "3 images of test, searched among 3 images" in text
    assert "leaked − clean" in str(result.part(LeakagePart.MODELS))
    table = result.part(LeakagePart.PAIRS)
    assert table.records()[0] == {
        "image": "test0", "reference": "train0", "label": "cat", "reference_label": "cat", "differs": False,
        "mirrored": False, "pixels": 1234.5, "verdict": "",
    }  # fmt: skip
    data = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert data["found"][0]["share"]["n"] == 3 and data["pairs"][1]["distances"] == {"pixels": 6e6}


def test_mismatches():
    test_set, train = examples([0, 1]), examples([0], "train")
    with pytest.raises(InputError, match="at least one distance"):
        leakage(test_set, [], against=train)
    pairs = near(Distance.PHASH, [(0, 0)], 2)
    with pytest.raises(InputError, match="given twice"):
        leakage(test_set, [pairs, pairs], against=train)
    with pytest.raises(MismatchError, match="are not of test"):
        leakage(test_set, [near(Distance.PHASH, [(0, 3)], 2)], against=train)
    with pytest.raises(MismatchError, match="are not of test"):
        leakage(test_set, [near(Distance.PHASH, [(0, 0)], 3)], against=train)
    with pytest.raises(MismatchError, match="before the second"):
        leakage(test_set, [near(Distance.PHASH, [(1, 0)], 2)])


def test_labels_are_compared_by_class_id():
    digits = class_space("digits")
    first = TestSet("a", digits, ("x",), np.array([3]))
    second = TestSet("b", ClassSpace("turned", tuple(reversed(digits.ids))), ("y",), np.array([6]))
    result = leakage(first, [near(Distance.PHASH, [(0, 0)], 1)], against=second)
    assert result.pairs[0].differs is (digits.ids[3] != tuple(reversed(digits.ids))[6])


def confirmed(pairs, flags):
    return replace(pairs, confirmed=np.array(flags, dtype=bool))


def test_pairs_that_are_not_confirmed_are_listed_and_count_nowhere():
    test_set, train = examples([0, 1, 2, 0]), examples([0, 0, 0], "train")
    pairs = [
        confirmed(near(Distance.PHASH, [(0, 0), (1, 1), (3, 2)], 4, cut=8.0), [True, False, False]),
        confirmed(near(Distance.DSSIM, [(1, 1)], 4), [False]),
    ]
    result = leakage(test_set, pairs, [model(test_set, np.ones(4, bool))], against=train, cautions=["small"])
    assert [(row.pairs, row.images, row.unconfirmed) for row in result.results] == [(1, 1, 2), (1, 1, 2), (0, 0, 1)]
    assert [(pair.image, pair.confirmed) for pair in result.pairs] == [
        ("test0", True), ("test1", False), ("test3", False)
    ]  # fmt: skip
    assert result.models_by()[0].leaked.n == 1 and result.by("phash").labeled == 1
    assert "small" in result.table().notes and "unconfirmed" in [column.key for column in result.table().columns]
    decisions = {(1, 1): PairRelation.DUPLICATE, (3, 2): PairRelation.DIFFERENT, (0, 0): PairRelation.DIFFERENT}
    decided = leakage(test_set, pairs, against=train, decisions=decisions)
    assert [(row.pairs, row.unconfirmed) for row in decided.results] == [(1, 0), (1, 0), (1, 0)]
    assert [(pair.image, pair.confirmed, pair.decision) for pair in decided.pairs] == [("test1", True, "duplicate")]


def test_groups_are_not_chained_but_equal_images_are_one():
    test_set = examples([0] * 5)
    chain = [(0, 1), (1, 2), (2, 3)]
    (group, second) = leakage(test_set, [near(Distance.PIXELS, chain, 5)]).groups
    assert (group.kept, group.surplus, second.kept, second.surplus) == ("test0", ("test1",), "test2", ("test3",))
    exact = near(Distance.EXACT, chain, 5, cut=0.0, values=[0] * 3)  # equality is transitive
    assert leakage(test_set, [exact]).groups[0].surplus == ("test1", "test2", "test3")
