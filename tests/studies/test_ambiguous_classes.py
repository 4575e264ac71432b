"""Ambiguous classes: by hand, against a slow count, properties, people's answers, and on published labels."""

import json
from collections import Counter
from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.classes import class_space
from regrade.core import NO_ANSWER, Answerer, ClassSpace, LabelSet, LabelState, Predictions, TestSet, Unlisted
from regrade.stats import bounded_mean, clustered_share, simultaneous_proportions
from regrade.studies import Scoring
from regrade.studies.multilabel.ambiguous import ambiguous_classes
from regrade.studies.multilabel.class_answers import OriginalAnswers
from regrade.studies.multilabel.kinds import Relation, RightLabels

CORRECT, UNCLEAR, WRONG = LabelState.CORRECT, LabelState.UNCLEAR, LabelState.WRONG
ZOO = ClassSpace("zoo", ("cat", "pug", "cup", "mug", "tree"), collapsed={2: (3,)})
CAT, PUG, CUP, MUG, TREE = range(5)
SET = TestSet("zoo", ZOO, tuple("abcdefgh"), np.array([CAT, CAT, CAT, CUP, CUP, PUG, TREE, -1], dtype=np.int32))
STATES = {
    (0, CAT): CORRECT,
    (1, CAT): CORRECT,
    (1, PUG): CORRECT,
    (2, CAT): UNCLEAR,
    (2, PUG): CORRECT,
    (3, CUP): WRONG,
    (3, MUG): CORRECT,
    (4, CUP): CORRECT,
    (4, MUG): CORRECT,
    (4, TREE): CORRECT,
    (5, CUP): CORRECT,  # its own label, pug, is not judged
    (6, TREE): UNCLEAR,  # no label is right
    (7, TREE): CORRECT,  # without original label
}


def label_set(states, size, *, classes=5, unlisted=Unlisted.NOVEL):
    pairs = np.array(list(states), dtype=np.int64).reshape(-1, 2)
    values = np.array(list(states.values()), dtype=np.int8)
    return LabelSet(
        "own", 1, "zoo", classes, pairs[:, 0], pairs[:, 1], values, np.ones(size, bool), ("",) * size, unlisted
    )


def listed(states=STATES, test_set=SET, *, people=(), unlisted=Unlisted.NOVEL, min_images=1):
    labels = label_set(states, len(test_set), classes=len(test_set.class_space), unlisted=unlisted)
    right = RightLabels.of(labels, test_set.class_space, labels.scored)
    answers = OriginalAnswers.of([(each, Scoring(test_set)) for each in people], len(test_set))
    return ambiguous_classes(test_set, labels, right, answers, min_images=min_images)


def person(name, *classes, shown=None):
    shown = None if shown is None else np.array(shown, dtype=bool)
    given = np.array(classes, dtype=np.int32)[:, None]
    return Predictions(f"person:{name}", "zoo", "zoo", given, by=Answerer.PERSON, covered=shown)


def test_shares_and_most_frequent_classes_by_hand():
    rows = {row.label: row for row in listed().classes}
    counts = {label: (row.images, row.both, row.rejected) for label, row in rows.items()}
    assert counts == {"cat": (3, 1, 0), "cup": (2, 1, 1), "pug": (1, 0, 0), "tree": (1, 0, 0)}
    shares = simultaneous_proportions([2, 2, 1, 0], [3, 2, 1, 1])
    assert [rows[label].share for label in ("cat", "cup", "pug", "tree")] == shares
    confused = {label: (row.confused_with, row.confused_images, row.relation) for label, row in rows.items()}
    assert confused == {
        "cat": ("pug", 2, Relation.UNRELATED),
        "cup": ("mug", 2, Relation.COLLAPSED),
        "pug": ("cup", 1, Relation.UNRELATED),
        "tree": (None, 0, None),
    }


def test_unlisted_original_labels_are_wrong_in_complete_lists():
    row = next(row for row in listed(unlisted=Unlisted.WRONG).classes if row.label == "pug")
    assert (row.rejected, row.share.value) == (1, 1.0)


def test_rows_are_ordered_by_lower_bound_and_small_classes_left_out():
    result = listed()
    lows = [row.share.low for row in result.classes]
    assert lows == sorted(lows, reverse=True) and result.classes[0].label == "cup"
    large = listed(min_images=2)
    assert {row.label for row in large.classes} == {"cat", "cup"} and large.left_out == 2
    assert "2 classes with fewer are left out" in " ".join(large.table("zoo").notes)


def test_people_are_compared_with_the_original_label():
    ann = person("Ann", CAT, PUG, CAT, MUG, CUP, PUG, TREE, TREE)
    bob = person("Bob", PUG, PUG, NO_ANSWER, CUP, NO_ANSWER, CAT, TREE, CAT, shown=[1, 1, 0, 1, 1, 1, 1, 1])
    result = listed(people=[ann, bob])
    rows = {row.label: row.people for row in result.classes}
    assert rows["pug"] is rows["tree"] is None  # one image
    of_cats = clustered_share([0, 1, 0, 1, 1], [0, 1, 2, 0, 1], confidence=0.975)
    assert (rows["cat"].value, rows["cat"].low, rows["cat"].high) == (0.6, of_cats.low, of_cats.high)
    assert rows["cup"].value == pytest.approx(1 / 3) and rows["cup"].method.endswith("2 together 95%")
    assert [column.key for column in result.table("zoo").columns][-1] == "people"
    assert "people" not in [column.key for column in listed().table("zoo").columns]


