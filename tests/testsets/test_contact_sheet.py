"""Contact sheets of random images with their labels."""

import dataclasses

import numpy as np
import pytest
from PIL import Image
from small_set import ITEMS, SPACE, by_id, encoded, found_in, noise

from regrade.core import InputError, TestSet
from regrade.testsets import contact_sheet

TILE, STEP_DOWN, STEP_ACROSS, MARGIN = 160, 202, 168, 8


@pytest.fixture
def folder(tmp_path):
    return by_id(tmp_path / "set")


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
