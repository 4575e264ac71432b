"""Checking a test set: every image is read, and problems are reported."""

import dataclasses
import threading

import numpy as np
import pytest
from PIL import Image
from small_set import FORMS, ITEMS, SPACE, by_id, encoded, found_in, noise

from regrade.core import Images, ImageSource, InputError, TestSet
from regrade.testsets import check, contact_sheet, content_hash

TILE, STEP_DOWN, STEP_ACROSS, MARGIN = 160, 202, 168, 8


def made(path):
    result, source = found_in(path)
    return TestSet("animals", SPACE, result.ids, result.labels, result.groups), source


@pytest.fixture
def folder(tmp_path):
    return by_id(tmp_path / "set")


def a_image(folder, number: int = 0):
    return next(folder.rglob(ITEMS[number].file))


def test_check_of_a_sound_set(folder):
    done = check(*made(folder))
    assert done.sound
    assert (done.examples, done.expected, done.classes) == (12, None, 4)
    assert (done.least_in_class, done.most_in_class) == (3, 3)
    assert (done.unreadable, done.repeated) == ((), ())
    assert (done.smallest, done.largest) == ((20, 24), (20, 24))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_check_reads_every_format(form, tmp_path):
    assert check(*made(form(tmp_path / "set")), expected=12).sound


def test_check_lists_unreadable_images_with_reasons(folder):
    a_image(folder, 1).write_bytes(b"")
    a_image(folder, 2).write_bytes(b"<html>not found</html>")
    a_image(folder, 3).write_bytes(ITEMS[3].data[:-100])
    test_set, source = made(folder)
    a_image(folder, 4).unlink()
    done = check(test_set, source)
    reasons = dict(done.unreadable)
    assert not done.sound
    assert set(reasons) == {ITEMS[number].file for number in (1, 2, 3, 4)}
    assert reasons["pic01.JPEG"] == "the file is empty"
    assert reasons["pic02.png"] == "an HTML page, not an image"
    assert "truncated" in reasons["pic03.JPEG"]
    assert "No such file" in reasons["pic04.png"]
    assert ("unreadable: pic01.JPEG", "the file is empty") in done.table().rows


def test_unreadable_images_are_in_the_order_of_the_set(folder):
    for number in range(12):
        a_image(folder, number).write_bytes(b"x")
    test_set, source = made(folder)
    assert tuple(name for name, _ in check(test_set, source, workers=8).unreadable) == test_set.ids


def test_check_finds_repeated_content(folder):
    for number in (3, 7):
        a_image(folder, number).write_bytes(ITEMS[0].data)
    assert check(*made(folder)).repeated == (tuple(i for i in made(folder)[0].ids if i[3:5] in ("00", "03", "07")),)


def test_empty_files_are_unreadable_not_repeated(folder):
    for number in (3, 7):
        a_image(folder, number).write_bytes(b"")
    done = check(*made(folder))
    assert (len(done.unreadable), done.repeated) == (2, ())


def test_class_balance(folder):
    for number in (0, 4):
        a_image(folder, number).unlink()
    done = check(*made(folder))
    assert (done.classes, done.least_in_class, done.most_in_class) == (4, 1, 3)


@pytest.mark.parametrize(("expected", "sound"), [(12, True), (13, False), (11, False), (None, True)])
def test_check_compares_the_expected_count(folder, expected, sound):
    assert check(*made(folder), expected=expected).sound is sound


def test_check_of_a_set_without_labels(folder):
    test_set, source = made(folder)
    bare = TestSet("bare", SPACE, test_set.ids, np.full(12, -1))
    done = check(bare, source)
    assert (done.sound, done.classes, done.least_in_class, done.most_in_class) == (True, 0, 0, 0)


def test_check_crops_the_border(folder):
    a_image(folder, 0).write_bytes(encoded(noise(1, (3, 50))))
    a_image(folder, 2).write_bytes(encoded(noise(2, (60, 40))))
    test_set, source = made(folder)
    assert (check(test_set, source).smallest, check(test_set, source).largest) == ((3, 50), (60, 40))
    cut = check(test_set, dataclasses.replace(source, border=2))
    assert cut.largest == (56, 36)
    assert cut.unreadable == (("pic00.png", "an image of 3 x 50 is too small to crop a border of 2"),)


class TestDigest:
    def test_does_not_depend_on_workers_or_format(self, folder):
        digests = {check(*made(folder), workers=workers).digest for workers in (1, 2, 3, 16)}
        assert len(digests) == 1

    def test_changes_with_one_byte(self, folder):
        before = check(*made(folder)).digest
        path = a_image(folder)
        data = bytearray(path.read_bytes())
        path.write_bytes(bytes(data) + b"\0")
        assert check(*made(folder)).digest != before
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))
        assert check(*made(folder)).digest != before

    def test_changes_with_an_unreadable_image(self, folder):
        a_image(folder).write_bytes(b"one")
        before = check(*made(folder)).digest
        a_image(folder).write_bytes(b"two")
        assert check(*made(folder)).digest != before

    def test_depends_on_which_image_is_missing(self, folder):
        test_set, source = made(folder)
        order = list(source.locations)
        digests = set()
        for gap in range(3):
            places = [*order[1:3]]
            places.insert(gap, "gone.png")
            three = TestSet("three", SPACE, test_set.ids[:3], test_set.labels[:3])
            digests.add(check(three, ImageSource("folder", source.root, tuple(places))).digest)
        assert len(digests) == 3

    def test_changes_with_the_order(self, folder):
        test_set, source = made(folder)
        backwards = ImageSource("folder", source.root, source.locations[::-1])
        assert check(test_set, source).digest != check(test_set, backwards).digest

    def test_changes_with_the_shape_of_pixels(self):
        pixels = np.arange(24, dtype=np.uint8)
        assert content_hash(pixels.reshape(4, 6)) != content_hash(pixels.reshape(6, 4))
        assert content_hash(pixels.reshape(4, 6)) == content_hash(np.asfortranarray(pixels.reshape(4, 6)))


