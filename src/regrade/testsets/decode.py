"""Recognize image files, and decode them with Pillow, or faster with simplejpeg, with their EXIF orientation."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError, features

from regrade.core import Orientation, StoredImage, UnreadableImage
from regrade.tables import skipped_files

_DEEP_MODES = ("I", "I;16", "I;16L", "I;16B", "F")
_GRAY_MODES = ("1", "L", "LA")
_STRIP = 1 << 22  # pixels per strip
_PROGRAMS = ("EPS",)  # formats that Pillow decodes by running another program
_ORIENTATION = 0x0112  # the EXIF tag
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
_JPEG = b"\xff\xd8\xff"  # the first bytes of every JPEG

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


class MutedWarnings:
    """A context manager that mutes Pillow: the first thread to enter mutes it, the last one to exit unmutes it.

    Warning filters are shared by all threads: one `warnings.catch_warnings` per thread would restore wrong filters.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._filters = warnings.catch_warnings()
        self._own: object = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._filters = warnings.catch_warnings()
                self._filters.__enter__()
            if not warnings.filters or warnings.filters[0] is not self._own:  # other code may have added a filter
                warnings.filterwarnings("ignore", module=r"PIL\.")
                self._own = warnings.filters[0]
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._filters.__exit__(kind, error, trace)


SILENCE = MutedWarnings()
"""Mutes warnings about large images, which have a limit anyway, and about invalid EXIF data."""


def decode(stored: StoredImage, *, orientation: Orientation = Orientation.UPRIGHT, border: int = 0) -> Image.Image:
    """Decode an image to RGB by its content, and crop ``border`` pixels on every side.

    Gray, palette and CMYK images are converted, 16-bit gray is scaled to 8 bits, and animations give their first frame.
    Damaged or unknown content, and images of more than 178,956,970 pixels (Pillow's limit), raise `UnreadableImage`.
    """
    image = decode_gray_or_rgb(stored, orientation=orientation, border=border)
    return image if image.mode == "RGB" else image.convert("RGB")


def decode_gray_or_rgb(
    stored: StoredImage, *, orientation: Orientation = Orientation.UPRIGHT, border: int = 0
) -> Image.Image:
    """As `decode`, but gray images stay gray (mode L), which takes less memory.

    Converting to RGB after a resize gives the same result, since channels are resized independently.
    """
    image = _decoded(stored, orientation) if isinstance(stored, bytes) else _from_pixels(stored)
    if not border:
        return image
    if min(image.size) <= 2 * border:
        raise UnreadableImage(f"an image of {image.width} x {image.height} is too small to crop a border of {border}")
    return image.crop((border, border, image.width - border, image.height - border))


def pixels_of(image: Image.Image) -> NDArray[Any]:
    """The pixels of an image as an array; large images are copied in strips, since Pillow copies twice."""
    if image.width * image.height <= _STRIP:
        return np.asarray(image)
    strips = _strips(image)
    first = next(strips)
    pixels = np.empty((image.height, *first.shape[1:]), dtype=first.dtype)
    top = 0
    for rows in chain((first,), strips):
        pixels[top : top + len(rows)] = rows
        top += len(rows)
    return pixels


