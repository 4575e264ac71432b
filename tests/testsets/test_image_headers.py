"""Sizes from headers agree with decoding, and damaged files are skipped."""

import numpy as np
import pytest
from PIL import Image

from regrade.core import ClassSpace, ImageSource, Orientation
from regrade.testsets import ImageHeader, Layout, ReaderOptions, decode, image_headers, reader_for


def save(path, size, form, *, turn=None):
    image = Image.new("RGB", size, (90, 20, 200))
    exif = Image.Exif()
    if turn is not None:
        exif[0x0112] = turn
    image.save(path, form, exif=exif)


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "plain.jpg", (30, 20), "JPEG")
    save(tmp_path / "turned.jpg", (30, 20), "JPEG", turn=6)
    save(tmp_path / "mirrored.png", (30, 20), "PNG", turn=2)
    save(tmp_path / "turned.png", (30, 20), "PNG", turn=8)
    save(tmp_path / "plain.webp", (31, 21), "WEBP")
    (tmp_path / "page.jpg").write_bytes(b"<html>gone</html>")
    (tmp_path / "empty.jpg").write_bytes(b"")
    return tmp_path


NAMES = ("plain.jpg", "turned.jpg", "mirrored.png", "turned.png", "plain.webp")


@pytest.mark.parametrize("orientation", Orientation)
@pytest.mark.parametrize("border", [0, 4])
def test_headers_give_the_sizes_of_decoded_images(folder, orientation, border):
    source = ImageSource("folder", str(folder), NAMES, orientation, border)
    for name, header in zip(NAMES, image_headers(source), strict=True):
        content = (folder / name).read_bytes()
        assert (header.width, header.height) == decode(content, orientation=orientation, border=border).size
        assert header.file_bytes == len(content)


def test_images_that_cannot_be_read_have_no_header(folder):
    names = ("page.jpg", "plain.jpg", "missing.jpg", "empty.jpg")
    headers = list(image_headers(ImageSource("folder", str(folder), names)))
    assert [header is None for header in headers] == [True, False, True, True]
    assert list(image_headers(ImageSource("folder", str(folder), ("plain.jpg",), border=10))) == [None]


def test_no_pixel_is_decoded(folder, monkeypatch):
    def refuse(*_):
        raise AssertionError("decoded")

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", refuse)
    assert all(header is not None for header in image_headers(ImageSource("folder", str(folder), NAMES)))


def test_pixels_in_arrays_have_no_file_size(tmp_path):
    np.save(tmp_path / "images.npy", np.zeros((3, 8, 12, 3), dtype=np.uint8))
    reader = reader_for(tmp_path / "images.npy")
    listing = reader.find(tmp_path / "images.npy", ReaderOptions(ClassSpace("one", ("image",)), Layout.FLAT))
    source = ImageSource(reader.name, str(tmp_path / "images.npy"), listing.locations)
    assert set(image_headers(source)) == {ImageHeader(12, 8, None)}
