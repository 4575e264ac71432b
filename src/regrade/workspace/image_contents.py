"""The contents of a test set's images: a hash of the decoded pixels, by which copies are found under other names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np

from regrade.core import FormatError, ImageSource, RegradeError, TestSet
from regrade.ledger import Ledger, Queue
from regrade.ledger.item_images import images_without_content, keep_contents
from regrade.neighbors import no_progress as unwatched
from regrade.neighbors import pixel_hash
from regrade.predict import default_workers
from regrade.store import SignatureKey, Store
from regrade.testsets import decode, open_images, pixels_of
from regrade.workspace.signature_loader import ImageProgress

_STEP = 512  # images that are read before their contents are kept


class ImageContents:
    """The contents of one test set's images, each read at most once; stored signatures spare the reading."""

    def __init__(self, store: Store, test_set: TestSet) -> None:
        source = _source(store, test_set)
        self._known: dict[int, str | None] = {}
        if source is not None:
            with suppress(FormatError):  # where signatures are damaged, the images themselves are read instead
                self._known = _signed_contents(store, test_set.name, source)
        self._read = None if source is None else _reader(source)

    @property
    def known(self) -> Mapping[int, str | None]:
        """The contents that are known so far, by position; none of images that cannot be read."""
        return self._known

    def of(self, positions: Sequence[int], watch: ImageProgress = unwatched) -> list[str | None]:
        """The contents of the images at some positions, in their order; none where an image cannot be read."""
        missing = [position for position in dict.fromkeys(positions) if position not in self._known]
        if missing:
            contents = watch(self._hashed(missing), len(missing))
            self._known.update(zip(missing, contents, strict=True))
        return [self._known[position] for position in positions]

    def _hashed(self, positions: Sequence[int]) -> Iterator[str | None]:
        if self._read is None:
            yield from (None for _ in positions)
            return
        with ThreadPoolExecutor(default_workers()) as pool:
            for start in range(0, len(positions), _STEP):  # few enough at once to keep memory flat
                yield from pool.map(self._read, positions[start : start + _STEP])


def fill_contents(store: Store, ledger: Ledger, queue: Queue, *, watch: ImageProgress = unwatched) -> None:
    """Read and keep the contents of those images of a queue that have none yet, as far as they can be read."""
    missing = images_without_content(ledger.engine, queue.id)
    if not missing or not store.has_images(queue.test_set):
        return
    test_set = store.test_set(queue.test_set)
    examples = [example for example in missing if example in test_set.position_of]
    contents = ImageContents(store, test_set)
    for _ in watch(_filled(ledger, queue, test_set, examples, contents), len(examples)):
        pass


def _filled(
    ledger: Ledger, queue: Queue, test_set: TestSet, examples: Sequence[str], contents: ImageContents
) -> Iterator[str]:
    """Examples one after another, each after its content is in the ledger."""
    for start in range(0, len(examples), _STEP):
        step = examples[start : start + _STEP]
        hashes = contents.of([test_set.position_of[example] for example in step])
        readable = {example: content for example, content in zip(step, hashes, strict=True) if content is not None}
        keep_contents(ledger.engine, queue.id, readable)
        yield from step


def _source(store: Store, test_set: TestSet) -> ImageSource | None:
    """Where the images of a test set are; none where that is not known, or known for another version of the set."""
    try:
        return store.images(test_set)
    except RegradeError:
        return None


def _reader(source: ImageSource) -> Callable[[int], str | None] | None:
    """What reads the content of an image; none where the images are not at hand."""
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
    """The contents that the signatures of a set hold, where any are stored."""
    for size in sorted(store.signature_sizes(name)):
        signatures = store.signatures(name, SignatureKey(source, size))
        if signatures is not None:
            readable = np.flatnonzero(signatures.readable).tolist()
            return {position: signatures.pixel_hashes[position].tobytes().hex() for position in readable}
    return {}
