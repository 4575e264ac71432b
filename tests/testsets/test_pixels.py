"""`decode_pixels` equals `decode_gray_or_rgb`, with simplejpeg for plain JPEGs and Pillow for other files."""

import importlib.util
import io
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter
from skipping import skip
from small_set import encoded, noise

from regrade.core import Orientation, UnreadableImage
from regrade.testsets import decode_gray_or_rgb, decode_pixels, pixels


@pytest.fixture
def decoded(monkeypatch):
    """The files decoded by simplejpeg, in order."""
    if importlib.util.find_spec("simplejpeg") is None:
        skip("simplejpeg is not installed")
    decoder, seen = pixels._decoder(), []

    def watched(data):
        pixels = decoder(data)
        seen.append(data)
        return pixels

    monkeypatch.setattr(pixels, "_decoder", lambda: watched)
    return seen


def check(image, **options):
    """Assert that both decoders give the same pixels or the same error."""
    try:
        expected = np.asarray(decode_gray_or_rgb(image, **options))
    except UnreadableImage as error:
        with pytest.raises(UnreadableImage) as raised:
            decode_pixels(image, **options)
        assert str(raised.value) == str(error)
    else:
        np.testing.assert_array_equal(decode_pixels(image, **options), expected)


def photographs():
    spec = importlib.util.find_spec("foolbox")
    if spec is None:
        skip("foolbox, which ships 20 photographs, is not installed")
    return [path.read_bytes() for path in sorted((Path(spec.origin).parent / "data").glob("imagenet_*.jpg"))]


def blurred(seed, size=(61, 47)):
    return noise(seed, size).filter(ImageFilter.GaussianBlur(1))


def test_photographs_decode_as_with_pillow(decoded):
    files = photographs()
    assert len(files) == 20
    for data in files:
        check(data)
    assert decoded == files


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("quality", [5, 75, 100])
def test_plain_jpegs_decode_as_with_pillow(decoded, quality, subsampling, progressive):
    sizes = [(1, 1), (7, 8), (16, 16), (17, 33), (61, 47)]
    options = {"quality": quality, "subsampling": subsampling, "progressive": progressive}
    files = [encoded(blurred(seed, size), "JPEG", **options) for seed, size in enumerate(sizes)]
    for data in files:
        check(data)
    assert decoded == files


@pytest.mark.parametrize(
    "options",
    [
        {"keep_rgb": True},
        {"restart_marker_blocks": 2},
        {"optimize": True},
        {"icc_profile": b"odd"},
        {"comment": "hello"},
    ],
    ids=str,
)
def test_unusual_jpegs_decode_as_with_pillow(decoded, options):
    data = encoded(blurred(1), "JPEG", **options)
    check(data)
    check(data + b"what else lies in the file")
    assert len(decoded) == 2


def mpo():
    return encoded(blurred(1), "MPO", save_all=True, append_images=[blurred(2)])


@pytest.mark.parametrize(
    "data",
    [
        encoded(blurred(1).convert("L"), "JPEG"),
        encoded(blurred(1).convert("CMYK"), "JPEG"),
        mpo(),
        encoded(blurred(1), "PNG"),
        encoded(blurred(1).convert("P"), "GIF"),
        b"",
        b"\xff\xd8\xff",
        b"no image",
    ],
    ids=["gray", "CMYK", "MPO", "PNG", "GIF", "empty", "only a beginning", "text"],
)
def test_other_formats_are_decoded_by_pillow(decoded, data):
    check(data)
    assert not decoded


@pytest.mark.parametrize("note", range(10))
def test_exif_orientation_is_applied_unless_as_stored(decoded, note):
    exif = Image.Exif()
    exif[0x0112] = note
    data = encoded(blurred(1), "JPEG", exif=exif)
    check(data)
    assert bool(decoded) == (note not in range(2, 9))
    decoded.clear()
    check(data, orientation=Orientation.AS_STORED)
    assert decoded == [data]


@pytest.mark.parametrize("border", [1, 23, 24])
def test_border_is_cropped(border):
    check(encoded(blurred(1), "JPEG"), border=border)


def test_pixels_as_they_are_stored():
    check(np.asarray(noise(1)))
    check(np.asarray(noise(1).convert("L")))


@pytest.mark.parametrize("progressive", [False, True])
def test_truncated_jpegs_behave_as_with_pillow(progressive):
    data = encoded(blurred(1, (24, 20)), "JPEG", progressive=progressive)
    for length in range(len(data)):
        check(data[:length])


@pytest.mark.parametrize("progressive", [False, True])
def test_damaged_jpegs_behave_as_with_pillow(decoded, progressive):
    data = encoded(blurred(1, (24, 20)), "JPEG", progressive=progressive)
    rng = random.Random(0)
    for _ in range(500):
        damaged = bytearray(data)
        for _ in range(rng.choice([1, 1, 3])):
            damaged[rng.randrange(len(data))] = rng.randrange(256)
        check(bytes(damaged))
    assert decoded


def test_huge_image_is_rejected(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(UnreadableImage, match=r"at most .* are decoded"):
        decode_pixels(encoded(blurred(1), "JPEG"))


def test_without_simplejpeg_pillow_decodes(monkeypatch):
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    pixels._decoder.cache_clear()
    try:
        assert pixels._decoder() is None
        check(encoded(blurred(1), "JPEG"))
    finally:
        pixels._decoder.cache_clear()


def test_decode_pixels_from_many_threads():
    files = [encoded(blurred(seed), "JPEG") for seed in range(40)]
    with ThreadPoolExecutor(8) as pool:
        pixels = list(pool.map(decode_pixels, files))
    for data, own in zip(files, pixels, strict=True):
        np.testing.assert_array_equal(own, np.asarray(Image.open(io.BytesIO(data))))