def test_people_who_did_not_select_the_image():
    values = ("0.9", "0.2", "0.4", "1", "", "", "0.5", "0.1")
    result = listed(test_set=replace(SET, groups={"selection_frequency": values}))
    rows = {row.label: row.unselected for row in result.classes}
    of_cats = bounded_mean([0.1, 0.8, 0.6], largest=1.0, confidence=1 - 0.05 / 3)
    assert rows["cat"].value == pytest.approx(0.5) and rows["pug"] is None
    assert (rows["cat"].low, rows["cat"].high) == (pytest.approx(of_cats.low), pytest.approx(of_cats.high))
    assert (rows["cup"].value, rows["cup"].n, rows["tree"].value) == (0.0, 1, 0.5)
    table = result.table("zoo")
    assert table.columns[-1].heading == "not selected" and "means over images" in table.notes[-1]


@pytest.mark.parametrize("values", [("high",) * 8, ("",) * 8, ("[0.2, 0.4)",) * 8, ("2",) * 8])
def test_columns_without_frequencies_are_ignored(values):
    result = listed(test_set=replace(SET, groups={"selection_frequency": values}))
    assert {row.unselected for row in result.classes} == {None}


def test_nothing_relates_the_classes():
    plain = TestSet("zoo", ClassSpace("zoo", ZOO.ids), SET.ids, SET.labels)
    assert {row.relation for row in listed(test_set=plain).classes} == {None}


IMAGES = st.lists(
    st.tuples(st.integers(-1, 4), st.dictionaries(st.integers(0, 4), st.sampled_from([CORRECT, UNCLEAR, WRONG]))),
    min_size=1,
    max_size=15,
)


@given(IMAGES, st.sampled_from(Unlisted))
def test_counts_agree_with_a_slow_count(images, unlisted):
    test_set = TestSet("zoo", ZOO, tuple(map(str, range(len(images)))), np.array([c for c, _ in images], np.int32))
    states = {(n, c): state for n, (_, judged) in enumerate(images) for c, state in judged.items()}
    result = listed(states, test_set, unlisted=unlisted)
    rows = {row.label: row for row in result.classes}
    assert set(rows) == {ZOO.names[c] for c, _ in images if c >= 0}
    default = WRONG if unlisted is Unlisted.WRONG else None
    for label in {c for c, _ in images if c >= 0}:
        own = [judged for c, judged in images if c == label]
        foreign = [[c for c, state in judged.items() if state is CORRECT and c != label] for judged in own]
        rejected = [judged.get(label, default) is WRONG for judged in own]
        row, counted = rows[ZOO.names[label]], Counter(chain.from_iterable(foreign))
        either = sum(bool(classes) or wrong for classes, wrong in zip(foreign, rejected, strict=True))
        assert (row.images, row.rejected) == (len(own), sum(rejected))
        assert row.share.value == either / len(own) and row.both + row.rejected <= either
        assert row.confused_images == max(counted.values(), default=0)
        assert row.confused_with is None or counted[ZOO.names.index(row.confused_with)] == row.confused_images


def test_real_labels_name_classes_that_people_cannot_distinguish(published):
    """The first rows and the number stated in docs/studies.md; they do not depend on models."""
    space = class_space("imagenet-1k")
    table = pq.read_table(published / "recht2019" / "imagenet-val.top5.parquet", columns=["image", "wnid"])
    originals = np.array([space.index_of[wnid] for wnid in table["wnid"].to_pylist()], dtype=np.int32)
    target = TestSet("zoo", space, tuple(table["image"].to_pylist()), originals)
    lists = json.loads((published / "real" / "real.json").read_text())
    rights = [lists[int(i.removeprefix("ILSVRC2012_val_").partition(".")[0]) - 1] for i in target.ids]
    pairs = np.array([(n, c) for n, classes in enumerate(rights) for c in classes])
    covered, states = np.array([bool(classes) for classes in rights]), np.full(len(pairs), CORRECT, dtype=np.int8)
    real = LabelSet("real", 1, "zoo", 1000, pairs[:, 0], pairs[:, 1], states, covered, ("",) * 50_000, Unlisted.WRONG)
    answers = OriginalAnswers.of((), 50_000)
    result = ambiguous_classes(target, real, RightLabels.of(real, space, real.scored), answers, min_images=10)
    first = [(row.label, row.images, row.both, row.rejected, row.confused_images) for row in result.classes[:2]]
    assert first == [("maillot (tights)", 50, 34, 15, 44), ("screen", 50, 26, 23, 38)]
    assert result.classes[0].share == simultaneous_proportions([49] * 1000, [50] * 1000)[0]
    assert (len(result.classes), result.left_out) == (1000, 0)
    assert sum(row.share.low > 0.5 for row in result.classes) == 16
