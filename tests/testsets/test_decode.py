"""Decoding images: unusual modes, orientations and names, and damaged files."""

import importlib
import importlib.util
import io
import random
import sys
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageFilter, ImageOps, features
from skipping import skip
from small_set import SPACE, encoded, found_in, noise

from regrade.core import InputError, Orientation, UnreadableImage
from regrade.testsets import (
    ReaderOptions,
    decode,
    decode_gray_or_rgb,
    decode_pixels,
    open_images,
    pixels_of,
)
from regrade.testsets.decode import SILENCE, image_suffixes, is_image, passed_over_images

decoding = importlib.import_module("regrade.testsets.decode")  # the package exports the function under this name

GRAY = np.arange(256, dtype=np.uint8).reshape(16, 16)
RAMP = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)

PNG = encoded(noise(0))
HAS_AVIF = "avif" in features.get_supported_modules()


def rgb(data: bytes, **options) -> np.ndarray:
    image = decode(data, **options)
    assert image.mode == "RGB"
    return np.asarray(image)


def gray_rgb(values: np.ndarray) -> np.ndarray:
    return np.repeat(values[..., None], 3, axis=2)


class TestModes:
    @pytest.mark.parametrize("form", ["PNG", "TIFF", "BMP", "PPM"])
    def test_gray(self, form):
        np.testing.assert_array_equal(rgb(encoded(Image.fromarray(GRAY), form)), gray_rgb(GRAY))

    def test_one_bit(self):
        bits = (GRAY > 100).astype(np.uint8) * 255
        np.testing.assert_array_equal(rgb(encoded(Image.fromarray(bits).convert("1"))), gray_rgb(bits))

    def test_gray_with_alpha_keeps_its_gray(self):
        image = Image.fromarray(GRAY).convert("LA")
        image.putalpha(Image.fromarray(GRAY[::-1].copy()))
        np.testing.assert_array_equal(rgb(encoded(image)), gray_rgb(GRAY))

    def test_transparent_pixels_keep_their_color(self):
        image = noise(1).convert("RGBA")
        image.putalpha(7)
        np.testing.assert_array_equal(rgb(encoded(image)), np.asarray(noise(1)))

    @pytest.mark.parametrize("transparency", [2, bytes([0, 128, 255, 7])], ids=["one index", "a list"])
    @pytest.mark.parametrize("form", ["PNG", "GIF"])
    def test_palette_with_transparency(self, form, transparency):
        if form == "GIF" and isinstance(transparency, bytes):
            transparency = 3
        image = Image.fromarray(np.array([[0, 1], [2, 3]], dtype=np.uint8), "P")
        image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9])
        got = rgb(encoded(image, form, transparency=transparency))
        assert got.tolist() == [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [9, 9, 9]]]

    def test_cmyk_jpeg_is_not_inverted(self):
        data = encoded(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG", quality=95)
        assert b"Adobe" in data, "Pillow writes what Photoshop does: inverted, with a marker"
        assert np.abs(rgb(data).astype(int) - [255, 0, 0]).max() < 6

    def test_cmyk_jpeg_without_the_marker(self):
        data = encoded(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG", quality=95)
        marker = data.index(b"\xff\xee")
        length = int.from_bytes(data[marker + 2 : marker + 4], "big")
        plain = data[:marker] + data[marker + 2 + length :]
        assert b"Adobe" not in plain
        assert np.abs(rgb(plain).astype(int) - [255, 0, 0]).max() < 6

    def test_color_profile_is_ignored(self):
        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
        np.testing.assert_array_equal(rgb(encoded(noise(1), icc_profile=profile)), np.asarray(noise(1)))


class TestDeepGray:
    @pytest.mark.parametrize("form", ["PNG", "TIFF", "PPM"])
    def test_sixteen_bits_are_scaled_not_clipped(self, form):
        got = rgb(encoded(Image.fromarray(RAMP), form))
        np.testing.assert_array_equal(got, gray_rgb(np.round(RAMP / 257).astype(np.uint8)))
        assert (got.min(), got.max()) == (0, 255)
        assert len(np.unique(got)) > 200

    @pytest.mark.parametrize("form", ["PNG", "TIFF", "PPM"])
    def test_a_dark_sixteen_bit_image_stays_dark(self, form):
        assert rgb(encoded(Image.fromarray(RAMP // 300), form)).max() <= 1

    def test_fractions_up_to_one(self):
        values = np.linspace(0, 1, 256, dtype=np.float32).reshape(16, 16)
        assert np.abs(rgb(encoded(Image.fromarray(values), "TIFF"))[..., 0].astype(int) - GRAY).max() <= 1

    def test_nan_is_black(self):
        values = np.array([[np.nan, 200.0], [np.inf, -5.0]], dtype=np.float32)
        assert rgb(encoded(Image.fromarray(values), "TIFF"))[0, 0].tolist() == [0, 0, 0]


class TestOrientation:
    UPRIGHT = noise(5, (24, 16))

    def stored(self, note: int, form: str = "PNG") -> bytes:
        """An image stored with a rotation and its EXIF orientation."""
        undo = {2: 2, 3: 3, 4: 4, 5: 5, 6: 8, 7: 7, 8: 6}
        exif = Image.Exif()
        exif[0x0112] = undo.get(note, 1)
        turned = ImageOps.exif_transpose(_with(self.UPRIGHT, exif)) if note in undo else self.UPRIGHT
        exif[0x0112] = note
        return encoded(turned, form, exif=exif, **({"quality": 100, "subsampling": 0} if form == "JPEG" else {}))

    @pytest.mark.parametrize("note", range(1, 9))
    def test_all_eight(self, note):
        got = rgb(self.stored(note))
        np.testing.assert_array_equal(got, np.asarray(self.UPRIGHT))

    @pytest.mark.parametrize("note", range(1, 9))
    def test_jpeg(self, note):
        got = rgb(self.stored(note, "JPEG"), orientation=Orientation.UPRIGHT)
        assert got.shape == (16, 24, 3)
        assert np.abs(got.astype(int) - np.asarray(self.UPRIGHT)).mean() < 3

    @pytest.mark.parametrize("note", range(1, 9))
    def test_as_stored_ignores_the_orientation(self, note):
        got = decode(self.stored(note, "JPEG"), orientation=Orientation.AS_STORED)
        plain = Image.open(io.BytesIO(self.stored(note, "JPEG"))).convert("RGB")
        np.testing.assert_array_equal(np.asarray(got), np.asarray(plain))
        assert got.size == ((16, 24) if note >= 5 else (24, 16))

    @pytest.mark.parametrize("note", [0, 9, 65535])
    def test_invalid_orientation_is_ignored(self, note):
        np.testing.assert_array_equal(rgb(self.stored(note)), np.asarray(self.UPRIGHT))

    def test_damaged_exif_data_is_ignored(self):
        exif = Image.Exif()
        exif[0x010E] = "a camera's words " * 4
        data = encoded(self.UPRIGHT, "JPEG", exif=exif)
        start = data.index(b"Exif\0\0")
        for seed in range(60):
            damaged = bytearray(data)
            for place in random.Random(seed).sample(range(start + 6, start + 40), 6):
                damaged[place] = random.Random(seed + place).randrange(256)
            assert sorted(decode(bytes(damaged)).size) == [16, 24]


def _with(image: Image.Image, exif: Image.Exif) -> Image.Image:
    return Image.open(io.BytesIO(encoded(image, exif=exif)))


class TestForms:
    @pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG", "TIFF"])
    def test_the_first_frame_of_an_animation(self, form):
        first, later_frames = (
            Image.new("RGB", (9, 9), (255, 0, 0)),
            [Image.new("RGB", (9, 9), c) for c in ("blue", "lime")],
        )
        data = encoded(first, form, save_all=True, append_images=later_frames)
        assert Image.open(io.BytesIO(data)).n_frames == 3
        assert np.abs(rgb(data).astype(int) - [255, 0, 0]).max() < 6

    @pytest.mark.parametrize("form", ["PNG", "WEBP", "GIF", "BMP"])
    def test_format_is_detected_by_content(self, form, tmp_path):
        path = tmp_path / "n01.JPEG"
        path.write_bytes(
            encoded(Image.new("RGB", (5, 4), (0, 128, 255)), form, **({"lossless": True} if form == "WEBP" else {}))
        )
        assert np.abs(rgb(path.read_bytes()).astype(int) - [0, 128, 255]).max() < 40

    def test_postscript_is_not_run(self):
        data = encoded(Image.new("RGB", (4, 4)), "EPS")
        with pytest.raises(UnreadableImage, match="not an image of a known format"):
            decode(data)


class TestDamage:
    @pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
    def test_truncated_image(self, form):
        data = encoded(noise(3, (64, 64)), form)
        with pytest.raises(UnreadableImage, match=r"\w"):
            decode(data[: len(data) // 2])

    def test_truncated_jpeg_is_reported_as_truncated(self):
        data = encoded(noise(3, (64, 64)), "JPEG")
        with pytest.raises(UnreadableImage, match=r"^the file is truncated: it ends before its last pixel$"):
            decode(data[: len(data) // 2])

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"", "the file is empty"),
            (b"hello, I am an image", "not an image of a known format"),
            (b"<html><body>404</body></html>", "an HTML page, not an image"),
            (b"\xef\xbb\xbf\n<!DOCTYPE HTML>\n<p>", "an HTML page, not an image"),
            (b"\xff\xd8\xff", "not an image of a known format"),
            (b"\x89PNG\r\n\x1a\n", "."),
            (bytes(1000), "not an image of a known format"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "not an image of a known format"),
        ],
    )
    def test_rejects_files_that_are_not_images(self, data, reason):
        with pytest.raises(UnreadableImage, match=reason):
            decode(data)

    @pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "PPM"])
    def test_any_damage_is_decoded_or_reported_in_one_line(self, form):
        data = encoded(noise(3), form)
        for seed in range(80):
            rng = random.Random(seed)
            damaged = bytearray(data)
            for _ in range(3):
                damaged[rng.randrange(min(len(data), rng.choice((40, 10_000))))] = rng.randrange(256)
            try:
                image = decode(bytes(damaged))
            except UnreadableImage as error:
                assert str(error) and "\n" not in str(error)
            else:
                assert image.mode == "RGB"


class TestBombs:
    @pytest.fixture(autouse=True)
    def _small_limit(self, monkeypatch):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)

    def test_large_image_does_not_warn(self, capfd):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert decode(encoded(noise(1, (12, 12)))).size == (12, 12)
        assert caught == []
        assert capfd.readouterr().err == ""

    def test_huge_image_is_rejected(self):
        with pytest.raises(UnreadableImage, match="at most 200 are decoded"):
            decode(encoded(noise(1, (20, 20))))

    def test_threads_restore_warning_filters(self):
        before = list(warnings.filters)
        data = encoded(noise(1, (12, 12)))
        with ThreadPoolExecutor(8) as pool:
            assert {image.size for image in pool.map(decode, [data] * 400)} == {(12, 12)}
        assert warnings.filters == before
        with pytest.raises(Image.DecompressionBombWarning):
            Image.open(io.BytesIO(data))


class TestPixels:
    def test_color_and_gray(self):
        color = np.asarray(noise(2))
        np.testing.assert_array_equal(np.asarray(decode(color)), color)
        np.testing.assert_array_equal(np.asarray(decode(GRAY)), gray_rgb(GRAY))
        np.testing.assert_array_equal(np.asarray(decode(GRAY[..., None])), gray_rgb(GRAY))

    def test_views_with_odd_strides(self):
        color = np.asarray(noise(2))
        np.testing.assert_array_equal(np.asarray(decode(color[::-2, ::3])), color[::-2, ::3])

    @pytest.mark.parametrize(
        "pixels",
        [
            np.zeros((4, 4, 3)),
            np.zeros((4, 4, 3), dtype=np.int64),
            np.zeros((4, 4), dtype=bool),
            np.zeros((4, 4, 4), dtype=np.uint8),
            np.zeros((3, 4, 4), dtype=np.uint8),
            np.zeros((1, 4, 4, 3), dtype=np.uint8),
            np.zeros(48, dtype=np.uint8),
            np.zeros((0, 4, 3), dtype=np.uint8),
            np.zeros((4, 0), dtype=np.uint8),
        ],
        ids=lambda pixels: f"{pixels.dtype}{pixels.shape}",
    )
    def test_rejects_other_types_and_shapes(self, pixels):
        with pytest.raises(UnreadableImage, match="pixels"):
            decode(pixels)


class TestBorder:
    def test_is_cropped_on_every_side(self):
        whole = np.asarray(noise(2))
        np.testing.assert_array_equal(rgb(encoded(noise(2)), border=2), whole[2:-2, 2:-2])
        np.testing.assert_array_equal(np.asarray(decode(whole, border=3)), whole[3:-3, 3:-3])

    @pytest.mark.parametrize("size", [(4, 9), (9, 4), (1, 1)])
    def test_rejects_images_that_are_all_border(self, size):
        with pytest.raises(UnreadableImage, match=f"an image of {size[0]} x {size[1]} is too small to crop"):
            decode(encoded(noise(2, size)), border=2)

    def test_smallest_valid_image(self):
        assert decode(encoded(noise(2, (5, 5))), border=2).size == (1, 1)


def test_warnings_stay_muted_after_other_code_changes_filters():
    with warnings.catch_warnings(), SILENCE:
        warnings.simplefilter("error")
        with SILENCE:
            warnings.warn_explicit("odd EXIF data", UserWarning, "PIL/TiffImagePlugin.py", 1, "PIL.TiffImagePlugin")


GRAY_IMAGES = {
    "1": Image.fromarray(GRAY > 99),
    "L": Image.fromarray(GRAY),
    "LA": Image.merge("LA", (Image.fromarray(GRAY), Image.fromarray(GRAY.T))),
    "I;16": Image.fromarray(RAMP),
}


class TestGray:
    """Gray images stay gray, with the same pixels and less memory."""

    @pytest.mark.parametrize("mode", GRAY_IMAGES)
    def test_decode_gray_or_rgb_keeps_gray_images_gray(self, mode):
        data = encoded(GRAY_IMAGES[mode])
        gray = decode_gray_or_rgb(data)
        assert gray.mode == "L"
        np.testing.assert_array_equal(np.asarray(gray.convert("RGB")), rgb(data))

    @pytest.mark.parametrize("mode", ["RGB", "P", "CMYK", "RGBA"])
    def test_decode_gray_or_rgb_converts_other_modes_to_rgb(self, mode):
        data = encoded(noise(1).convert(mode), "TIFF")
        np.testing.assert_array_equal(np.asarray(decode_gray_or_rgb(data)), rgb(data))

    def test_decode_gray_or_rgb_keeps_gray_pixels_gray(self):
        assert decode_gray_or_rgb(GRAY).mode == "L" and decode_gray_or_rgb(GRAY[..., None]).mode == "L"
        np.testing.assert_array_equal(rgb(GRAY), gray_rgb(GRAY))


class TestLarge:
    @pytest.fixture(autouse=True)
    def small_strips(self, monkeypatch):
        monkeypatch.setattr(decoding, "_STRIP", 100)

    @pytest.mark.parametrize("size", [(30, 40), (7, 200), (500, 3), (10, 10)])
    @pytest.mark.parametrize("mode", ["RGB", "L", "I;16"])
    def test_pixels_of_a_large_image_are_those_of_a_small_one(self, mode, size):
        image = noise(3, size).convert("RGB" if mode == "RGB" else "L")
        if mode == "I;16":
            image = Image.fromarray(np.asarray(image, dtype=np.uint16) * 257)
        np.testing.assert_array_equal(pixels_of(image), np.asarray(image))

    @pytest.mark.parametrize(
        "values", [RAMP, RAMP.astype(np.int32), np.linspace(0, 1, 256, dtype=np.float32).reshape(16, 16)]
    )
    def test_deep_images_are_scaled_strip_by_strip(self, values, monkeypatch):
        data = encoded(Image.fromarray(values), "TIFF")
        strip_by_strip = rgb(data)
        monkeypatch.setattr(decoding, "_STRIP", 1 << 22)
        np.testing.assert_array_equal(strip_by_strip, rgb(data))

    def test_deep_images_take_little_memory(self):
        side = 600
        data = encoded(Image.fromarray(np.zeros((side, side), dtype=np.uint16)))
        tracemalloc.start()
        try:
            decode_gray_or_rgb(data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 5 * side * side  # the bytes of the result, and a strip of doubles

    def test_too_many_pixels_are_reported_with_their_number(self, monkeypatch):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
        with pytest.raises(UnreadableImage, match=r"^it has 2,500 pixels, and at most 2,000 are decoded$"):
            decode(encoded(noise(1, (50, 50))))


def test_damaged_image_data_message():
    data = bytearray(encoded(Image.new("RGB", (8, 8)), "PNG"))
    data[data.index(b"IDAT") + 6] ^= 0xFF
    with pytest.raises(UnreadableImage, match=r"^its image data is damaged$"):
        decode(bytes(data))


@pytest.fixture
def decoded(monkeypatch):
    """The files decoded by simplejpeg, in order."""
    if importlib.util.find_spec("simplejpeg") is None:
        skip("simplejpeg is not installed")
    decoder, seen = decoding._decoder(), []

    def watched(data):
        pixels = decoder(data)
        seen.append(data)
        return pixels

    monkeypatch.setattr(decoding, "_decoder", lambda: watched)
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
    decoding._decoder.cache_clear()
    try:
        assert decoding._decoder() is None
        check(encoded(blurred(1), "JPEG"))
    finally:
        decoding._decoder.cache_clear()


def test_decode_pixels_from_many_threads():
    files = [encoded(blurred(seed), "JPEG") for seed in range(40)]
    with ThreadPoolExecutor(8) as pool:
        pixels = list(pool.map(decode_pixels, files))
    for data, own in zip(files, pixels, strict=True):
        np.testing.assert_array_equal(own, np.asarray(Image.open(io.BytesIO(data))))


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
    monkeypatch.setattr(decoding.features, "get_supported_modules", lambda: ["pil", "webp"])
    for cached in (decoding.image_suffixes, decoding._formats):
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
        for cached in (decoding.image_suffixes, decoding._formats):
            cached.cache_clear()


def test_image_suffixes_are_those_that_pillow_decodes():
    Image.init()
    assert {".jpg", ".jfif", ".png", ".tiff"} <= image_suffixes() <= set(Image.registered_extensions())
    assert (".avif" in image_suffixes()) == HAS_AVIF


def test_passed_over_images_without_files_has_no_notes():
    assert passed_over_images([]) == ()
