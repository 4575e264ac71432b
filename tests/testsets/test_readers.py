"""The same images in every format: equal labels and pixels, from any thread and process."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from small_set import FORMS, ITEMS, LABELS, SPACE, WITH_GROUPS, found_in, key_of

from regrade.core import InputError
from regrade.tables import Columns
from regrade.testsets import Layout, ReaderOptions, decode, open_images

WANTED_PIXELS = {item.key: item.pixels for item in ITEMS}


def name(form) -> str:
    return form.__name__


@pytest.fixture(params=FORMS, ids=name)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return request.param(tmp_path / "set")


def test_readers_give_the_same_labels_and_pixels(path):
    result, source = found_in(path)
    keys = [key_of(example) for example in result.ids]
    assert sorted(keys) == sorted(LABELS)
    assert dict(zip(keys, result.labels.tolist(), strict=True)) == LABELS
    images = open_images(source)
    for position, key in enumerate(keys):
        np.testing.assert_array_equal(np.asarray(decode(images.read(position))), WANTED_PIXELS[key])


def test_find_is_deterministic(path):
    first, second = found_in(path)[0], found_in(path)[0]
    assert (first.ids, first.locations) == (second.ids, second.locations)


def test_order_does_not_depend_on_the_file_system(path, monkeypatch):
    result = found_in(path)[0]
    scandir, listdir, glob = os.scandir, os.listdir, Path.glob
    monkeypatch.setattr(os, "scandir", lambda *a: Backwards(scandir(*a)))
    monkeypatch.setattr(os, "listdir", lambda *a: listdir(*a)[::-1])
    monkeypatch.setattr(Path, "glob", lambda *a: iter(list(glob(*a))[::-1]))
    again = found_in(path)[0]
    assert (again.ids, again.locations) == (result.ids, result.locations)
    np.testing.assert_array_equal(again.labels, result.labels)


class Backwards(list):
    """The entries of a folder in reverse order, as a context manager like `os.scandir`."""

    def __init__(self, entries):
        super().__init__(list(entries)[::-1])

    def __enter__(self):
        return iter(self)

    def __exit__(self, *trouble):
        pass


def test_reading_from_many_threads_at_once(path):
    result, source = found_in(path)
    for _ in range(5):  # a new object each time, since races would happen at the first reads
        images = open_images(source)
        positions = [*range(len(result.ids))] * 8
        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(images.read, positions))
        for position, image in zip(positions, got, strict=True):
            np.testing.assert_array_equal(np.asarray(decode(image)), WANTED_PIXELS[key_of(result.ids[position])])


@pytest.mark.parametrize("used", [False, True])
def test_images_can_be_pickled(path, used):
    result, source = found_in(path)
    images = open_images(source)
    if used:
        images.read(0)
    travelled = pickle.loads(pickle.dumps(images))
    assert len(pickle.dumps(images)) < 5000, "the images stay where they are"
    for position, example in enumerate(result.ids):
        np.testing.assert_array_equal(np.asarray(decode(travelled.read(position))), WANTED_PIXELS[key_of(example)])


TABLES = ("csv_manifest", "parquet_manifest", "hugging_face")


@pytest.mark.parametrize("form", [f for f in FORMS if f.__name__ not in TABLES], ids=name)
def test_layout_flat_ignores_labels(form, tmp_path):
    assert found_in(form(tmp_path / "set"), ReaderOptions(SPACE, Layout.FLAT))[0].labels is None


@pytest.mark.parametrize("form", WITH_GROUPS, ids=name)
def test_find_reads_groups(form, tmp_path):
    result = found_in(form(tmp_path / "set"), ReaderOptions(SPACE, columns=Columns(groups=("region",))))[0]
    regions = {item.key: item.region for item in ITEMS}
    assert dict(zip(map(key_of, result.ids), result.groups["region"], strict=True)) == regions


@pytest.mark.parametrize("form", FORMS, ids=name)
def test_find_rejects_unknown_groups(form, tmp_path):
    with pytest.raises(InputError, match="continent"):
        found_in(form(tmp_path / "set"), ReaderOptions(SPACE, columns=Columns(groups=("continent",))))


def test_open_rejects_missing_paths(path, tmp_path):
    _, source = found_in(path)
    (tmp_path / "set").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"the images were at .*set.*does not exist any more"):
        open_images(source)


NUMBERS = ["by_index", "tar_index", "tar_json", "hugging_face", "npz", "npy", "parquet_manifest"]


@pytest.mark.parametrize("form", [f for f in FORMS if f.__name__ in NUMBERS], ids=name)
def test_find_rejects_numbers_that_could_be_ids_or_indices(form, tmp_path):
    path = form(tmp_path / "set")
    space = type(SPACE)("odd", ("3", "2", "1", "0"), ("a", "b", "c", "d"))
    with pytest.raises(InputError, match=r"--layout|--class-numbers"):
        found_in(path, ReaderOptions(space))
    for reading, meaning in (("ids", lambda label: 3 - label), ("indices", lambda label: label)):
        columns = Columns(reading=type(Columns().reading)(reading))
        result = found_in(path, ReaderOptions(space, columns=columns))[0]
        got = dict(zip(map(key_of, result.ids), result.labels.tolist(), strict=True))
        assert got == {key: meaning(label) for key, label in LABELS.items()}
