"""Content hashes of a test set's images, computed from the decoded pixels, to find copies with other ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np

from regrade.core import FormatError, ImageSource, RegradeError, TestSet
from regrade.ledger import Ledger, Queue
from regrade.neighbors import no_progress, pixel_hash
from regrade.predict import default_workers
from regrade.store import SignatureKey, Store
from regrade.studies.leakage.signatures import ImageProgress
from regrade.testsets import decode, open_images, pixels_of

_BATCH = 512  # images that are read before their hashes are stored


class ImageContents:
    """The content hashes of one test set's images; each image is read at most once, stored signatures are reused."""

    def __init__(self, store: Store, test_set: TestSet) -> None:
        source = _source(store, test_set)
        self._hashes: dict[int, str | None] = {}
        if source is not None:
            with suppress(FormatError):  # if signatures are damaged, the images are read instead
                self._hashes = _signed_contents(store, test_set.name, source)
        self._read = None if source is None else _reader(source)

    @property
    def hashes(self) -> Mapping[int, str | None]:
        """The hashes computed so far, by position; None for images that cannot be read."""
        return self._hashes

    def of(self, positions: Sequence[int], progress: ImageProgress = no_progress) -> list[str | None]:
        """The hashes of the images at these positions, in this order; None for images that cannot be read."""
        missing = [position for position in dict.fromkeys(positions) if position not in self._hashes]
        if missing:
            contents = progress(self._hashed(missing), len(missing))
            self._hashes.update(zip(missing, contents, strict=True))
        return [self._hashes[position] for position in positions]

    def _hashed(self, positions: Sequence[int]) -> Iterator[str | None]:
        if self._read is None:
            yield from (None for _ in positions)
            return
        with ThreadPoolExecutor(default_workers()) as pool:
            for start in range(0, len(positions), _BATCH):  # few enough at once to keep memory flat
                yield from pool.map(self._read, positions[start : start + _BATCH])


def fill_contents(store: Store, ledger: Ledger, queue: Queue, *, progress: ImageProgress = no_progress) -> None:
    """Compute and store the hashes of a queue's images that have none yet; unreadable images are skipped."""
    for name in ledger.items.test_sets(queue):
        missing = ledger.items.images_without_content(queue, test_set=name)
        if missing and store.images.has(name):
            _fill(ledger, queue, store.test_set(name), missing, store=store, progress=progress)


def _fill(
    ledger: Ledger, queue: Queue, test_set: TestSet, missing: Sequence[str], *, store: Store, progress: ImageProgress
) -> None:
    examples = [example for example in missing if example in test_set.position_of]
    contents = ImageContents(store, test_set)
    for _ in progress(_filled(ledger, queue, test_set, examples, contents), len(examples)):
        pass


def _filled(
    ledger: Ledger, queue: Queue, test_set: TestSet, examples: Sequence[str], contents: ImageContents
) -> Iterator[str]:
    """Yield each example after its hash has been stored in the ledger."""
    for start in range(0, len(examples), _BATCH):
        step = examples[start : start + _BATCH]
        hashes = contents.of([test_set.position_of[example] for example in step])
        readable = {example: content for example, content in zip(step, hashes, strict=True) if content is not None}
        ledger.items.store_contents(queue, readable, test_set=test_set.name)
        yield from step


def _source(store: Store, test_set: TestSet) -> ImageSource | None:
    """The image source of a test set; None if there is none for this version of the set."""
    try:
        return store.images.read(test_set)
    except RegradeError:
        return None


def _reader(source: ImageSource) -> Callable[[int], str | None] | None:
    """A function that hashes the image at a position; None if the images cannot be opened."""
    try:
        images = open_images(source)
    except RegradeError:
        return None

    def read(position: int) -> str | None:
        try:
            image = decode(images.read(position), orientation=source.orientation, border=source.border)
            return pixel_hash(pixels_of(image)).hex()
        except RegradeError:
            return None

    return read


def _signed_contents(store: Store, name: str, source: ImageSource) -> dict[int, str | None]:
    """The hashes in a set's stored signatures; empty if there are none."""
    for size in sorted(store.signatures.sizes(name)):
        signatures = store.signatures.read(name, SignatureKey(source, size))
        if signatures is not None:
            readable = np.flatnonzero(signatures.readable).tolist()
            return {position: signatures.pixel_hashes[position].tobytes().hex() for position in readable}
    return {}
