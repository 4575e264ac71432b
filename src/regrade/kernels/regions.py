"""Images on a device, and the parts of them that a model sees."""

from __future__ import annotations

from typing import NamedTuple


class DeviceImage(NamedTuple):
    """An image (height, width, 3) of bytes on a device: the address of its first byte and the bytes per row."""

    address: int
    height: int
    width: int
    pitch: int


class Region(NamedTuple):
    """The part of an image to resize, its size afterwards, and the corner of the square of that to keep, in pixels."""

    left: int
    top: int
    width: int
    height: int
    resized_width: int
    resized_height: int
    keep_left: int
    keep_top: int
