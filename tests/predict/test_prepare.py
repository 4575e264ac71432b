"""Images prepared ahead of the model: in order, and only so many of them."""

import importlib.util
import io
import threading
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from predicting import RECIPE, Counted, noisy
from skipping import skip

from regrade.core import InputError, Orientation
from regrade.executors.processes import ProcessPerThread
from regrade.models import Resizer, framed, preprocess
from regrade.predict import PreparationOptions, default_workers, prepare, prepare_all
from regrade.testsets import open_images

PREPARING = PreparationOptions(RECIPE, Resizer.PILLOW)


@pytest.fixture
def source(tmp_path):
    store = noisy(tmp_path)
    return store.images(store.test_set("noise"))


@pytest.fixture
def counted(source):
    return Counted(open_images(source))


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("ahead", [1, 2, 7, 100])
def test_order_is_kept_whatever_finishes_first(source, counted, workers, ahead):
    plain = counted.read
    counted.read = lambda position: time.sleep(0.003 * (position % 3 == 0)) or plain(position)
    order = [5, 3, 39, 0, 17, 3, 8]
    found = list(prepare_all(counted, source, PREPARING, order, workers=workers, ahead=ahead))
    assert [one.position for one in found] == order
    assert all(one.input.shape == (3, 8, 8) for one in found)
    np.testing.assert_array_equal(found[1].input, found[5].input)


@pytest.mark.parametrize("ahead", [1, 4, 9])
def test_no_more_than_so_many_are_in_flight(source, counted, ahead):
    with closing(prepare_all(counted, source, PREPARING, range(40), workers=3, ahead=ahead)) as prepared:
        for taken in range(1, 20):
            next(prepared)
            counted.reached(taken + ahead - 1)
            time.sleep(0.002)
            assert counted.count == taken + ahead - 1


def test_processes_give_the_same_as_threads(source, monkeypatch):
    started = []
    monkeypatch.setattr(prepare, "ProcessPerThread", lambda one: started.append(one) or ProcessPerThread(one))
    images = open_images(source)
    few, many = (
        list(prepare_all(images, source, PREPARING, range(40), workers=2, ahead=9, processes=processes))
        for processes in (False, True)
    )
    assert len(started) == 1
    assert [one.position for one in many] == list(range(40))
    for one, other in zip(few, many, strict=True):
        np.testing.assert_array_equal(one.input, other.input)


def test_a_image_that_cannot_be_read_in_another_process_has_a_reason_too(source, tmp_path):
    (tmp_path / "images" / source.locations[2]).write_bytes(b"no image")
    found = list(prepare_all(open_images(source), source, PREPARING, range(5), workers=2, ahead=5, processes=True))
    assert [one.input is None for one in found] == [False, False, True, False, False]
    assert "not a image" in found[2].trouble


def test_what_is_no_longer_wanted_is_not_prepared(source, counted):
    before = threading.active_count()
    with closing(prepare_all(counted, source, PREPARING, range(40), workers=1, ahead=30)) as prepared:
        next(prepared)
    assert threading.active_count() == before
    assert counted.count <= 30


def test_a_image_without_an_input_has_a_reason(source, tmp_path):
    (tmp_path / "images" / "0" / "x000.png").unlink()
    (tmp_path / "images" / "0" / "x010.png").write_bytes(b"no image")
    first, second, third = prepare_all(open_images(source), source, PREPARING, [0, 1, 2], workers=2, ahead=2)
    assert first.input is None and "No such file" in first.trouble
    assert second.input is None and "not a image" in second.trouble
    assert third.input is not None and third.trouble == ""


def test_a_place_that_has_gone_is_told_as_such(source, tmp_path):
    prepare.check_place(source)
    (tmp_path / "images").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no longer at"):
        prepare.check_place(source)


def test_workers_are_the_cores_there_are():
    assert default_workers() >= 1


