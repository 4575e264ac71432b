"""Test sets, slice sets and locations of images in the store."""

import io
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from regrade.classes import class_space
from regrade.core import AlreadyStored, ImageSource, InputError, MismatchError, Orientation, SliceSet, TestSet
from regrade.store import Store
from regrade.store.testsets import ImageSourceCollection

CIFAR = class_space("cifar-10")
PETS = TestSet("pets", CIFAR, ("a", "b", "c"), np.array([3, 5, 3]), {"light": ("dim", "lit", "dim")})
FACTORS = SliceSet(
    "x", "pets", 3, {"x:pose": np.array([True, False, True]), "x:none": np.zeros(3, dtype=bool)}, origin="x.jsonl"
)
PLACES = SliceSet("geo/graphy", "pets", 3, columns={"geo/graphy:région": ("n", "", "s")})
SOURCE = ImageSource("folder", "/data/ça va", ("cat/a.png", "dog/b ü.png", "cat/c.png"), Orientation.AS_STORED, 2)


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
    hard = replace(FACTORS, name="hard", subsets={"hard": pose}, chosen_hard=True, chosen_by=("ensemble", "m"))
    store.slices.add(hard, PETS)
    test_set = Store.open(store.root).test_set("pets")
    assert test_set.hard_slices == {"hard"}
    assert [slices.chosen_by for slices in test_set.slice_sets] == [("ensemble", "m"), ()]


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


def written(tmp_path, source: ImageSource = SOURCE):
    file = io.BytesIO()
    ImageSourceCollection(tmp_path).write(source, PETS, file)
    path = tmp_path / "images" / "pets.parquet"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(file.getvalue())
    return path


@pytest.mark.parametrize("source", [SOURCE, ImageSource("tar", "/x.tar", ("x:0:1", "x:512:1", "x:1024:1"))])
def test_images_round_trip(tmp_path, source):
    written(tmp_path, source)
    assert ImageSourceCollection(tmp_path).read(PETS) == source


def test_write_images_is_deterministic(tmp_path):
    assert written(tmp_path).read_bytes() == written(tmp_path).read_bytes()


@pytest.mark.parametrize(
    "changed_set",
    [
        TestSet("pets", CIFAR, ("a", "c", "b"), PETS.labels),
        TestSet("pets", CIFAR, PETS.ids, np.array([3, 5, 4])),
        TestSet("pets", class_space("digits"), PETS.ids, PETS.labels),
    ],
)
def test_reader_rejects_another_version_of_the_test_set(tmp_path, changed_set):
    written(tmp_path)
    with pytest.raises(MismatchError, match="another version of test set 'pets'"):
        ImageSourceCollection(tmp_path).read(changed_set)


class TestStore:
    @pytest.fixture
    def store(self, tmp_path):
        return Store.create(tmp_path / "W")

    def test_add_images_stores_the_test_set(self, store):
        assert store.add_images(PETS, SOURCE).new == ("pets",)
        assert store.images.read(store.test_set("pets")) == SOURCE

    def test_many_images_need_little_memory(self, store):
        size = 20_000
        ids = tuple(f"{number:08d}.jpg" for number in range(size))
        regions = tuple(("Africa", "Asia")[number % 2] for number in range(size))
        many = TestSet("many", CIFAR, ids, np.zeros(size), {"region": regions})
        store.add_images(many, ImageSource("folder", "/data", ids))
        store.images.read(store.test_set("many"))  # what is imported on the way is no part of it
        tracemalloc.start()
        test_set = store.test_set("many")
        source = store.images.read(test_set)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (test_set.ids, source.locations, test_set.groups["region"]) == (ids, ids, regions)
        assert kept < 60 * size  # twice a name of 12 bytes and where it ends, a label and a shared region: 52

    def test_storing_again_is_idempotent(self, store):
        store.add_images(PETS, SOURCE)
        assert store.add_images(PETS, SOURCE).new == ()

    def test_add_images_refuses_another_place_while_the_first_exists(self, store, tmp_path):
        (tmp_path / "first").mkdir()
        first = ImageSource("folder", str(tmp_path / "first"), SOURCE.locations)
        store.add_images(PETS, first)
        with pytest.raises(AlreadyStored, match=r"registered at .*first, which exists: remove .*pets\.parquet to read"):
            store.add_images(PETS, ImageSource("folder", "/elsewhere", SOURCE.locations))
        assert store.images.read(PETS) == first

    def test_add_images_takes_another_place_when_the_first_is_gone(self, store):
        store.add_images(PETS, SOURCE)
        moved = ImageSource("folder", "/elsewhere", SOURCE.locations)
        assert store.add_images(PETS, moved).new == ("pets",)
        assert store.images.read(PETS) == moved

    def test_images_inside_the_workspace_move_with_it(self, store, tmp_path):
        (store.root / "images").mkdir()
        store.add_images(PETS, ImageSource("folder", str(store.root / "images"), SOURCE.locations))
        store.root.rename(tmp_path / "moved")
        source = Store.open(tmp_path / "moved").images.read(PETS)
        assert (source.root, source.path) == ("images", tmp_path / "moved" / "images")

    def test_images_of_a_set_without_images_names_the_command(self, store):
        store.add_test_set(PETS)
        with pytest.raises(InputError, match="has no images: regrade testsets add pets PATH"):
            store.images.read(PETS)
