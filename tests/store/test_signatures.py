"""Signatures on disk: written once, and in parts while they are computed."""

import numpy as np
import pytest
from planted import textures

from regrade.core import AlreadyStored, FormatError, ImageSource, StoreError, UnreadableImage
from regrade.neighbors import compute_signatures
from regrade.store import SignatureKey, Store
from regrade.store.array_file import StoredArray

PLACES = ("a.png", "b.png", "c.png")


@pytest.fixture
def store(tmp_path):
    return Store.create(tmp_path / "W")


@pytest.fixture(scope="module")
def sample():
    first, second = textures(2)
    return compute_signatures([first, UnreadableImage("not an image of a known format"), second], size=64)


def key_of(places=PLACES, root="/images", size=64):
    return SignatureKey(ImageSource("folder", root, places), size)


def parts_of(signatures, *bounds):
    return [
        signatures[np.arange(start, stop)] for start, stop in zip((0, *bounds), (*bounds, len(signatures)), strict=True)
    ]


def test_signatures_round_trip(store, sample):
    assert store.signatures.read("set", key_of()) is None
    store.signatures.add(parts_of(sample, 2), ("set", key_of()))
    stored = store.signatures.read("set", key_of())
    assert stored.digest == sample.digest and stored.unreadable == {1: "not an image of a known format"}
    assert isinstance(stored.thumbnails, StoredArray)
    with pytest.raises(AlreadyStored):
        store.signatures.add(parts_of(sample), ("set", key_of()))


def test_signatures_depend_on_images_and_size(store, sample):
    store.signatures.add([sample], ("set", key_of()))
    for key in (key_of(PLACES[::-1]), key_of(root="/elsewhere"), key_of(size=96), key_of(("a.png",))):
        assert store.signatures.read("set", key) is None
    reusable = list(store.signatures.reusable("set", key_of((*PLACES, "d.png"))))
    assert [rows for _, rows in reusable] == [{"a.png": 0, "b.png": 1, "c.png": 2}]
    assert reusable[0][0].digest == sample.digest
    assert list(store.signatures.reusable("set", key_of(size=96))) == []
    assert list(store.signatures.reusable("set", key_of(root="/elsewhere"))) == []


def test_partial_signatures_are_resumed(store, sample):
    partial = store.signatures.unfinished("set", key_of(), part_size=2)
    with partial.locked():
        assert partial.missing() == [range(2), range(2, 3)]
        partial.add(range(2, 3), sample[np.array([2])])
        again = store.signatures.unfinished("set", key_of(), part_size=2)
        assert again.missing() == [range(2)]
        with pytest.raises(FormatError, match="a part of the signatures is missing"):
            list(again.parts())
        with pytest.raises(StoreError, match="is locked by another process"), again.locked():
            pass
        again.add(range(2), sample[np.array([0, 1])])
        first, second = again.parts()
        assert first.unreadable == {1: "not an image of a known format"}
        assert first.digest == sample[np.array([0, 1])].digest and second.digest == sample[np.array([2])].digest
        again.remove()
    assert not (store.root / ".partial").exists()


def test_damaged_files_are_rejected(store, sample):
    partial = store.signatures.unfinished("set", key_of(), part_size=4)
    with partial.locked():
        partial.missing()
        partial.add(range(3), sample)
        (path,) = partial.folder.glob("*.part")
        content = bytearray(path.read_bytes())
        content[-20] ^= 1
        path.write_bytes(bytes(content))
        with pytest.raises(FormatError, match="is damaged: remove it and run again"):
            partial.missing()
    store.signatures.add([sample], ("set", key_of()))
    (thumbnails,) = store.root.glob("neighbors/set/*/thumbnails.npy")
    for left in (b"nothing", b""):
        thumbnails.write_bytes(left)
        with pytest.raises(FormatError, match="is damaged"):
            store.signatures.read("set", key_of())
