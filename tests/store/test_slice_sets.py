"""Slice sets that are added to a test set: stored once, read unchanged."""

from dataclasses import replace

import numpy as np
import pytest

from regrade.classes import class_space
from regrade.core import AlreadyStored, MismatchError, SliceSet, TestSet
from regrade.store import Store

CIFAR = class_space("cifar-10")
PETS = TestSet("pets", CIFAR, ("a", "b", "c"), np.array([3, 5, 3]), {"light": ("dim", "lit", "dim")})
FACTORS = SliceSet(
    "x", "pets", 3, {"x:pose": np.array([True, False, True]), "x:none": np.zeros(3, dtype=bool)}, origin="x.jsonl"
)
PLACES = SliceSet("geo/graphy", "pets", 3, columns={"geo/graphy:région": ("n", "", "s")})


@pytest.fixture
def store(tmp_path) -> Store:
    store = Store.create(tmp_path / "W")
    store.add_test_set(PETS)
    return store


def test_slice_sets_are_read_with_their_test_set(store):
    assert store.slices.add(FACTORS, PETS).new == ("x",)
    store.slices.add(PLACES, PETS)
    test_set = Store.open(store.root).test_set("pets")
    assert test_set.slice("x:pose").tolist() == [True, False, True]
    assert test_set.slice("x:none").tolist() == [False] * 3
    assert test_set.slice("geo/graphy:région=s").tolist() == [False, False, True]
    assert {slices.name: (slices.digest, slices.origin) for slices in test_set.slice_sets} == {
        slices.name: (slices.digest, slices.origin) for slices in (FACTORS, PLACES)
    }


def test_slice_set_keeps_chosen_hard(store):
    store.slices.add(FACTORS, PETS)
    pose = FACTORS.subsets["x:pose"]
    store.slices.add(replace(FACTORS, name="hard", subsets={"hard": pose}, chosen_hard=True), PETS)
    assert Store.open(store.root).test_set("pets").hard_slices == {"hard"}


def test_add_slice_set_does_not_change_the_test_set(store):
    before = (store.root / "testsets" / "pets.parquet").read_bytes()
    store.slices.add(FACTORS, PETS)
    test_set = store.test_set("pets")
    assert (test_set.digest, test_set.groups) == (PETS.digest, PETS.groups)
    assert (store.root / "testsets" / "pets.parquet").read_bytes() == before
    assert store.add_test_set(test_set).unchanged == ("pets",)


def test_storing_again_is_idempotent(store):
    store.slices.add(FACTORS, PETS)
    again = SliceSet("x", "pets", 3, dict(reversed(FACTORS.subsets.items())), origin="a copy of it")
    assert store.slices.add(again, PETS).unchanged == ("x",)


def test_add_slice_set_rejects_another_with_the_same_name(store):
    store.slices.add(FACTORS, PETS)
    second_set = SliceSet("x", "pets", 3, {"x:pose": np.array([True, True, True])})
    with pytest.raises(AlreadyStored, match=r"stored as x of pets: choose another name, or remove .*x\.parquet first"):
        store.slices.add(second_set, PETS)
    assert store.test_set("pets").slice("x:pose").tolist() == [True, False, True]


def test_slice_sets_of_another_version_of_the_test_set_raise(store):
    store.slices.add(FACTORS, PETS)
    (store.root / "testsets" / "pets.parquet").unlink()
    store.add_test_set(TestSet("pets", CIFAR, ("a", "c", "b"), PETS.labels))
    with pytest.raises(MismatchError, match="another version of test set 'pets'"):
        store.test_set("pets")
