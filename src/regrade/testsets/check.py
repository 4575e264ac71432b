"""Check the images of a test set: which are missing, cannot be decoded or are repeated; and draw a contact sheet."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from regrade.core import (
    UNLABELED,
    Column,
    Images,
    ImageSource,
    InputError,
    StoredImage,
    Table,
    Tabular,
    TestSet,
    UnreadableImage,
)
from regrade.testsets.decode import decode_gray_or_rgb
from regrade.testsets.registry import open_images

ProgressCallback = Callable[[Iterable["_CheckedImage"], int], Iterable["_CheckedImage"]]
_NO_CONTENT = bytes(32)  # the digest of an image that is missing
_AHEAD = 64  # images read ahead per thread: enough to keep the threads busy, few enough to limit memory
_SAMPLE = 5  # number of images that are tried

_TILE, _CAPTION, _MARGIN = 160, 34, 8
_PAPER, _INK, _FAINT = (255, 255, 255), (30, 30, 30), (110, 110, 110)


@dataclass(frozen=True, repr=False)
class Checked(Tabular):
    """The result of checking a test set.

    ``unreadable`` lists each image that cannot be decoded, with the reason; ``repeated`` lists the groups of examples
    with the same content; ``digest`` is a hash of the content of all images, in order.
    """

    test_set: str
    examples: int
    expected: int | None
    classes: int
    least_in_class: int
    most_in_class: int
    unreadable: tuple[tuple[str, str], ...]
    repeated: tuple[tuple[str, ...], ...]
    smallest: tuple[int, int] | None
    largest: tuple[int, int] | None
    digest: str

    @property
    def sound(self) -> bool:
        """Whether every image can be read and the number of examples is the expected one."""
        return not self.unreadable and self.expected in (None, self.examples)

    def table(self) -> Table:
        """One row per finding."""
        expected = "" if self.expected is None else f" (expected {self.expected:,})"
        rows = [
            ("examples", f"{self.examples:,}{expected}"),
            ("classes with examples", f"{self.classes:,}"),
            ("examples per class", f"{self.least_in_class:,} to {self.most_in_class:,}"),
            ("unreadable images", f"{len(self.unreadable):,}"),
            ("repeated content", f"{len(self.repeated):,} groups"),
            ("image sizes", f"{_size(self.smallest)} to {_size(self.largest)}"),
            ("content", self.digest[:16]),
        ]
        rows += [(f"unreadable: {name}", reason) for name, reason in self.unreadable[:20]]
        rows += [("same content", ", ".join(group)) for group in self.repeated[:20]]
        status = "sound" if self.sound else "not sound"
        return Table(f"{self.test_set}: {status}", (Column("what", "what"), Column("found", "found")), tuple(rows))


@dataclass(frozen=True)
class _CheckedImage:
    """The content hash and size of one image, or why it cannot be read."""

    digest: bytes
    size: tuple[int, int] | None
    error: str


def check(
    test_set: TestSet,
    source: ImageSource,
    *,
    expected: int | None = None,
    workers: int = 2,
    watch: ProgressCallback | None = None,
) -> Checked:
    """Read and decode every image of a test set, and compare the number of examples with the expected one."""
    checked = list((watch or _no_progress)(_check_images(source, workers), len(test_set)))
    state = hashlib.sha256()
    groups: dict[bytes, list[str]] = {}
    for example, image in zip(test_set.ids, checked, strict=True):
        state.update(image.digest)
        if not image.error:
            groups.setdefault(image.digest, []).append(example)
    balance = Counter(test_set.labels[test_set.labeled].tolist())
    sizes = [image.size for image in checked if image.size]
    return Checked(
        test_set.name,
        len(test_set),
        expected,
        len(balance),
        min(balance.values(), default=0),
        max(balance.values(), default=0),
        tuple((i, image.error) for i, image in zip(test_set.ids, checked, strict=True) if image.error),
        tuple(tuple(group) for group in groups.values() if len(group) > 1),
        min(sizes, key=_area, default=None),
        max(sizes, key=_area, default=None),
        state.hexdigest(),
    )


def _check_images(source: ImageSource, workers: int) -> Iterator[_CheckedImage]:
    """Check all images in order, in several threads and with few images in memory at a time."""
    images = open_images(source)
    with ThreadPoolExecutor(workers) as pool:
        step = _AHEAD * workers
        for start in range(0, len(source.locations), step):
            block = range(start, min(start + step, len(source.locations)))
            yield from pool.map(lambda position: _check_image(images, position, source), block)


def _check_image(images: Images, position: int, source: ImageSource) -> _CheckedImage:
    image = None
    try:
        image = images.read(position)
        size = decode_gray_or_rgb(image, orientation=source.orientation, border=source.border).size
    except UnreadableImage as error:
        return _CheckedImage(_NO_CONTENT if image is None else content_hash(image), None, str(error))
    return _CheckedImage(content_hash(image), size, "")


def content_hash(image: StoredImage) -> bytes:
    """A hash of the stored content of an image."""
    if isinstance(image, bytes):
        return hashlib.sha256(image).digest()
    return hashlib.sha256(repr(image.shape).encode() + image.tobytes()).digest()


def content_digest(image: StoredImage) -> int:
    """The first eight bytes of a hash of a stored image: enough to notice that it was replaced."""
    return int.from_bytes(content_hash(image)[:8], "little")


def _no_progress(images: Iterable[_CheckedImage], total: int) -> Iterable[_CheckedImage]:  # noqa: ARG001
    return images


def _area(size: tuple[int, int]) -> int:
    return size[0] * size[1]


def _size(size: tuple[int, int] | None) -> str:
    return f"{size[0]} x {size[1]}" if size else "–"


def images_are_missing(source: ImageSource) -> bool:
    """Whether none of a few images can be read: the disk is not mounted, or the images were moved."""
    if not source.path.exists():
        return True
    positions = np.unique(np.linspace(0, len(source.locations) - 1, _SAMPLE).astype(int))
    try:
        images = open_images(source)
    except InputError:
        return True
    return not any(_can_be_read(images, int(position)) for position in positions)


def _can_be_read(images: Images, position: int) -> bool:
    try:
        images.read(position)
    except UnreadableImage:
        return False
    return True


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
