"""Images are prepared ahead of the model, in order and in limited number."""

import importlib.util
import io
import threading
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from predicting import PREPROCESSING, Counted, noisy
from skipping import skip

from regrade.core import InputError, Orientation
from regrade.executors.processes import ProcessPerThread
from regrade.models import Resizer, crop_and_resize, preprocess
from regrade.predict import PreparationOptions, default_workers, prepare, prepare_all
from regrade.testsets import open_images

PREPARATION = PreparationOptions(PREPROCESSING, Resizer.PILLOW)


@pytest.fixture
def source(tmp_path):
    store = noisy(tmp_path)
    return store.images.read(store.test_set("noise"))


@pytest.fixture
def counted(source):
    return Counted(open_images(source))


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("ahead", [1, 2, 7, 100])
def test_prepare_all_keeps_the_order(source, counted, workers, ahead):
    plain = counted.read
    counted.read = lambda position: time.sleep(0.003 * (position % 3 == 0)) or plain(position)
    order = [5, 3, 39, 0, 17, 3, 8]
    examples = list(prepare_all(counted, source, PREPARATION, order, workers=workers, ahead=ahead))
    assert [example.position for example in examples] == order
    assert all(example.input.shape == (3, 8, 8) for example in examples)
    np.testing.assert_array_equal(examples[1].input, examples[5].input)


@pytest.mark.parametrize("ahead", [1, 4, 9])
def test_prepare_all_limits_the_images_in_flight(source, counted, ahead):
    with closing(prepare_all(counted, source, PREPARATION, range(40), workers=3, ahead=ahead)) as prepared:
        for taken in range(1, 20):
            next(prepared)
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
        list(prepare_all(images, source, PREPARATION, range(40), workers=2, ahead=9, processes=processes))
        for processes in (False, True)
    )
    assert len(started) == 1
    assert [example.position for example in by_processes] == list(range(40))
    for example, same in zip(by_threads, by_processes, strict=True):
        np.testing.assert_array_equal(example.input, same.input)


def test_prepare_all_by_processes_reports_unreadable_images(source, tmp_path):
    (tmp_path / "images" / source.locations[2]).write_bytes(b"no image")
    examples = list(prepare_all(open_images(source), source, PREPARATION, range(5), workers=2, ahead=5, processes=True))
    assert [example.input is None for example in examples] == [False, False, True, False, False]
    assert "of a known format" in examples[2].error


def test_prepare_all_stops_when_closed(source, counted):
    before = threading.active_count()
    with closing(prepare_all(counted, source, PREPARATION, range(40), workers=1, ahead=30)) as prepared:
        next(prepared)
    assert threading.active_count() == before
    assert counted.count <= 30


def test_prepare_all_reports_unreadable_images(source, tmp_path):
    (tmp_path / "images" / "0" / "x000.png").unlink()
    (tmp_path / "images" / "0" / "x010.png").write_bytes(b"no image")
    first, second, third = prepare_all(open_images(source), source, PREPARATION, [0, 1, 2], workers=2, ahead=2)
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

    def file(self, form="JPEG", **options) -> bytes:
        buffer = io.BytesIO()
        Image.fromarray(self.PIXELS).save(buffer, form, **options)
        return buffer.getvalue()

    @pytest.mark.parametrize("resizer", [Resizer.PILLOW, Resizer.TORCH])
    def test_prepare_uses_the_given_resizer(self, source, resizer):
        example = prepare.prepare(3, self.file(), source, PreparationOptions(PREPROCESSING, resizer))
        image = Image.open(io.BytesIO(self.file()))
        assert (example.position, example.jpeg) == (3, None)
        np.testing.assert_array_equal(example.input, preprocess(image, PREPROCESSING, resizer))
        levels = prepare.prepare(3, self.file(), source, PreparationOptions(PREPROCESSING, resizer, as_pixels=True))
        np.testing.assert_array_equal(levels.input, crop_and_resize(image, PREPROCESSING, resizer))

    def test_prepare_leaves_only_jpegs_to_the_gpu(self, source):
        by_gpu, by_torch = (
            PreparationOptions(PREPROCESSING, Resizer.GPU),
            PreparationOptions(PREPROCESSING, Resizer.TORCH),
        )
        waiting = prepare.prepare(3, self.file(), source, by_gpu)
        assert (waiting.input, waiting.error, waiting.jpeg) == (None, "", self.file())
        for stored in (self.file("PNG"), self.PIXELS):
            usual = prepare.prepare(3, stored, source, by_torch)
            np.testing.assert_array_equal(prepare.prepare(3, stored, source, by_gpu).input, usual.input)
        assert "of a known format" in prepare.prepare(3, b"no image", source, by_gpu).error

    def test_prepare_applies_the_exif_orientation_on_the_cpu(self, source):
        exif = Image.Exif()
        exif[0x0112] = 6
        rotated, by_gpu = self.file(exif=exif), PreparationOptions(PREPROCESSING, Resizer.GPU)
        assert prepare.prepare(3, rotated, source, by_gpu).jpeg is None
        assert prepare.prepare(3, rotated, replace(source, orientation=Orientation.AS_STORED), by_gpu).jpeg == rotated

    @pytest.fixture
    def on_gpu(self, monkeypatch):
        """The calls of a fake GPU decoder, which decodes every second image."""
        calls = []

        def decode(files, preprocessing, *, border):
            calls.append((files, preprocessing, border))
            return [f"decoded {index}" if index % 2 == 0 else None for index in range(len(files))]

        monkeypatch.setattr(prepare, "decode_and_crop_jpegs", decode)
        return calls

    def test_finish_on_gpu_keeps_the_order(self, source, on_gpu):
        preparation = PreparationOptions(PREPROCESSING, Resizer.GPU, as_pixels=True)
        gone = prepare.Prepared(4, None, "gone")
        usual = prepare.prepare(5, self.PIXELS, source, preparation)
        files = [prepare.prepare(position, self.file(), source, preparation) for position in (6, 7, 8)]
        bordered = replace(source, border=1)
        finished = prepare.finish_on_gpu([files[0], gone, usual, *files[1:]], bordered, preparation)
        assert on_gpu == [([self.file()] * 3, PREPROCESSING, 1)]
        assert [example.position for example in finished] == [6, 4, 5, 7, 8]
        assert (finished[0].input, finished[4].input, finished[0].jpeg) == ("decoded 0", "decoded 2", None)
        assert finished[1] is gone and finished[2] is usual
        on_cpu = Image.open(io.BytesIO(self.file())).crop((1, 1, 23, 19))
        np.testing.assert_array_equal(finished[3].input, crop_and_resize(on_cpu, PREPROCESSING, Resizer.TORCH))

    def test_finish_on_gpu_of_a_batch_without_jpegs(self, source, on_gpu):
        gone = prepare.Prepared(4, None, "gone")
        assert prepare.finish_on_gpu([gone], source, PreparationOptions(PREPROCESSING, Resizer.GPU)) == [gone]
        assert on_gpu == [([], PREPROCESSING, 0)]


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
        inputs.append(prepare.prepare(0, buffer.getvalue(), source, PreparationOptions(PREPROCESSING, resizer)).input)
    np.testing.assert_array_equal(*inputs)
