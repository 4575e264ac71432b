"""Recognizing image files, and notes about other files."""

import io

import pytest
from PIL import Image, features
from small_set import SPACE, encoded, found_in, noise

from regrade.core import InputError
from regrade.testsets import ReaderOptions, image_files, open_images
from regrade.testsets.image_files import image_suffixes, is_image, passed_over_images

PNG = encoded(noise(0))
HAS_AVIF = "avif" in features.get_supported_modules()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "n01").mkdir()
    (tmp_path / "n01" / "a.png").write_bytes(PNG)
    return tmp_path


def test_find_counts_skipped_files(folder):
    for name in ("b.mp4", "c.mp4", "notes.txt", "README"):
        (folder / "n01" / name).write_bytes(b"no image")
    result, _ = found_in(folder)
    assert result.ids == ("a.png",)
    lead, kinds = result.notes[0].split(": ")
    assert lead == "passed over 4 files that are not images regrade reads"
    assert sorted(kinds.split(", ")) == ["1 .txt", "1 without a suffix", "2 .mp4"]


def test_find_reports_other_files_without_images(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"x")
    with pytest.raises(InputError, match=r"contains no images \(passed over 1 file that is not .*: 1 \.mp4\)"):
        found_in(tmp_path)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM"])
def test_files_without_a_suffix_are_recognized_by_content(folder, form):
    data = encoded(noise(1), form)
    (folder / "n01" / "0a1b2c").write_bytes(data)
    result, source = found_in(folder)
    assert result.ids == ("0a1b2c", "a.png")
    assert result.notes == ()
    assert open_images(source).read(0) == data


@pytest.mark.parametrize(
    "content", [b"", b"text", b"%!PS-Adobe-3.0 EPSF-3.0\n", b"\x89PNG", b"BM" + bytes(60), bytes(500)]
)
def test_is_image_rejects_other_content(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    assert not is_image(tmp_path / "x")


@pytest.mark.skipif(not HAS_AVIF, reason="this Pillow has no AVIF")
def test_avif_is_read_if_pillow_supports_it(folder):
    data = io.BytesIO()
    Image.new("RGB", (16, 16), "red").save(data, "AVIF")
    (folder / "n01" / "b.avif").write_bytes(data.getvalue())
    result, source = found_in(folder)
    assert result.ids == ("a.png", "b.avif")
    assert open_images(source).read(1) == data.getvalue()


def test_avif_is_skipped_if_pillow_does_not_support_it(folder, monkeypatch):
    monkeypatch.setattr(image_files.features, "get_supported_modules", lambda: ["pil", "webp"])
    for cached in (image_files.image_suffixes, image_files._formats):
        cached.cache_clear()
    try:
        (folder / "n01" / "b.avif").write_bytes(b"x")
        result, _ = found_in(folder, ReaderOptions(SPACE))
        assert result.ids == ("a.png",)
        assert result.notes == (
            "passed over 1 file that is not images regrade reads: 1 .avif",
            "to read .avif files, install Pillow 11.3 or newer",
        )
    finally:
        for cached in (image_files.image_suffixes, image_files._formats):
            cached.cache_clear()


def test_image_suffixes_are_those_that_pillow_decodes():
    Image.init()
    assert {".jpg", ".jfif", ".png", ".tiff"} <= image_suffixes() <= set(Image.registered_extensions())
    assert (".avif" in image_suffixes()) == HAS_AVIF


def test_passed_over_images_without_files_has_no_notes():
    assert passed_over_images([]) == ()
