"""Which files are images: by their suffix, and without one by their content."""

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
    """The suffixes of images that are read, in lower case; .avif only where Pillow can decode it."""
    return frozenset(suffix for name in _formats() for suffix in _FORMATS[name])


def is_image(path: Path) -> bool:
    """Whether a file without a suffix is an image, by how its content begins."""
    try:
        with SILENCE, Image.open(path, formats=_formats()):
            return True
    except Exception:  # what is no image shows as whatever error the parser of a format has for it
        return False


def passed_over_images(kinds: Iterable[str]) -> tuple[str, ...]:
    """Notes that count files that are not images, by their suffixes."""
    seen = list(kinds)
    notes = skipped_files(seen, expected="images regrade reads")
    if ".avif" in seen:
        return (*notes, "to read .avif files, install Pillow 11.3 or newer")
    return notes


@cache
def _formats() -> tuple[str, ...]:
    # Pillow before 11.3 does not know the feature and warns of its name
    has_avif = "avif" in features.get_supported_modules()
    return tuple(name for name in _FORMATS if name != "AVIF" or has_avif)