def _strips(image: Image.Image) -> Iterator[NDArray[Any]]:
    """The pixels of an image in strips of rows, from top to bottom."""
    rows = max(_STRIP // image.width, 1)
    for top in range(0, image.height, rows):
        yield np.asarray(image.crop((0, top, image.width, min(top + rows, image.height))))


def _decoded(content: bytes, orientation: Orientation) -> Image.Image:
    try:
        with SILENCE:
            image: Image.Image = Image.open(io.BytesIO(content))
            if image.format in _PROGRAMS:
                raise UnidentifiedImageError
            image.load()
            return _as_gray_or_rgb(_upright(image) if orientation is Orientation.UPRIGHT else image)
    except Exception as error:  # decoders raise many kinds of errors for damaged files
        raise UnreadableImage(_reason(error, content)) from None


def turn_of(image: Image.Image) -> Image.Transpose | None:
    """The transposition that the EXIF orientation requires; None if there is no valid orientation."""
    try:
        value = image.getexif().get(_ORIENTATION)
    except Exception:  # the EXIF data is damaged, but the image may be intact
        return None
    return _TURNS.get(value) if isinstance(value, int) else None


def _upright(image: Image.Image) -> Image.Image:
    turn = turn_of(image)
    return image if turn is None else image.transpose(turn)


def _as_gray_or_rgb(image: Image.Image) -> Image.Image:
    if image.mode in _DEEP_MODES:
        return Image.fromarray(_as_bytes(image, _white(image)))
    if image.mode in _GRAY_MODES:
        return image if image.mode == "L" else image.convert("L")
    if image.mode in ("P", "PA") and "transparency" in image.info:
        image = image.convert("RGBA")  # Pillow warns if a palette with transparency is converted to RGB directly
    return image if image.mode == "RGB" else image.convert("RGB")


def _white(image: Image.Image) -> float:
    """The value of white: given by 16-bit formats, otherwise inferred from the largest value."""
    if image.mode.startswith("I;16") or image.format == "PPM":
        return 65535
    largest = max(float(np.nanmax(rows, initial=0)) for rows in _strips(image))
    if largest > 255:
        return 65535
    return 1 if image.mode == "F" and largest <= 1 else 255


def _as_bytes(image: Image.Image, white: float) -> NDArray[np.uint8]:
    """Shape (height, width): values from 0 to ``white`` scaled to bytes, in strips to limit memory."""
    scaled = np.empty((image.height, image.width), dtype=np.uint8)
    top = 0
    for rows in _strips(image):
        numbers = np.nan_to_num(np.asarray(rows, dtype=np.float64)) * (255 / white)
        scaled[top : top + len(rows)] = np.clip(np.round(numbers), 0, 255)
        top += len(rows)
    return scaled


def _from_pixels(pixels: NDArray[np.uint8]) -> Image.Image:
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3)):
        raise UnreadableImage(f"pixels must be uint8 of shape (height, width, 3), got {pixels.dtype} {pixels.shape}")
    if not pixels.size:
        raise UnreadableImage(f"an array of shape {pixels.shape} has no pixels")
    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    return Image.fromarray(np.ascontiguousarray(flat))


def _reason(error: Exception, data: bytes) -> str:
    if not data:
        return "the file is empty"
    if isinstance(error, UnidentifiedImageError):
        return "an HTML page, not an image" if _HTML.match(data) else "not an image of a known format"
    if isinstance(error, Image.DecompressionBombError):
        pixels, limit = (f"{int(number):,}" for number in re.findall(r"\d+", str(error))[:2])
        return f"it has {pixels} pixels, and at most {limit} are decoded"
    if isinstance(error, MemoryError):
        return "there is not enough memory for its pixels"
    if isinstance(error, EOFError) or "truncated" in str(error):
        return "the file is truncated: it ends before its last pixel"
    return "its image data is damaged"


def decode_pixels(
    image: StoredImage, *, orientation: Orientation = Orientation.UPRIGHT, border: int = 0
) -> NDArray[np.uint8]:
    """The pixels of `decode_gray_or_rgb`, of shape (height, width, 3), or (height, width) for gray images.

    The result is the same with and without simplejpeg.
    """
    plain = _plain_jpeg(image, orientation) if isinstance(image, bytes) and not border else None
    return plain if plain is not None else _by_pillow(image, orientation, border)


def _by_pillow(image: StoredImage, orientation: Orientation, border: int) -> NDArray[np.uint8]:
    return pixels_of(decode_gray_or_rgb(image, orientation=orientation, border=border))


def _plain_jpeg(data: bytes, orientation: Orientation) -> NDArray[np.uint8] | None:
    """The pixels of an undamaged RGB JPEG that needs no rotation; None if Pillow has to decode it."""
    decoder = _decoder()
    if decoder is None or not data.startswith(_JPEG):
        return None
    try:
        with SILENCE:
            image = Image.open(io.BytesIO(data))
            plain = image.format == "JPEG" and image.mode == "RGB"
            turned = plain and orientation is Orientation.UPRIGHT and turn_of(image) is not None
        return decoder(data) if plain and not turned else None
    except Exception:  # damaged: Pillow decodes it or gives the reason why not
        return None


@cache
def _decoder() -> Callable[[bytes], NDArray[np.uint8]] | None:
    try:
        from simplejpeg import decode_jpeg
    except Exception:  # not installed, or incompatible with the installed NumPy
        return None
    return lambda data: decode_jpeg(data, "RGB", fastdct=False, fastupsample=False, strict=True)


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