class TestResizer:
    """What resizes is asked for: here a image of 20 x 24 for an input of 8 x 8."""

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
    def test_the_one_that_is_asked_for(self, source, resizer):
        found = prepare.prepare(3, self.file(), source, PreparationOptions(RECIPE, resizer))
        image = Image.open(io.BytesIO(self.file()))
        assert (found.position, found.jpeg) == (3, None)
        np.testing.assert_array_equal(found.input, preprocess(image, RECIPE, resizer))
        levels = prepare.prepare(3, self.file(), source, PreparationOptions(RECIPE, resizer, as_pixels=True))
        np.testing.assert_array_equal(levels.input, framed(image, RECIPE, resizer))

    def test_a_jpeg_waits_for_the_gpu_and_all_else_goes_by_torch(self, source):
        by_gpu, by_torch = PreparationOptions(RECIPE, Resizer.GPU), PreparationOptions(RECIPE, Resizer.TORCH)
        waiting = prepare.prepare(3, self.file(), source, by_gpu)
        assert (waiting.input, waiting.trouble, waiting.jpeg) == (None, "", self.file())
        for stored in (self.file("PNG"), self.PIXELS):
            usual = prepare.prepare(3, stored, source, by_torch)
            np.testing.assert_array_equal(prepare.prepare(3, stored, source, by_gpu).input, usual.input)
        assert "not a image" in prepare.prepare(3, b"no image", source, by_gpu).trouble

    def test_a_note_of_the_camera_counts_unless_it_is_passed_over(self, source):
        exif = Image.Exif()
        exif[0x0112] = 6
        turned, by_gpu = self.file(exif=exif), PreparationOptions(RECIPE, Resizer.GPU)
        assert prepare.prepare(3, turned, source, by_gpu).jpeg is None
        assert prepare.prepare(3, turned, replace(source, orientation=Orientation.AS_STORED), by_gpu).jpeg == turned

    @pytest.fixture
    def on_gpu(self, monkeypatch):
        """What a stand-in for the GPU was given; it makes every second one."""
        given = []

        def made(files, recipe, *, border):
            given.append((files, recipe, border))
            return [f"made {place}" if place % 2 == 0 else None for place in range(len(files))]

        monkeypatch.setattr(prepare, "framed_jpegs", made)
        return given

    def test_a_batch_is_finished_there_in_order(self, source, on_gpu):
        preparing = PreparationOptions(RECIPE, Resizer.GPU, as_pixels=True)
        gone = prepare.Prepared(4, None, "gone")
        usual = prepare.prepare(5, self.PIXELS, source, preparing)
        files = [prepare.prepare(position, self.file(), source, preparing) for position in (6, 7, 8)]
        bordered = replace(source, border=1)
        found = prepare.finished_on_gpu([files[0], gone, usual, *files[1:]], bordered, preparing)
        assert on_gpu == [([self.file()] * 3, RECIPE, 1)]
        assert [one.position for one in found] == [6, 4, 5, 7, 8]
        assert (found[0].input, found[4].input, found[0].jpeg) == ("made 0", "made 2", None)
        assert found[1] is gone and found[2] is usual
        here = Image.open(io.BytesIO(self.file())).crop((1, 1, 23, 19))
        np.testing.assert_array_equal(found[3].input, framed(here, RECIPE, Resizer.TORCH))

    def test_a_batch_without_any(self, source, on_gpu):
        gone = prepare.Prepared(4, None, "gone")
        assert prepare.finished_on_gpu([gone], source, PreparationOptions(RECIPE, Resizer.GPU)) == [gone]
        assert on_gpu == [([], RECIPE, 0)]


@pytest.mark.parametrize("resizer", [Resizer.PILLOW, Resizer.TORCH])
@pytest.mark.parametrize("mode", ["1", "L", "LA"])
@pytest.mark.parametrize("size", [(61, 47), (20, 90), (9, 8)])
def test_gray_images_give_the_input_of_their_rgb_form(source, resizer, mode, size):
    if resizer is Resizer.TORCH and importlib.util.find_spec("torch") is None:
        skip("torch is not installed")
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (size[1], size[0]), dtype=np.uint8)).convert(mode)
    inputs = []
    for each in (image, image.convert("RGB")):
        buffer = io.BytesIO()
        each.save(buffer, "PNG")
        inputs.append(prepare.prepare(0, buffer.getvalue(), source, PreparationOptions(RECIPE, resizer)).input)
    np.testing.assert_array_equal(*inputs)
