"""Contact sheets: a grid of random images of a test set with their labels."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from regrade.core import UNLABELED, ImageSource, InputError, TestSet, UnreadableImage
from regrade.testsets.decode import decode_gray_or_rgb
from regrade.testsets.registry import open_images

_TILE, _CAPTION, _MARGIN = 160, 34, 8
_PAPER, _INK, _FAINT = (255, 255, 255), (30, 30, 30), (110, 110, 110)


def contact_sheet(
    test_set: TestSet, source: ImageSource, *, rng: np.random.Generator, rows: int = 5, columns: int = 8
) -> Image.Image:
    """A grid of random images, each with its class name and id; unreadable images show the reason."""
    if rows < 1 or columns < 1:
        raise InputError(f"a contact sheet needs at least one row and one column, got {rows} x {columns}")
    chosen = np.sort(rng.choice(len(test_set), size=min(rows * columns, len(test_set)), replace=False))
    across = min(columns, len(chosen))
    down = -(-len(chosen) // across)
    width, height = _TILE + _MARGIN, _TILE + _CAPTION + _MARGIN
    sheet = Image.new("RGB", (across * width + _MARGIN, down * height + _MARGIN), _PAPER)
    images = open_images(source)
    for place, position in enumerate(chosen.tolist()):
        corner = _MARGIN + place % across * width, _MARGIN + place // across * height
        try:
            image = decode_gray_or_rgb(images.read(position), orientation=source.orientation, border=source.border)
        except UnreadableImage as error:
            image = _notice(str(error))
        _paste(sheet, image, corner)
        _caption(sheet, test_set, position, corner)
    return sheet


def _paste(sheet: Image.Image, image: Image.Image, corner: tuple[int, int]) -> None:
    scale = _TILE / max(image.size)
    small = image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))))
    sheet.paste(small, (corner[0] + (_TILE - small.width) // 2, corner[1] + (_TILE - small.height) // 2))


def _caption(sheet: Image.Image, test_set: TestSet, position: int, corner: tuple[int, int]) -> None:
    label = int(test_set.labels[position])
    name = "no label" if label == UNLABELED else test_set.class_space.names[label]
    pen = ImageDraw.Draw(sheet)
    lines = ((name, _INK, 2), (test_set.ids[position], _FAINT, 17))
    for text, ink, drop in lines:
        pen.text((corner[0], corner[1] + _TILE + drop), _fitted(text), fill=ink, font=ImageFont.load_default(12))


def _fitted(text: str) -> str:
    """A text truncated at its start to the width of a tile, since ids differ at their end."""
    font = ImageFont.load_default(12)
    text = " ".join(text.split())
    if font.getlength(text) <= _TILE:
        return text
    while len(text) > 1 and font.getlength("…" + text) > _TILE:
        text = text[1:]
    return "…" + text


def _notice(reason: str) -> Image.Image:
    tile = Image.new("RGB", (_TILE, _TILE), (235, 235, 235))
    ImageDraw.Draw(tile).text((8, _TILE // 2 - 8), _fitted(reason), fill=(160, 0, 0), font=ImageFont.load_default(12))
    return tile
