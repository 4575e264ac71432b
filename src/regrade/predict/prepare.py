"""Images read, decoded and preprocessed ahead of the model, by threads or processes, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from regrade.core import (
    UNKNOWN_STAMP,
    Images,
    ImageSource,
    ImageSourceError,
    Orientation,
    Preprocessing,
    StoredImage,
    UnreadableImage,
)
from regrade.executors.processes import ProcessPerThread
from regrade.models import Resizer, framed, framed_jpegs, is_for_gpu, normalized, usable_cores
from regrade.predict.image_check import content_digest
from regrade.testsets import decode_gray_or_rgb, decode_pixels, open_images

MOST_THREADS = 4
"""More threads in one process do not prepare more images."""


FingerprintFields = tuple[int, int, int]
"""Digest, size and time of change, in the order of `FINGERPRINT`."""


@dataclass(frozen=True)
class PreparationOptions:
    """How images are made ready: by which recipe, what resizes them, and whether the model normalizes them."""

    recipe: Preprocessing
    resizer: Resizer
    as_pixels: bool = False


@dataclass(frozen=True)
class Prepared:
    """One example's input, a JPEG that a GPU has yet to decode, or the reason why there is neither.

    ``fingerprint`` is that of the stored image, None where it cannot be read.
    """

    position: int
    input: Any | None
    trouble: str = ""
    jpeg: bytes | None = None
    fingerprint: FingerprintFields | None = None


def default_workers() -> int:
    """One a core that this process may use."""
    return usable_cores()


def check_place(source: ImageSource) -> None:
    """Raise where the place of all images has gone: that is no reason to call each of them unreadable."""
    if not source.path.exists():
        raise ImageSourceError(f"the images are no longer at {source.path}: bring them back and run again")


def prepare_all(
    images: Images,
    source: ImageSource,
    preparing: PreparationOptions,
    positions: Iterable[int],
    *,
    workers: int,
    ahead: int,
    processes: bool = False,
) -> Generator[Prepared, None, None]:
    """Prepare examples in the given order, never more than ``ahead`` of them before they are asked for.

    Workers are threads, or ``processes`` of their own, which open the images once more, at their source.
    """
    waiting: deque[Future[Prepared]] = deque()
    with ExitStack() as stack:
        one: Callable[[int], Prepared] = _Preparer(images, source, preparing)
        if processes:
            one = stack.enter_context(ProcessPerThread(one))
        pool = stack.enter_context(ThreadPoolExecutor(workers, thread_name_prefix="prepare"))
        try:
            for position in positions:
                waiting.append(pool.submit(one, position))
                if len(waiting) >= ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class _Preparer:
    """Prepares one example; sent to another process it opens the images there."""

    def __init__(self, images: Images, source: ImageSource, preparing: PreparationOptions) -> None:
        self._images = images
        self._source = source
        self._preparing = preparing

    def __call__(self, position: int) -> Prepared:
        stamp = self._images.stamp(position)  # before the content: a later change is then seen
        fingerprint = None
        try:
            stored = self._images.stored(position)
            fingerprint = (content_digest(stored), *(stamp or UNKNOWN_STAMP))
            image = self._images.rendered(position, stored)
        except UnreadableImage as error:
            return Prepared(position, None, str(error), fingerprint=fingerprint)
        return prepare(position, image, self._source, self._preparing, fingerprint)

    def __reduce__(self) -> tuple[object, ...]:
        return _reopened, (self._source, self._preparing)


def _reopened(source: ImageSource, preparing: PreparationOptions) -> _Preparer:
    return _Preparer(open_images(source), source, preparing)


def prepare(
    position: int,
    stored: StoredImage,
    source: ImageSource,
    preparing: PreparationOptions,
    fingerprint: FingerprintFields | None = None,
) -> Prepared:
    """Decode and preprocess one image as it is stored, unless a GPU is to do that."""
    if preparing.resizer is Resizer.GPU and isinstance(stored, bytes):
        upright = source.orientation is Orientation.UPRIGHT
        if is_for_gpu(stored, preparing.recipe, upright=upright):
            return Prepared(position, None, jpeg=stored, fingerprint=fingerprint)
    return _prepared_here(position, stored, source, preparing, fingerprint)


def finished_on_gpu(batch: Sequence[Prepared], source: ImageSource, preparing: PreparationOptions) -> list[Prepared]:
    """A batch whose JPEGs are decoded; what the GPU cannot decode goes the usual way."""
    files = {one.position: one.jpeg for one in batch if one.jpeg is not None}
    made = dict(zip(files, framed_jpegs(list(files.values()), preparing.recipe, border=source.border), strict=True))
    finished = []
    for one in batch:
        if one.jpeg is None:
            finished.append(one)
        elif made[one.position] is None:
            finished.append(_prepared_here(one.position, one.jpeg, source, preparing, one.fingerprint))
        else:
            finished.append(replace(one, input=made[one.position], jpeg=None))
    return finished


def _prepared_here(
    position: int,
    stored: StoredImage,
    source: ImageSource,
    preparing: PreparationOptions,
    fingerprint: FingerprintFields | None,
) -> Prepared:
    try:
        decoded = decode_gray_or_rgb if preparing.resizer is Resizer.PILLOW else decode_pixels
        image = decoded(stored, orientation=source.orientation, border=source.border)
    except UnreadableImage as error:
        return Prepared(position, None, str(error), fingerprint=fingerprint)
    pixels = framed(image, preparing.recipe, preparing.resizer)
    ready = pixels if preparing.as_pixels else normalized(pixels, preparing.recipe)
    return Prepared(position, ready, fingerprint=fingerprint)
