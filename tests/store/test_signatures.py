"""Signatures on disk: whole, once, in parts while they are made."""

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
def some():
    first, second = textures(2)
    return compute_signatures([first, UnreadableImage("not a image of a known format"), second], size=64)


def signed(places=PLACES, root="/images", size=64):
    return SignatureKey(ImageSource("folder", root, places), size)


def parts_of(found, *bounds):
    return [found[np.arange(start, stop)] for start, stop in zip((0, *bounds), (*bounds, len(found)), strict=True)]


def test_there_and_back(store, some):
    assert store.signatures("set", signed()) is None
    store.add_signatures("set", signed(), parts_of(some, 2))
    found = store.signatures("set", signed())
    assert found.digest == some.digest and found.unreadable == {1: "not a image of a known format"}
    assert isinstance(found.thumbnails, StoredArray)
    with pytest.raises(AlreadyStored):
        store.add_signatures("set", signed(), parts_of(some))


def test_signatures_of_other_images_are_others(store, some):
    store.add_signatures("set", signed(), [some])
    for other in (signed(PLACES[::-1]), signed(root="/elsewhere"), signed(size=96), signed(("a.png",))):
        assert store.signatures("set", other) is None
    elsewhere = list(store.signatures_elsewhere("set", signed((*PLACES, "d.png"))))
    assert [rows for _, rows in elsewhere] == [{"a.png": 0, "b.png": 1, "c.png": 2}]
    assert elsewhere[0][0].digest == some.digest
    assert list(store.signatures_elsewhere("set", signed(size=96))) == []
    assert list(store.signatures_elsewhere("set", signed(root="/elsewhere"))) == []


def test_parts(store, some):
    partial = store.partial_signatures("set", signed(), part_size=2)
    with partial.alone():
        assert partial.missing() == [range(2), range(2, 3)]
        partial.add(range(2, 3), some[np.array([2])])
        again = store.partial_signatures("set", signed(), part_size=2)
        assert again.missing() == [range(2)]
        with pytest.raises(FormatError, match="a part of the signatures is missing"):
            list(again.parts())
        with pytest.raises(StoreError, match="another process is at this"), again.alone():
            pass
        again.add(range(2), some[np.array([0, 1])])
        first, second = again.parts()
        assert first.unreadable == {1: "not a image of a known format"}
        assert first.digest == some[np.array([0, 1])].digest and second.digest == some[np.array([2])].digest
        again.remove()
    assert not (store.root / ".partial").exists()


def test_damage_is_told(store, some):
    partial = store.partial_signatures("set", signed(), part_size=4)
    with partial.alone():
        partial.missing()
        partial.add(range(3), some)
        (path,) = partial.folder.glob("*.part")
        content = bytearray(path.read_bytes())
        content[-20] ^= 1
        path.write_bytes(bytes(content))
        with pytest.raises(FormatError, match="is damaged: remove it and run again"):
            partial.missing()
    store.add_signatures("set", signed(), [some])
    (thumbnails,) = store.root.glob("neighbors/set/*/thumbnails.npy")
    for left in (b"nothing", b""):
        thumbnails.write_bytes(left)
        with pytest.raises(FormatError, match="is damaged"):
            store.signatures("set", signed())