class Counting(Images):
    """Count how far reading runs ahead of the consumer, for ten thousand images."""

    def __init__(self):
        self.read_so_far, self.lock = 0, threading.Lock()

    def read(self, position):  # noqa: ARG002
        with self.lock:
            self.read_so_far += 1
        return np.zeros((2, 2), dtype=np.uint8)


def test_check_keeps_few_images_in_memory(monkeypatch):
    images, ahead = Counting(), []
    monkeypatch.setitem(check.__globals__, "open_images", lambda _: images)
    many = TestSet("many", SPACE, tuple(map(str, range(10_000))), np.zeros(10_000, dtype=int))

    def watch(seen, total):
        assert total == 10_000
        for taken, image in enumerate(seen):
            ahead.append(images.read_so_far - taken)
            yield image

    assert check(many, ImageSource("folder", "/", many.ids), workers=2, watch=watch).sound
    assert images.read_so_far == 10_000
    assert max(ahead) <= 200


def sheet(folder, seed: int = 0, **options) -> Image.Image:
    result, source = found_in(folder)
    test_set = TestSet("animals", SPACE, result.ids, result.labels)
    return contact_sheet(test_set, source, rng=np.random.default_rng(seed), **options)


@pytest.mark.parametrize(
    ("rows", "columns", "across", "down"), [(5, 8, 8, 2), (2, 3, 3, 2), (1, 1, 1, 1), (20, 1, 1, 12), (1, 20, 12, 1)]
)
def test_contact_sheet_size(folder, rows, columns, across, down):
    size = (across * STEP_ACROSS + MARGIN, down * STEP_DOWN + MARGIN)
    assert sheet(folder, rows=rows, columns=columns).size == size


@pytest.mark.parametrize(("rows", "columns"), [(0, 8), (5, 0), (-1, 3)])
def test_contact_sheet_rejects_zero_rows_or_columns(folder, rows, columns):
    with pytest.raises(InputError, match="at least one row and one column"):
        sheet(folder, rows=rows, columns=columns)


def test_contact_sheet_is_reproducible(folder):
    few = {"rows": 1, "columns": 4}
    assert sheet(folder, 3, **few).tobytes() == sheet(folder, 3, **few).tobytes()
    assert len({sheet(folder, seed, **few).tobytes() for seed in range(5)}) > 1


def test_contact_sheet_shows_whole_images(tmp_path):
    (tmp_path / "n01").mkdir()
    (tmp_path / "n01" / "a.png").write_bytes(encoded(Image.new("RGB", (20, 10), "red")))
    (tmp_path / "n01" / "b.png").write_bytes(encoded(Image.new("RGB", (10, 4000), "blue")))
    shown = sheet(tmp_path)
    assert shown.getpixel((MARGIN + 80, MARGIN + 80)) == (255, 0, 0)
    assert shown.getpixel((MARGIN + 80, MARGIN + 20)) == (255, 255, 255), "a wide image leaves room above"
    assert shown.getpixel((MARGIN + STEP_ACROSS + 79, MARGIN + 5)) == (0, 0, 255)


def test_contact_sheet_marks_unreadable_images(folder):
    plain = np.asarray(sheet(folder))
    for item in ITEMS:
        next(folder.rglob(item.file)).write_bytes(b"no image")
    marked = np.asarray(sheet(folder))
    assert marked.shape == plain.shape
    red = (marked[..., 0] > 120) & (marked[..., 1] < 60)
    for place in range(12):
        left, top = MARGIN + place % 8 * STEP_ACROSS, MARGIN + place // 8 * STEP_DOWN
        assert red[top : top + TILE, left : left + TILE].any()


@pytest.mark.parametrize("name", ["a\nb.png", "x" * 200 + ".png", "日本.png", "\u200b .png"])
def test_contact_sheet_draws_any_name(tmp_path, name):
    (tmp_path / "n01").mkdir()
    (tmp_path / "n01" / name).write_bytes(encoded(noise(0)))
    assert sheet(tmp_path).size == (STEP_ACROSS + MARGIN, STEP_DOWN + MARGIN)


def test_contact_sheet_without_labels_and_with_a_border(folder):
    result, source = found_in(folder)
    bare = TestSet("bare", SPACE, result.ids, np.full(12, -1))
    got = contact_sheet(bare, dataclasses.replace(source, border=2), rng=np.random.default_rng(0))
    assert got.tobytes() != sheet(folder).tobytes()
