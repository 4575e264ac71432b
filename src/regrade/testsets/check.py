"""Is a test set what it claims to be? Every image read, every count compared."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from regrade.core import Column, Images, ImageSource, StoredImage, Table, Tabular, TestSet, UnreadableImage
from regrade.testsets.decode import decode_gray_or_rgb
from regrade.testsets.registry import open_images

ProgressCallback = Callable[[Iterable["_Seen"], int], Iterable["_Seen"]]
_NOTHING = bytes(32)  # stands in the hash for a image that is not there
_AHEAD = 64  # images read ahead a thread: enough to keep them busy, few enough to keep memory flat


@dataclass(frozen=True, repr=False)
class Checked(Tabular):
    """What checking a test set found.

    ``unreadable`` gives each image that cannot be decoded with the reason; ``repeated`` the groups of examples
    with the same content; ``digest`` is a hash over the content of all images in order.
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
        """Whether every image can be read and the count is the expected one."""
        return not self.unreadable and self.expected in (None, self.examples)

    def table(self) -> Table:
        """One line a finding."""
        expected = "" if self.expected is None else f" (expected {self.expected:,})"
        rows = [
            ("examples", f"{self.examples:,}{expected}"),
            ("classes with examples", f"{self.classes:,}"),
            ("examples a class", f"{self.least_in_class:,} to {self.most_in_class:,}"),
            ("unreadable images", f"{len(self.unreadable):,}"),
            ("repeated content", f"{len(self.repeated):,} groups"),
            ("image sizes", f"{_size(self.smallest)} to {_size(self.largest)}"),
            ("content", self.digest[:16]),
        ]
        rows += [(f"unreadable: {name}", reason) for name, reason in self.unreadable[:20]]
        rows += [("same content", ", ".join(group)) for group in self.repeated[:20]]
        verdict = "sound" if self.sound else "not sound"
        return Table(f"{self.test_set}: {verdict}", (Column("what", "what"), Column("found", "found")), tuple(rows))


@dataclass(frozen=True)
class _Seen:
    """What one image turned out to be."""

    digest: bytes
    size: tuple[int, int] | None
    trouble: str


def check(
    test_set: TestSet,
    source: ImageSource,
    *,
    expected: int | None = None,
    workers: int = 2,
    watch: ProgressCallback | None = None,
) -> Checked:
    """Read and decode every image of a test set; nothing is taken on trust."""
    seen = list((watch or _unwatched)(_look_at_all(source, workers), len(test_set)))
    state = hashlib.sha256()
    groups: dict[bytes, list[str]] = {}
    for example, image in zip(test_set.ids, seen, strict=True):
        state.update(image.digest)
        if not image.trouble:
            groups.setdefault(image.digest, []).append(example)
    balance = Counter(test_set.labels[test_set.labeled].tolist())
    sizes = [image.size for image in seen if image.size]
    return Checked(
        test_set.name,
        len(test_set),
        expected,
        len(balance),
        min(balance.values(), default=0),
        max(balance.values(), default=0),
        tuple((i, image.trouble) for i, image in zip(test_set.ids, seen, strict=True) if image.trouble),
        tuple(tuple(group) for group in groups.values() if len(group) > 1),
        min(sizes, key=_area, default=None),
        max(sizes, key=_area, default=None),
        state.hexdigest(),
    )


def _look_at_all(source: ImageSource, workers: int) -> Iterator[_Seen]:
    """Images in order, decoded by some threads, only a few of them in memory at a time."""
    images = open_images(source)
    with ThreadPoolExecutor(workers) as pool:
        step = _AHEAD * workers
        for start in range(0, len(source.locations), step):
            block = range(start, min(start + step, len(source.locations)))
            yield from pool.map(lambda position: _look_at(images, position, source), block)


def _look_at(images: Images, position: int, source: ImageSource) -> _Seen:
    image = None
    try:
        image = images.read(position)
        size = decode_gray_or_rgb(image, orientation=source.orientation, border=source.border).size
    except UnreadableImage as error:
        return _Seen(_NOTHING if image is None else content_hash(image), None, str(error))
    return _Seen(content_hash(image), size, "")


def content_hash(image: StoredImage) -> bytes:
    """A hash of a image as it is stored."""
    if isinstance(image, bytes):
        return hashlib.sha256(image).digest()
    return hashlib.sha256(repr(image.shape).encode() + image.tobytes()).digest()


def _unwatched(seen: Iterable[_Seen], total: int) -> Iterable[_Seen]:  # noqa: ARG001
    return seen


def _area(size: tuple[int, int]) -> int:
    return size[0] * size[1]


def _size(size: tuple[int, int] | None) -> str:
    return f"{size[0]} x {size[1]}" if size else "–"
