"""Changed images under the same paths are noticed, by resumed runs and with stored predictions."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from predicting import Counted, Toy, failing, noisy
from small_set import encoded, write_tar
from small_set import noise as random_image

import regrade
from regrade.core import AlreadyStored, ModelError, StoreError
from regrade.predict import EngineOptions, Run, predict, stored_pair
from regrade.predict.image_check import changed_images
from regrade.testsets import open_images

SMALL = EngineOptions(batch=4, part_size=8)


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path)


def path_of(store, position):
    source = store.images.read(store.test_set("noise"))
    return store.root.parent / "images" / source.locations[position]


def replace_image(path):
    """Other pixels under the same path."""
    Image.fromarray(255 - np.asarray(Image.open(path))).save(path)


def rewrite(path):
    """The same content, as if it had been copied anew."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    os.utime(path, ns=(10**18, 10**18))


def exchange_in_disguise(path):
    """Another content of the same size, with the time of the old one."""
    before = path.stat()
    path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


class TestStored:
    def test_predict_rejects_a_changed_image_of_the_same_size_and_time(self, store):
        test_set = store.test_set("noise")
        predict(store, Toy(), test_set, SMALL)
        exchange_in_disguise(path_of(store, 7))
        with pytest.raises(AlreadyStored, match="1 image of noise changed after toy was run"):
            predict(store, Toy(), test_set, SMALL)

    def test_predict_rejects_changed_images(self, store):
        test_set = store.test_set("noise")
        predict(store, Toy(), test_set, SMALL)
        for position in (7, 30):
            replace_image(path_of(store, position))
        model = Toy()
        with pytest.raises(AlreadyStored) as caught:
            predict(store, model, test_set, SMALL)
        message = str(caught.value)
        assert message.startswith("2 images of noise changed after toy was run, for instance ")
        assert test_set.ids[7] in message and "remove " in message and "/noise/toy" in message
        assert model.batches == []

    def test_predict_accepts_rewritten_files_with_the_same_content(self, store):
        test_set = store.test_set("noise")
        predict(store, Toy(), test_set, SMALL)
        for position in range(40):
            rewrite(path_of(store, position))
        assert predict(store, Toy(), test_set, SMALL).already

    def test_predict_reads_no_image_whose_file_is_unchanged(self, store, monkeypatch):
        test_set = store.test_set("noise")
        predict(store, Toy(), test_set, SMALL)
        opened = []

        def opening(source):
            opened.append(StampedAndCounted(open_images(source)))
            return opened[-1]

        monkeypatch.setattr(stored_pair, "open_images", opening)
        rewrite(path_of(store, 5))
        assert predict(store, Toy(), test_set, SMALL).already
        assert opened[0].count == 1

    def test_predict_accepts_missing_images(self, store, tmp_path):
        test_set = store.test_set("noise")
        predict(store, Toy(), test_set, SMALL)
        path_of(store, 3).unlink()
        pair = predict(store, Toy(), test_set, SMALL)
        assert pair.already and not pair.images_away
        (tmp_path / "images").rename(tmp_path / "elsewhere")
        pair = predict(store, Toy(), test_set, SMALL)
        assert pair.already and pair.images_away
        (tmp_path / "images").mkdir()
        pair = predict(store, Toy(), test_set, SMALL)
        assert pair.already and pair.images_away
        note = "the images of noise are missing, so they were not compared with those that toy was run on"
        assert note in Run((pair,)).table().notes

    def test_predict_leaves_images_that_were_unreadable_to_a_retry(self, store):
        test_set, path = store.test_set("noise"), path_of(store, 3)
        whole = path.read_bytes()
        path.write_bytes(whole[:-60])
        predict(store, Toy(), test_set, SMALL)
        path.write_bytes(whole)
        assert predict(store, Toy(), test_set, SMALL).already


class StampedAndCounted(Counted):
    def stamp(self, position):
        return self.images.stamp(position)


class TestResume:
    def test_predict_rejects_changed_images_of_an_earlier_run(self, store):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError, match="plug"):
            predict(store, failing(6), test_set, SMALL)
        replace_image(path_of(store, 2))
        replace_image(path_of(store, 17))
        replace_image(path_of(store, 39))  # not computed yet
        model = Toy()
        with pytest.raises(StoreError) as caught:
            predict(store, model, test_set, SMALL)
        message = str(caught.value)
        assert message.startswith("2 images of noise changed after the interrupted run, for instance ")
        assert test_set.ids[2] in message and f"remove {store.root / '.partial' / 'noise' / 'toy'}" in message
        assert model.batches == [] and store.predictions.model_names("noise") == ()
        shutil.rmtree(store.root / ".partial" / "noise" / "toy")
        assert predict(store, Toy(), test_set, SMALL).resumed == 0

    def test_predict_resumes_with_rewritten_files(self, store):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError, match="plug"):
            predict(store, failing(6), test_set, SMALL)
        for position in range(40):
            rewrite(path_of(store, position))
        assert predict(store, Toy(), test_set, SMALL).resumed == 24


