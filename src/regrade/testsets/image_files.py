"""Recognize image files: by their suffix, or by their content if they have none."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from PIL import Image, features

from regrade.tables import skipped_files
from regrade.testsets.decode import SILENCE

_FORMATS = {
    "JPEG": (".jpeg", ".jpg", ".jpe", ".jfif"),
    "PNG": (".png",),
    "WEBP": (".webp",),
    "BMP": (".bmp",),
    "GIF": (".gif",),
    "TIFF": (".tif", ".tiff"),
    "PPM": (".ppm", ".pgm", ".pbm", ".pnm"),
    "AVIF": (".avif",),
}


@cache
def image_suffixes() -> frozenset[str]:
    """The suffixes of supported image formats, in lower case; .avif only if Pillow can decode it."""
    return frozenset(suffix for name in _formats() for suffix in _FORMATS[name])


def is_image(path: Path) -> bool:
    """Whether a file is an image, judged by the beginning of its content."""
    try:
        with SILENCE, Image.open(path, formats=_formats()):
            return True
    except Exception:  # decoders raise many kinds of errors for files that are not images
        return False


def passed_over_images(kinds: Iterable[str]) -> tuple[str, ...]:
    """Notes with the number of skipped files that are not images, by suffix."""
    suffixes = list(kinds)
    notes = skipped_files(suffixes, expected="images regrade reads")
    if ".avif" in suffixes:
        return (*notes, "to read .avif files, install Pillow 11.3 or newer")
    return notes


@cache
def _formats() -> tuple[str, ...]:
    # Pillow before 11.3 warns about the unknown feature
    has_avif = "avif" in features.get_supported_modules()
    return tuple(name for name in _FORMATS if name != "AVIF" or has_avif)
