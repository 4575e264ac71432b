"""Thumbnails of the images of a test set, for pages that contain their images."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable

from PIL import Image

from regrade.core import ImageSource, UnreadableImage
from regrade.testsets import decode_gray_or_rgb, open_images

_SIDE = 192  # pixels of the longer side
_JPEG_QUALITY = 80

ThumbnailLoader = Callable[[int], bytes | None]
"""Loads the image at a position as a small JPEG; None if it cannot be read."""


def thumbnails(source: ImageSource | None) -> ThumbnailLoader:
    """A function that returns the thumbnail of an image, None if the image cannot be read."""
    if source is None:
        return lambda _: None
    images = open_images(source)

    def look(position: int) -> bytes | None:
        try:
            image = decode_gray_or_rgb(images.read(position), orientation=source.orientation, border=source.border)
        except UnreadableImage:
            return None
        scale = _SIDE / max(image.size)
        wide, high = (max(1, round(side * scale)) for side in image.size)
        by = Image.Resampling.NEAREST if scale >= 2 else Image.Resampling.LANCZOS  # small images keep their pixels
        buffer = io.BytesIO()
        image.resize((wide, high), by).convert("RGB").save(buffer, format="JPEG", quality=_JPEG_QUALITY)
        return buffer.getvalue()

    return look


def image_element(jpeg: bytes | None, name: str) -> str:
    """The image as an element of a page that contains it, or a notice that it cannot be read."""
    if jpeg is None:
        return '<div class="gone">cannot be read</div>'
    data = base64.b64encode(jpeg).decode()
    return f'<img loading="lazy" alt="{html.escape(name)}" src="data:image/jpeg;base64,{data}">'
