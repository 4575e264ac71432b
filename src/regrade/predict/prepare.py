"""Read, decode and preprocess images ahead of the model, by threads or processes, in order."""

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
from regrade.models import (
    Resizer,
    crop_and_resize,
    decode_and_crop_jpegs,
    gpu_can_decode,
    normalize,
    usable_cores,
)
from regrade.predict.image_check import content_digest
from regrade.testsets import decode_gray_or_rgb, decode_pixels, open_images

MAX_THREADS = 4
"""More threads in one process do not prepare more images."""


FingerprintFields = tuple[int, int, int]
"""Digest, size and modification time, in the order of `FINGERPRINT`."""


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
    options: PreparationOptions,
    positions: Iterable[int],
    *,
    workers: int,
    ahead: int,
    processes: bool = False,
) -> Generator[Prepared, None, None]:
    """Prepare examples in the given order, at most ``ahead`` of them in advance.

    Workers are threads, or ``processes``, which open the images at their source themselves.
    """
    waiting: deque[Future[Prepared]] = deque()
    with ExitStack() as stack:
        prepare_example: Callable[[int], Prepared] = _Preparer(images, source, options)
        if processes:
            prepare_example = stack.enter_context(ProcessPerThread(prepare_example))
        pool = stack.enter_context(ThreadPoolExecutor(workers, thread_name_prefix="prepare"))
        try:
            for position in positions:
                waiting.append(pool.submit(prepare_example, position))
                if len(waiting) >= ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class _Preparer:
    """Prepares one example; when sent to another process, it opens the images there."""

    def __init__(self, images: Images, source: ImageSource, options: PreparationOptions) -> None:
        self._images = images
        self._source = source
        self._options = options

    def __call__(self, position: int) -> Prepared:
        stamp = self._images.stamp(position)  # before the content, so that a later change is noticed
        fingerprint = None
        try:
            stored = self._images.stored(position)
            fingerprint = (content_digest(stored), *(stamp or UNKNOWN_STAMP))
            image = self._images.rendered(position, stored)
        except UnreadableImage as error:
            return Prepared(position, None, str(error), fingerprint=fingerprint)
        return prepare(position, image, self._source, self._options, fingerprint)

    def __reduce__(self) -> tuple[object, ...]:
        return _reopened, (self._source, self._options)


def _reopened(source: ImageSource, options: PreparationOptions) -> _Preparer:
    return _Preparer(open_images(source), source, options)


def prepare(
    position: int,
    stored: StoredImage,
    source: ImageSource,
    options: PreparationOptions,
    fingerprint: FingerprintFields | None = None,
) -> Prepared:
    """Decode and preprocess one stored image, unless a GPU is to do it."""
    if options.resizer is Resizer.GPU and isinstance(stored, bytes):
        upright = source.orientation is Orientation.UPRIGHT
        if gpu_can_decode(stored, options.preprocessing, upright=upright):
            return Prepared(position, None, jpeg=stored, fingerprint=fingerprint)
    return _prepare_on_cpu(position, stored, source, options, fingerprint)


def finish_on_gpu(batch: Sequence[Prepared], source: ImageSource, options: PreparationOptions) -> list[Prepared]:
    """Decode the JPEGs of a batch on the GPU; those it cannot decode are prepared on the CPU."""
    files = {example.position: example.jpeg for example in batch if example.jpeg is not None}
    inputs = decode_and_crop_jpegs(list(files.values()), options.preprocessing, border=source.border)
    input_of = dict(zip(files, inputs, strict=True))
    finished = []
    for example in batch:
        if example.jpeg is None:
            finished.append(example)
        elif input_of[example.position] is None:
            finished.append(_prepare_on_cpu(example.position, example.jpeg, source, options, example.fingerprint))
        else:
            finished.append(replace(example, input=input_of[example.position], jpeg=None))
    return finished


def _prepare_on_cpu(
    position: int,
    stored: StoredImage,
    source: ImageSource,
    options: PreparationOptions,
    fingerprint: FingerprintFields | None,
) -> Prepared:
    try:
        decode = decode_gray_or_rgb if options.resizer is Resizer.PILLOW else decode_pixels
        image = decode(stored, orientation=source.orientation, border=source.border)
    except UnreadableImage as error:
        return Prepared(position, None, str(error), fingerprint=fingerprint)
    pixels = crop_and_resize(image, options.preprocessing, options.resizer)
    model_input = pixels if options.as_pixels else normalize(pixels, options.preprocessing)
    return Prepared(position, model_input, fingerprint=fingerprint)
