"""Class maps of test sets: stored once, and read unchanged."""

import json

import numpy as np
import pytest

from regrade.classes import class_space
from regrade.core import AlreadyStored, ClassMap, ClassSpace, DamagedFile, FormatError, MapRule, TestSet
from regrade.store import Store
from regrade.store.checked_files import checked_json, read_checked_json

CIFAR = class_space("cifar-10")
THINGS = ClassSpace("things", ("pet", "boat/ship", "Möbel"))
SHELF = TestSet("shelf", THINGS, ("a", "b", "c"), np.array([0, 1, 2]))
MAP = ClassMap(CIFAR, THINGS, ((3, 5), (8,), ()), MapRule.ANY_IN_TOP_K)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.create(tmp_path / "W")


def test_class_map_is_stored_with_its_test_set(store):
    assert store.add_test_set(SHELF, MAP).new == ("shelf",)
    class_map = Store.open(store.root).class_maps.read(store.test_set("shelf"))
    assert (class_map.source, class_map.target, class_map.sources, class_map.rule) == (
        CIFAR,
        THINGS,
        MAP.sources,
        MAP.rule,
    )


@pytest.mark.parametrize("rule", list(MapRule))
def test_class_map_keeps_its_rule(store, rule):
    store.add_test_set(SHELF, ClassMap(CIFAR, THINGS, MAP.sources, rule))
    assert store.class_maps.read(SHELF).rule is rule


def test_class_map_is_none_for_a_set_without_map(store):
    store.add_test_set(SHELF)
    assert store.class_maps.read(SHELF) is None


def test_class_map_file_is_plain_json(store):
    store.add_test_set(SHELF, MAP)
    content = json.loads((store.root / "maps" / "shelf.json").read_text())
    assert content["sources"] == {"pet": ["cat", "dog"], "boat/ship": ["ship"], "Möbel": []}
    assert (content["source"], content["target"], content["rule"]) == ("cifar-10", "things", "any_in_top_k")


def test_class_map_stores_its_source_class_space(store):
    breeds = ClassSpace("breeds", ("pug", "tabby"))
    store.add_test_set(SHELF, ClassMap(breeds, THINGS, ((0, 1), (), ()), MapRule.ANY_IN_TOP_K))
    assert Store.open(store.root).class_maps.read(SHELF).source == breeds


def test_add_test_set_is_idempotent_and_adds_a_later_class_map(store):
    store.add_test_set(SHELF)
    assert store.add_test_set(SHELF, MAP).new == ("shelf",)
    turned = ClassMap(CIFAR, THINGS, ((5, 3), (8,), ()), MapRule.ANY_IN_TOP_K)
    assert store.add_test_set(SHELF, turned).unchanged == ("shelf",)
    assert store.add_test_set(SHELF).unchanged == ("shelf",)
    assert store.class_maps.read(SHELF).sources == MAP.sources


def test_add_test_set_rejects_another_class_map(store):
    store.add_test_set(SHELF, MAP)
    second_map = ClassMap(CIFAR, THINGS, ((3,), (8,), ()), MapRule.ANY_IN_TOP_K)
    with pytest.raises(AlreadyStored, match=r"another class map is stored with shelf: remove .*shelf\.json to replace"):
        store.add_test_set(SHELF, second_map)
    assert store.class_maps.read(SHELF).sources == MAP.sources


def test_rejected_class_map_leaves_no_test_set(store):
    store.add_test_set(SHELF, MAP)
    (store.root / "testsets" / "shelf.parquet").unlink()
    with pytest.raises(AlreadyStored):
        store.add_test_set(SHELF, ClassMap(CIFAR, THINGS, ((), (), (0,)), MapRule.ANY_IN_TOP_K))
    assert store.test_sets.names() == ()


@pytest.mark.parametrize(("old", "new"), [('"cat"', '"bird"'), ('"any_in_top_k"', '"within_mapped"'), ("{", "[")])
def test_class_map_rejects_an_edited_file(store, old, new):
    store.add_test_set(SHELF, MAP)
    path = store.root / "maps" / "shelf.json"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(DamagedFile, match=r"shelf\.json is damaged"):
        store.class_maps.read(SHELF)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("source", "cifar-11", "cifar-11"),
        ("rule", "best", "not a class map written by regrade"),
        ("sources", {"pet": []}, "not a class map written by regrade"),
        ("sources", {"pet": ["cta"], "boat/ship": [], "Möbel": []}, "'cta'; did you mean cat"),
        ("sources", {"pet": ["cat"], "boat/ship": [], "Möbel": []}, "was changed since it was stored"),
    ],
)
def test_class_map_rejects_invalid_content(store, key, value, message):
    store.add_test_set(SHELF, MAP)
    path = store.root / "maps" / "shelf.json"
    path.write_bytes(checked_json(read_checked_json(path) | {key: value}))
    with pytest.raises(FormatError, match=message):
        store.class_maps.read(SHELF)
