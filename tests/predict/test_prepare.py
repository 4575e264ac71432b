"""Images are prepared ahead of the model, in order and in limited number."""

import importlib.util
import io
import os
import shutil
import threading
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from predicting import PREPROCESSING, Counted, Toy, failing, noisy
from skipping import skip
from small_set import encoded, write_tar
from small_set import noise as random_image

import regrade
from regrade.core import AlreadyStored, CropMode, InputError, ModelError, Orientation, Preprocessing, StoreError
from regrade.executors.processes import ProcessPerThread
from regrade.models import Resizer, crop_and_resize, preprocess
from regrade.predict import (
    EngineOptions,
    PreparationOptions,
    Run,
    default_workers,
    predict,
    prepare,
    prepare_all,
    stored_pair,
)
from regrade.predict.prepare import changed_images
from regrade.testsets import open_images

PREPARATION = PreparationOptions(PREPROCESSING, Resizer.PILLOW)

SMALL = EngineOptions(batch=4, part_size=8)


@pytest.fixture
def source(tmp_path):
    store = noisy(tmp_path)
    return store.images.read(store.test_set("noise"))


@pytest.fixture
def counted(source):
    return Counted(open_images(source))


def prepared(images, source, positions, **options):
    """Examples that are prepared in one way."""
    requests = ((position, (0,)) for position in positions)
    with closing(prepare_all(images, source, [PREPARATION], requests, **options)) as examples:
        for example in examples:
            yield example[0]


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("ahead", [1, 2, 7, 100])
def test_prepare_all_keeps_the_order(source, counted, workers, ahead):
    plain = counted.read
    counted.read = lambda position: time.sleep(0.003 * (position % 3 == 0)) or plain(position)
    order = [5, 3, 39, 0, 17, 3, 8]
    examples = list(prepared(counted, source, order, workers=workers, ahead=ahead))
    assert [example.position for example in examples] == order
    assert all(example.input.shape == (3, 8, 8) for example in examples)
    np.testing.assert_array_equal(examples[1].input, examples[5].input)


@pytest.mark.parametrize("ahead", [1, 4, 9])
def test_prepare_all_limits_the_images_in_flight(source, counted, ahead):
    with closing(prepared(counted, source, range(40), workers=3, ahead=ahead)) as examples:
        for taken in range(1, 20):
            next(examples)
            counted.reached(taken + ahead - 1)
            time.sleep(0.002)
            assert counted.count == taken + ahead - 1


def test_prepare_all_by_processes_equals_threads(source, monkeypatch):
    started = []
    monkeypatch.setattr(
        prepare, "ProcessPerThread", lambda function: started.append(function) or ProcessPerThread(function)
    )
    images = open_images(source)
    by_threads, by_processes = (
        list(prepared(images, source, range(40), workers=2, ahead=9, processes=processes))
        for processes in (False, True)
    )
    assert len(started) == 1
    assert [example.position for example in by_processes] == list(range(40))
    for example, same in zip(by_threads, by_processes, strict=True):
        np.testing.assert_array_equal(example.input, same.input)


def test_prepare_all_by_processes_reports_unreadable_images(source, tmp_path):
    (tmp_path / "images" / source.locations[2]).write_bytes(b"no image")
    examples = list(prepared(open_images(source), source, range(5), workers=2, ahead=5, processes=True))
    assert [example.input is None for example in examples] == [False, False, True, False, False]
    assert "of a known format" in examples[2].error


def test_prepare_all_stops_when_closed(source, counted):
    before = threading.active_count()
    with closing(prepared(counted, source, range(40), workers=1, ahead=30)) as examples:
        next(examples)
    assert threading.active_count() == before
    assert counted.count <= 30


def test_prepare_all_reports_unreadable_images(source, tmp_path):
    (tmp_path / "images" / "0" / "x000.png").unlink()
    (tmp_path / "images" / "0" / "x010.png").write_bytes(b"no image")
    first, second, third = prepared(open_images(source), source, [0, 1, 2], workers=2, ahead=2)
    assert first.input is None and "No such file" in first.error
    assert second.input is None and "of a known format" in second.error
    assert third.input is not None and third.error == ""


def test_check_source_exists_reports_a_missing_folder(source, tmp_path):
    prepare.check_source_exists(source)
    (tmp_path / "images").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no longer at"):
        prepare.check_source_exists(source)


def test_default_workers_is_positive():
    assert default_workers() >= 1


