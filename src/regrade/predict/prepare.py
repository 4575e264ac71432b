"""Read, decode and preprocess images ahead of the model, in order; tell whether images have changed since."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from regrade.core import (
    UNKNOWN_STAMP,
    Fingerprints,
    Images,
    ImageSource,
    ImageSourceError,
    Orientation,
    Preprocessing,
    StoredImage,
    UnreadableImage,
)
from regrade.core.arrays import IntArray
from regrade.executors.processes import ProcessPerThread
from regrade.models import Resizer, crop_and_resize, gpu_can_decode, normalize, usable_cores
from regrade.testsets import decode_gray_or_rgb, decode_pixels, open_images
from regrade.testsets.check import content_digest

MAX_THREADS = 4
"""More threads in one process do not prepare more images."""


FingerprintFields = tuple[int, int, int]
"""Digest, size and modification time, in the order of `FINGERPRINT`."""

Ways = tuple[int, ...]
"""In which ways an image is prepared: the numbers of some `PreparationOptions`."""

_Pixels = Callable[[Preprocessing, Resizer], Any]

_BLOCK = 4096  # images at a time, to limit memory


@dataclass(frozen=True)
class PreparationOptions:
    """How images are prepared: the preprocessing, the resizer, and whether the model itself normalizes."""

    preprocessing: Preprocessing
    resizer: Resizer
    as_pixels: bool = False


@dataclass(frozen=True)
class Prepared:
    """The input of one example, or a JPEG that a GPU has yet to decode, or the error.

    ``fingerprint`` is that of the stored image, None if it cannot be read.
    """

    position: int
    input: Any | None
    error: str = ""
    jpeg: bytes | None = None
    fingerprint: FingerprintFields | None = None


def default_workers() -> int:
    """One per CPU core that this process may use."""
    return usable_cores()


def check_source_exists(source: ImageSource) -> None:
    """Raise if the location of all images is gone: then the images are not unreadable but missing."""
    if not source.path.exists():
        raise ImageSourceError(f"the images are no longer at {source.path}: bring them back and run again")


def prepare_all(
    images: Images,
    source: ImageSource,
    options: Sequence[PreparationOptions],
    requests: Iterable[tuple[int, Ways]],
    *,
    workers: int,
    ahead: int,
    processes: bool = False,
) -> Generator[dict[int, Prepared], None, None]:
    """Prepare examples in the given order, at most ``ahead`` of them in advance.

    A request is a position and the ``options`` by their numbers; the results are by these numbers. Each image is read
    and decoded once. Workers are threads, or ``processes``, which open the images at their source themselves.
    """
    waiting: deque[Future[dict[int, Prepared]]] = deque()
    with ExitStack() as stack:
        prepare_example: Callable[[tuple[int, Ways]], dict[int, Prepared]] = Preparer(images, source, options)
        if processes:
            prepare_example = stack.enter_context(ProcessPerThread(prepare_example))
        pool = stack.enter_context(ThreadPoolExecutor(workers, thread_name_prefix="prepare"))
        try:
            for request in requests:
                waiting.append(pool.submit(prepare_example, request))
                if len(waiting) >= ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class Preparer:
    """Prepares one example in several ways; when sent to another process, it opens the images there."""

    def __init__(self, images: Images, source: ImageSource, options: Sequence[PreparationOptions]) -> None:
        self._images = images
        self._source = source
        self._options = options

    def __call__(self, request: tuple[int, Ways]) -> dict[int, Prepared]:
        position, ways = request
        stamp = self._images.stamp(position)  # before the content, so that a later change is noticed
        fingerprint = None
        try:
            stored = self._images.stored(position)
            fingerprint = (content_digest(stored), *(stamp or UNKNOWN_STAMP))
            image = self._images.rendered(position, stored)
        except UnreadableImage as error:
            return dict.fromkeys(ways, Prepared(position, None, str(error), fingerprint=fingerprint))
        return prepare(position, image, self._source, {way: self._options[way] for way in ways}, fingerprint)

    def __reduce__(self) -> tuple[object, ...]:
        return _reopened, (self._source, self._options)


def _reopened(source: ImageSource, options: Sequence[PreparationOptions]) -> Preparer:
    return Preparer(open_images(source), source, options)


def prepare(
    position: int,
    stored: StoredImage,
    source: ImageSource,
    options: Mapping[int, PreparationOptions],
    fingerprint: FingerprintFields | None = None,
) -> dict[int, Prepared]:
    """Decode one stored image once, and preprocess it in several ways; a JPEG that a GPU is to decode is left to it."""
    pixels, upright = _pixels_once(stored, source), source.orientation is Orientation.UPRIGHT

    def prepared(option: PreparationOptions) -> Prepared:
        jpeg = stored if option.resizer is Resizer.GPU and isinstance(stored, bytes) else None
        if jpeg is not None and gpu_can_decode(jpeg, option.preprocessing, upright=upright):
            return Prepared(position, None, jpeg=jpeg, fingerprint=fingerprint)
        return _prepared(position, pixels, option, fingerprint)

    return {way: prepared(option) for way, option in options.items()}


def prepare_on_cpu(position: int, stored: StoredImage, source: ImageSource, options: PreparationOptions) -> Prepared:
    """Decode and preprocess one stored image on the CPU."""
    return _prepared(position, _pixels_once(stored, source), options, None)


def _pixels_once(stored: StoredImage, source: ImageSource) -> _Pixels:
    """The pixels of an image, cropped and resized; it is decoded once."""

    @cache
    def decoded(resizer: Resizer) -> Any:
        decode = decode_gray_or_rgb if resizer is Resizer.PILLOW else decode_pixels
        return decode(stored, orientation=source.orientation, border=source.border)

    return cache(lambda preprocessing, resizer: crop_and_resize(decoded(resizer), preprocessing, resizer))


def _prepared(
    position: int, pixels: _Pixels, options: PreparationOptions, fingerprint: FingerprintFields | None
) -> Prepared:
    try:
        levels = pixels(options.preprocessing, options.resizer)
    except UnreadableImage as error:
        return Prepared(position, None, str(error), fingerprint=fingerprint)
    model_input = levels if options.as_pixels else normalize(levels, options.preprocessing)
    return Prepared(position, model_input, fingerprint=fingerprint)


def is_readable(images: Images, source: ImageSource, position: int) -> bool:
    """Whether an image can be read and decoded."""
    try:
        decode_gray_or_rgb(images.read(position), orientation=source.orientation, border=source.border)
    except UnreadableImage:
        return False
    return True


def changed_images(
    images: Images, fingerprints: Fingerprints, positions: IntArray, *, first: int = 0, workers: int
) -> Iterator[int]:
    """The positions of images whose content differs from their fingerprints, which start at position ``first``.

    Only images whose file has another size or modification time than before, or an unknown one, are read. An
    unreadable image does not count as changed.
    """
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(positions), _BLOCK):
            pieces = np.array_split(positions[start : start + _BLOCK], workers)
            by_stamp = pool.map(lambda piece: _suspects(images, fingerprints, piece, first), pieces)
            suspects = np.concatenate(list(by_stamp)).tolist()
            digests = pool.map(lambda position: _digest_now(images, position), suspects)
            for position, digest in zip(suspects, digests, strict=True):
                if digest not in (None, int(fingerprints["digest"][position - first])):
                    yield position


def _suspects(images: Images, fingerprints: Fingerprints, positions: IntArray, first: int) -> IntArray:
    """The positions of images whose file may have changed: its stamp differs, or is not known."""
    now = np.array([images.stamp(position) or UNKNOWN_STAMP for position in positions.tolist()]).reshape(-1, 2)
    before = fingerprints[positions - first]
    same = (now[:, 0] == before["size"]) & (now[:, 1] == before["modified"])
    return positions[~same | (now == UNKNOWN_STAMP).all(axis=1)]


def _digest_now(images: Images, position: int) -> int | None:
    try:
        return content_digest(images.stored(position))
    except UnreadableImage:
        return None
