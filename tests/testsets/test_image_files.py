"""Which files of a folder are images, and what is said of the others."""

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


def test_find_counts_what_it_passes_over(folder):
    for name in ("b.mp4", "c.mp4", "notes.txt", "README"):
        (folder / "n01" / name).write_bytes(b"no image")
    found, _ = found_in(folder)
    assert found.ids == ("a.png",)
    lead, kinds = found.notes[0].split(": ")
    assert lead == "passed over 4 files that are not images regrade reads"
    assert sorted(kinds.split(", ")) == ["1 .txt", "1 without a suffix", "2 .mp4"]


def test_find_says_what_there_is_where_no_image_is(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"x")
    with pytest.raises(InputError, match=r"contains no images \(passed over 1 file that is not .*: 1 \.mp4\)"):
        found_in(tmp_path)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM"])
def test_a_file_without_a_suffix_is_an_image_by_its_content(folder, form):
    data = encoded(noise(1), form)
    (folder / "n01" / "0a1b2c").write_bytes(data)
    found, source = found_in(folder)
    assert found.ids == ("0a1b2c", "a.png")
    assert found.notes == ()
    assert open_images(source).read(0) == data


@pytest.mark.parametrize(
    "content", [b"", b"text", b"%!PS-Adobe-3.0 EPSF-3.0\n", b"\x89PNG", b"BM" + bytes(60), bytes(500)]
)
def test_what_only_looks_like_an_image_is_none(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    assert not is_image(tmp_path / "x")


@pytest.mark.skipif(not HAS_AVIF, reason="this Pillow has no AVIF")
def test_avif_is_read_where_pillow_can(folder):
    data = io.BytesIO()
    Image.new("RGB", (16, 16), "red").save(data, "AVIF")
    (folder / "n01" / "b.avif").write_bytes(data.getvalue())
    found, source = found_in(folder)
    assert found.ids == ("a.png", "b.avif")
    assert open_images(source).read(1) == data.getvalue()


def test_avif_is_counted_where_pillow_cannot(folder, monkeypatch):
    monkeypatch.setattr(image_files.features, "get_supported_modules", lambda: ["pil", "webp"])
    for cached in (image_files.image_suffixes, image_files._formats):
        cached.cache_clear()
    try:
        (folder / "n01" / "b.avif").write_bytes(b"x")
        found, _ = found_in(folder, ReaderOptions(SPACE))
        assert found.ids == ("a.png",)
        assert found.notes == (
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


def test_passed_over_images_is_silent_where_nothing_is():
    assert passed_over_images([]) == ()