class TestResizer:
    """The resizer is an option: here an image of 20 x 24 for an input of 8 x 8."""

    PIXELS = np.random.default_rng(0).integers(0, 256, (20, 24, 3), dtype=np.uint8)

    @pytest.fixture(autouse=True)
    def torch(self):
        if importlib.util.find_spec("torch") is None:
            skip("torch is not installed")

    def prepared(self, stored, source, options):
        return prepare.prepare(3, stored, source, {0: options})[0]

    def file(self, form="JPEG", **options) -> bytes:
        buffer = io.BytesIO()
        Image.fromarray(self.PIXELS).save(buffer, form, **options)
        return buffer.getvalue()

    @pytest.mark.parametrize("resizer", [Resizer.PILLOW, Resizer.TORCH])
    def test_prepare_uses_the_given_resizer(self, source, resizer):
        example = self.prepared(self.file(), source, PreparationOptions(PREPROCESSING, resizer))
        image = Image.open(io.BytesIO(self.file()))
        assert (example.position, example.jpeg) == (3, None)
        np.testing.assert_array_equal(example.input, preprocess(image, PREPROCESSING, resizer))
        levels = self.prepared(self.file(), source, PreparationOptions(PREPROCESSING, resizer, as_pixels=True))
        np.testing.assert_array_equal(levels.input, crop_and_resize(image, PREPROCESSING, resizer))

    def test_prepare_leaves_only_jpegs_to_the_gpu(self, source):
        by_gpu, by_torch = (
            PreparationOptions(PREPROCESSING, Resizer.GPU),
            PreparationOptions(PREPROCESSING, Resizer.TORCH),
        )
        waiting = self.prepared(self.file(), source, by_gpu)
        assert (waiting.input, waiting.error, waiting.jpeg) == (None, "", self.file())
        for stored in (self.file("PNG"), self.PIXELS):
            usual = self.prepared(stored, source, by_torch)
            np.testing.assert_array_equal(self.prepared(stored, source, by_gpu).input, usual.input)
        assert "of a known format" in self.prepared(b"no image", source, by_gpu).error

    def test_prepare_applies_the_exif_orientation_on_the_cpu(self, source):
        exif = Image.Exif()
        exif[0x0112] = 6
        rotated, by_gpu = self.file(exif=exif), PreparationOptions(PREPROCESSING, Resizer.GPU)
        assert self.prepared(rotated, source, by_gpu).jpeg is None
        as_stored = replace(source, orientation=Orientation.AS_STORED)
        assert self.prepared(rotated, as_stored, by_gpu).jpeg == rotated


@pytest.mark.parametrize("resizer", [Resizer.PILLOW, Resizer.TORCH])
@pytest.mark.parametrize("mode", ["1", "L", "LA"])
@pytest.mark.parametrize("size", [(61, 47), (20, 90), (9, 8)])
def test_grayscale_images_give_the_input_of_their_rgb_form(source, resizer, mode, size):
    if resizer is Resizer.TORCH and importlib.util.find_spec("torch") is None:
        skip("torch is not installed")
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (size[1], size[0]), dtype=np.uint8)).convert(mode)
    inputs = []
    for each in (image, image.convert("RGB")):
        buffer = io.BytesIO()
        each.save(buffer, "PNG")
        options = {0: PreparationOptions(PREPROCESSING, resizer)}
        inputs.append(prepare.prepare(0, buffer.getvalue(), source, options)[0].input)
    np.testing.assert_array_equal(*inputs)


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
        assert test_set.ids[7] in message and "regrade models remove toy -t noise" in message
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


@pytest.mark.parametrize("resizer", [Resizer.PILLOW, Resizer.TORCH])
def test_ways_to_prepare_an_image_do_not_affect_each_other(store, resizer):
    if resizer is Resizer.TORCH:
        pytest.importorskip("torch")
    test_set = store.test_set("noise")
    source = store.images.read(test_set)
    image = open_images(source).read(0)
    stretched, gray = Preprocessing(5, 8, CropMode.STRETCH), Preprocessing(6, 6, mean=(0.5,), std=(0.5,))
    crops = [PREPROCESSING, Preprocessing(6, 7), stretched, gray]
    options = {
        way: PreparationOptions(preprocessing, resizer, as_pixels=way % 2 == 0)
        for way, preprocessing in enumerate(crops)
    }
    prepared = prepare.prepare(0, image, source, options)
    for way, option in options.items():
        alone = prepare.prepare(0, image, source, {way: option})[way]
        np.testing.assert_array_equal(prepared[way].input, alone.input)