def as_folder(folder, images):
    for number, data in enumerate(images):
        path = folder / "set" / f"{number:02d}.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return folder / "set"


def as_tar(folder, images):
    return write_tar(folder / "set.tar", *((f"{number:02d}.png", data) for number, data in enumerate(images)))


def as_parquet(folder, images):
    pq.write_table(pa.table({"image": list(images)}), folder / "set.parquet", row_group_size=5)
    return folder / "set.parquet"


def as_array(folder, images):
    pixels = np.stack([np.asarray(Image.open(pa.BufferReader(data))) for data in images])
    np.savez(folder / "set.npz", images=pixels)
    return folder / "set.npz"


def as_batch(folder, images):
    pixels = np.stack([np.asarray(Image.open(pa.BufferReader(data))) for data in images])
    records = [bytes([0]) + each.transpose(2, 0, 1).tobytes() for each in pixels]
    (folder / "set.bin").write_bytes(b"".join(records))
    return folder / "set.bin"


class TestForms:
    @pytest.mark.parametrize("form", [as_folder, as_tar, as_parquet, as_array, as_batch])
    def test_predict_notices_one_changed_image_in_every_form(self, tmp_path, form):
        images = [encoded(random_image(seed, (32, 32)), "BMP" if form is as_tar else "PNG") for seed in range(12)]
        workspace = regrade.init(tmp_path / "W")
        workspace.testsets.add("set", form(tmp_path, images), classes="cifar-10", layout="flat")
        test_set = workspace.store.test_set("set")
        predict(workspace.store, Toy(), test_set, SMALL)
        path = form(tmp_path, images)  # the same content, written anew
        for each in path.iterdir() if path.is_dir() else [path]:
            os.utime(each, ns=(10**18, 10**18))
        assert predict(workspace.store, Toy(), test_set, SMALL).already
        images[7] = encoded(random_image(99, (32, 32)), "BMP" if form is as_tar else "PNG")
        form(tmp_path, images)
        with pytest.raises(AlreadyStored, match="1 image of set changed after toy was run"):
            predict(workspace.store, Toy(), test_set, SMALL)

    def test_predict_notices_a_changed_clean_image_behind_corrupted_ones(self, store):
        workspace = regrade.open(store.root)
        workspace.testsets.corrupt("noise", name="corrupted", corruptions=["contrast"], severities=[1, 2], images=5)
        test_set = store.test_set("corrupted")
        predict(store, Toy(), test_set, SMALL)
        place = path_of(store, store.test_set("noise").position(test_set.groups["image"][0]))
        rewrite(place)
        assert predict(store, Toy(), test_set, SMALL).already
        replace_image(place)
        with pytest.raises(AlreadyStored, match="2 images of corrupted changed after"):
            predict(store, Toy(), test_set, SMALL)


def test_fingerprints_are_the_same_from_threads_and_processes(tmp_path, monkeypatch):
    from regrade.predict import engine

    stored = []
    monkeypatch.setattr(engine, "MAX_THREADS", 1)
    for name, most in (("threads", 2000), ("processes", 1)):
        monkeypatch.setattr(engine, "MIN_EXAMPLES_FOR_PROCESSES", most)
        folder = tmp_path / name
        store = noisy(folder)
        predict(store, Toy(), store.test_set("noise"), replace(SMALL, workers=2))
        stored.append(store.predictions.read(store.test_set("noise"), "toy").fingerprints)
    np.testing.assert_array_equal(stored[0]["digest"], stored[1]["digest"])
    assert (stored[0]["size"] == stored[1]["size"]).all() and (stored[0]["digest"] != 0).all()


def test_changed_images_reads_only_suspects(store):
    test_set = store.test_set("noise")
    predict(store, Toy(), test_set, SMALL)
    source = store.images.read(test_set)
    fingerprints = store.predictions.read(test_set, "toy").fingerprints
    images = StampedAndCounted(open_images(source))
    assert list(changed_images(images, fingerprints, np.arange(40), workers=3)) == []
    assert images.count == 0
    unstamped = Counted(open_images(source))
    assert list(changed_images(unstamped, fingerprints, np.arange(40), workers=3)) == []
    assert unstamped.count == 40
