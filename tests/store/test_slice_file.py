"""Slices that came after a test set: stored beside it once, and back as they were."""

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


def test_they_come_back_with_their_test_set(store):
    assert store.add_slice_set(FACTORS, PETS).new == ("x",)
    store.add_slice_set(PLACES, PETS)
    found = Store.open(store.root).test_set("pets")
    assert found.slice("x:pose").tolist() == [True, False, True]
    assert found.slice("x:none").tolist() == [False] * 3
    assert found.slice("geo/graphy:région=s").tolist() == [False, False, True]
    assert {each.name: (each.digest, each.origin) for each in found.slice_sets} == {
        each.name: (each.digest, each.origin) for each in (FACTORS, PLACES)
    }


def test_a_slice_that_was_chosen_to_be_hard_stays_so(store):
    store.add_slice_set(FACTORS, PETS)
    pose = FACTORS.subsets["x:pose"]
    store.add_slice_set(replace(FACTORS, name="hard", subsets={"hard": pose}, chosen_hard=True), PETS)
    assert Store.open(store.root).test_set("pets").hard_slices == {"hard"}


def test_the_test_set_stays_what_it_is(store):
    before = (store.root / "testsets" / "pets.parquet").read_bytes()
    store.add_slice_set(FACTORS, PETS)
    found = store.test_set("pets")
    assert (found.digest, found.groups) == (PETS.digest, PETS.groups)
    assert (store.root / "testsets" / "pets.parquet").read_bytes() == before
    assert store.add_test_set(found).unchanged == ("pets",)


def test_the_same_again_is_no_change(store):
    store.add_slice_set(FACTORS, PETS)
    again = SliceSet("x", "pets", 3, dict(reversed(FACTORS.subsets.items())), origin="a copy of it")
    assert store.add_slice_set(again, PETS).unchanged == ("x",)


def test_others_under_the_same_name_are_refused(store):
    store.add_slice_set(FACTORS, PETS)
    other = SliceSet("x", "pets", 3, {"x:pose": np.array([True, True, True])})
    with pytest.raises(AlreadyStored, match=r"stored as x of pets: choose another name, or remove .*x\.parquet first"):
        store.add_slice_set(other, PETS)
    assert store.test_set("pets").slice("x:pose").tolist() == [True, False, True]


def test_those_of_another_version_of_the_test_set_are_refused(store):
    store.add_slice_set(FACTORS, PETS)
    (store.root / "testsets" / "pets.parquet").unlink()
    store.add_test_set(TestSet("pets", CIFAR, ("a", "c", "b"), PETS.labels))
    with pytest.raises(MismatchError, match="another version of test set 'pets'"):
        store.test_set("pets")
