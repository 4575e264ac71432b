"""Tiles: any image becomes the same kind of JPEG, with the whole image centered on one background."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin
from small_set import encoded

from regrade.build.tiles import BACKGROUND, LARGEST_CROP, TileCrop, TileFormat, encode_tile, render_tile
from regrade.core import ImageSource, InputError, Orientation, UnreadableImage

FORMAT = TileFormat(64, 90)
SOURCE = ImageSource("folder", ".", ("x",))
COLORS = {"red": (200, 30, 30), "green": (30, 160, 30), "blue": (30, 30, 200), "yellow": (200, 200, 30)}


def quarters(size=(128, 128)):
    """An image whose quarters are red, green, blue and yellow, from the top left, by rows."""
    image = Image.new("RGB", size)
    width, height = size[0] // 2, size[1] // 2
    for number, color in enumerate(COLORS.values()):
        corner = (number % 2 * width, number // 2 * height)
        image.paste(color, (*corner, corner[0] + width, corner[1] + height))
    return image


def opened(content):
    image = Image.open(io.BytesIO(content))
    image.load()
    return image


def tile_of(stored, source=SOURCE, tile_format=FORMAT):
    return opened(render_tile(stored, source, tile_format))


def color_at(tile, x, y):
    """The nearest of the named colors and the background."""
    pixel = np.array(tile.getpixel((x, y)))
    named = {**COLORS, "background": BACKGROUND}
    return min(named, key=lambda name: np.abs(pixel - np.array(named[name])).sum())


def quarter_colors(tile):
    return [color_at(tile, x, y) for y in (16, 48) for x in (16, 48)]


def deep_gray():
    return Image.fromarray(np.linspace(0, 65535, 64 * 64).reshape(64, 64).astype(np.uint16))


def with_exif(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "camera"
    return exif


def with_text():
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", "a control")
    return info


STORED = {
    "rgb png": encoded(quarters()),
    "rgba png": encoded(quarters().convert("RGBA")),
    "palette gif": encoded(quarters().convert("P"), "GIF"),
    "gray png": encoded(quarters().convert("L")),
    "gray with alpha": encoded(quarters().convert("LA")),
    "bilevel": encoded(quarters().convert("1")),
    "16 bit gray": encoded(deep_gray()),
    "cmyk jpeg": encoded(quarters().convert("CMYK"), "JPEG"),
    "progressive jpeg": encoded(quarters(), "JPEG", progressive=True, quality=40, comment="a control"),
    "jpeg with exif": encoded(quarters(), "JPEG", exif=with_exif(1), dpi=(300, 300), icc_profile=b"profile"),
    "png with text": encoded(quarters(), "PNG", pnginfo=with_text()),
    "webp": encoded(quarters(), "WEBP"),
    "tiff": encoded(quarters(), "TIFF"),
    "pixels": np.asarray(quarters()),
    "gray pixels": np.asarray(quarters().convert("L")),
    "large": encoded(quarters((1200, 900)), "JPEG"),
    "small": encoded(quarters((6, 4))),
}


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_every_image_becomes_the_same_kind_of_jpeg(stored):
    content = render_tile(stored, SOURCE, FORMAT)
    tile = opened(content)
    assert (tile.format, tile.mode, tile.size) == ("JPEG", "RGB", (64, 64))
    assert content.startswith(FORMAT.header)
    assert FORMAT.is_complete(content)
    assert not dict(tile.getexif())
    assert not {"icc_profile", "comment", "exif", "dpi", "progressive"} & set(tile.info)


@pytest.mark.parametrize("kind", ["rgb png", "rgba png", "cmyk jpeg", "progressive jpeg", "tiff", "pixels", "webp"])
def test_colors_are_kept(kind):
    assert quarter_colors(tile_of(STORED[kind])) == list(COLORS)


def test_16_bits_are_scaled_to_8():
    tile = tile_of(STORED["16 bit gray"])
    assert [tile.getpixel((32, y))[0] for y in (1, 32, 62)] == pytest.approx([4, 128, 251], abs=6)


def test_the_header_holds_dimensions_and_tables_and_ends_before_the_pixels():
    """JFIF, two quantization tables, a baseline frame, the four standard Huffman tables, and the start of the scan."""
    header, place, markers = FORMAT.header, 2, []
    while place < len(header):
        assert header[place] == 0xFF
        markers.append(header[place + 1])
        place += 2 + int.from_bytes(header[place + 2 : place + 4], "big")
    assert place == len(header)
    assert markers == [0xE0, 0xDB, 0xDB, 0xC0, 0xC4, 0xC4, 0xC4, 0xC4, 0xDA]


def test_headers_differ_by_size_and_quality():
    headers = {TileFormat(size, quality).header for size in (64, 65) for quality in (80, 90)}
    assert len(headers) == 4
    assert not TileFormat(64, 80).is_complete(render_tile(STORED["webp"], SOURCE, FORMAT))


def test_a_truncated_tile_is_not_complete():
    content = render_tile(STORED["webp"], SOURCE, FORMAT)
    assert not any(FORMAT.is_complete(content[:end]) for end in range(len(content)))


@pytest.mark.parametrize(
    ("size", "box"), [((200, 100), (0, 16, 64, 48)), ((100, 200), (16, 0, 48, 64)), ((90, 90), (0, 0, 64, 64))]
)
def test_the_whole_image_is_centered_on_the_background(size, box):
    tile = np.asarray(encode_and_open(Image.new("RGB", size, (250, 250, 250)))).astype(int)
    is_image = (tile > 190).all(axis=2)
    rows, columns = np.flatnonzero(is_image.any(axis=1)), np.flatnonzero(is_image.any(axis=0))
    assert (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1) == box
    far = np.ones((64, 64), dtype=bool)
    far[max(box[1] - 8, 0) : box[3] + 8, max(box[0] - 8, 0) : box[2] + 8] = False
    assert (tile[far] == BACKGROUND).all()


def encode_and_open(image):
    return opened(encode_tile(image, FORMAT))


def test_small_images_are_enlarged():
    assert quarter_colors(tile_of(encoded(quarters((20, 20))))) == list(COLORS)
    assert [FORMAT.enlarges(quarters(size)) for size in ((62, 62), (64, 10), (63, 64), (1000, 20))] == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("size", [(1, 1), (1, 5000), (5000, 1), (3, 1)])
def test_extreme_shapes_become_tiles(size):
    content = encode_tile(Image.new("RGB", size, (250, 0, 0)), FORMAT)
    assert FORMAT.is_complete(content)
    assert opened(content).size == (64, 64)


@pytest.mark.parametrize(
    ("orientation", "colors"),
    [
        (Orientation.UPRIGHT, ["blue", "red", "yellow", "green"]),  # 6: turned by 90 degrees clockwise
        (Orientation.AS_STORED, ["red", "green", "blue", "yellow"]),
    ],
)
def test_the_exif_orientation_follows_the_rule_of_the_source(orientation, colors):
    stored = encoded(quarters(), "JPEG", exif=with_exif(6))
    tile = tile_of(stored, ImageSource("folder", ".", ("x",), orientation))
    assert quarter_colors(tile) == colors


def test_the_border_of_the_source_is_cropped():
    image = Image.new("RGB", (84, 84), (30, 30, 200))
    image.paste((200, 30, 30), (10, 10, 74, 74))
    tile = tile_of(encoded(image), ImageSource("folder", ".", ("x",), border=10))
    assert {color_at(tile, x, y) for x in (0, 32, 63) for y in (0, 32, 63)} == {"red"}


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (b"<!DOCTYPE html><title>404</title>", "an HTML page, not an image"),
        (b"", "the file is empty"),
        (STORED["large"][:3000], "the file is truncated"),
        (np.zeros((4, 4, 3)), "pixels must be uint8"),
    ],
)
def test_unreadable_images_raise_their_reason(stored, reason):
    with pytest.raises(UnreadableImage, match=reason):
        render_tile(stored, SOURCE, FORMAT)


@pytest.mark.parametrize(
    ("size", "quality", "message"),
    [
        (15, 90, "the size of tiles must be from 16 to 2048 pixels, got 15"),
        (2049, 90, "got 2049"),
        (256, 0, "the JPEG quality of tiles must be from 1 to 100, got 0"),
        (256, 101, "got 101"),
    ],
)
def test_formats_outside_the_limits_are_refused(size, quality, message):
    with pytest.raises(InputError, match=message):
        TileFormat(size, quality)


@given(st.integers(1, 90), st.integers(1, 90), st.integers(16, 80), st.integers(1, 100), st.integers(0, 9))
def test_all_tiles_of_a_format_have_one_header(width, height, size, quality, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    tile_format = TileFormat(size, quality)
    content = encode_tile(Image.fromarray(pixels), tile_format)
    assert tile_format.is_complete(content)
    assert opened(content).size == (size, size)


@given(st.text())
def test_a_crop_follows_from_the_name_and_is_small(name):
    crop = TileCrop.of(name)
    assert crop == TileCrop.of(name) != TileCrop.of(name + "x")
    left, top, right, bottom = crop.box(Image.new("L", (200, 100)))
    assert 0 <= left <= 200 * LARGEST_CROP
    assert 200 * (1 - LARGEST_CROP) <= right <= 200
    assert 0 <= top <= 100 * LARGEST_CROP
    assert 100 * (1 - LARGEST_CROP) <= bottom <= 100


def test_a_cropped_tile_shows_the_same_image():
    crop = TileCrop(LARGEST_CROP, 0, 0, LARGEST_CROP)
    content = render_tile(STORED["rgb png"], SOURCE, FORMAT, crop)
    assert content != render_tile(STORED["rgb png"], SOURCE, FORMAT)
    assert quarter_colors(opened(content)) == list(COLORS)
    assert color_at(opened(content), 0, 0) == "red"  # no border, although the image is no longer square


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_sizes_of_files_are_multiples(stored):
    assert len(render_tile(stored, SOURCE, FORMAT)) % (64 * 64 // 2) == 0
