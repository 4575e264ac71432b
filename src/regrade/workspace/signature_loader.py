"""Signatures of a set's images: computed once, kept in the workspace, taken over where they are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from regrade.core import (
    Images,
    ImageSource,
    ImageSourceError,
    InputError,
    Signatures,
    UnreadableImage,
    joined_signatures,
)
from regrade.neighbors import ImageCollection, compute_signatures
from regrade.predict import default_workers
from regrade.store import SignatureKey, Store
from regrade.testsets import decode, open_images, pixels_of

PART_SIZE = 512
"""Images a part: what a stopped run loses at most."""


class ImageProgress(Protocol):
    """Goes through things, given how many there are, showing how far it is."""

    def __call__(self, seen: Iterable[Any], total: int) -> Iterable[Any]:
        """Go through them."""


def kept_signatures(store: Store, name: str, source: ImageSource, *, size: int, watch: ImageProgress) -> Signatures:
    """The signatures of a set, computed as far as the workspace does not have them yet.

    Images that an earlier, smaller or larger version of the set had at the same place are taken over from there.
    """
    signed = SignatureKey(source, size)
    found = store.signatures(name, signed)
    partial = store.partial_signatures(name, signed, part_size=PART_SIZE)
    if found is not None:
        partial.remove()  # a process that was killed after it had stored them leaves its parts
    else:
        with partial.alone():
            missing = partial.missing()
            known = list(store.signatures_elsewhere(name, signed)) if missing else []
            fresh = _signed_parts(source, size, missing, known, watch)
            for positions, part in zip(missing, fresh, strict=True):
                if positions.start == 0:
                    _check_mounted(name, source, part)
                partial.add(positions, part)
            store.add_signatures(name, signed, partial.parts())
            partial.remove()
        found = store.signatures(name, signed)
    if found is None:
        raise InputError(f"the signatures of {name} were removed while they were made: run again")
    return found


def _check_mounted(name: str, source: ImageSource, first: Signatures) -> None:
    """Raise where none of the first images can be read: what is kept of them would be kept for ever."""
    if len(first.unreadable) == len(first):
        position, reason = next(iter(first.unreadable.items()))
        raise ImageSourceError(
            f"none of the first {len(first):,} images of {name} can be read, for instance "
            f"{source.locations[position]} ({reason}): if {source.path} is not mounted, mount it and run again"
        )


def fresh_signatures(source: ImageSource, *, size: int, watch: ImageProgress) -> Signatures:
    """The signatures of images that no workspace knows; nothing is kept."""
    return next(iter(_signed_parts(source, size, [range(len(source.locations))], [], watch)))


def collection_of(found: Signatures, source: ImageSource) -> ImageCollection:
    """Signatures together with the images they are of."""
    return ImageCollection(found, _Decoder(source))


class _Decoder:
    """Decodes the image at a position."""

    def __init__(self, source: ImageSource) -> None:
        self._source = source
        self._images: Images = open_images(source)

    def __call__(self, position: int) -> NDArray[np.uint8]:
        stored = self._images.read(position)
        return pixels_of(decode(stored, orientation=self._source.orientation, border=self._source.border))


def _signed_parts(
    source: ImageSource,
    size: int,
    wanted: Sequence[range],
    known: Sequence[tuple[Signatures, dict[str, int]]],
    watch: ImageProgress,
) -> Iterator[Signatures]:
    """The signatures of each range of positions, images decoded by all cores."""
    if not wanted:
        return
    decoder, workers = _Decoder(source), default_workers()

    def one(position: int) -> Signatures:
        for there, rows in known:
            if (row := rows.get(source.locations[position])) is not None and row not in there.unreadable:
                return there[np.array([row])]
        try:
            return compute_signatures([decoder(position)], size=size)
        except UnreadableImage as error:
            return compute_signatures([error], size=size)

    def all_of_them() -> Iterator[Signatures]:
        with ThreadPoolExecutor(workers) as pool:
            for positions in wanted:
                step = 64 * workers  # few enough to keep memory flat
                for start in range(positions.start, positions.stop, step):
                    yield from pool.map(one, range(start, min(start + step, positions.stop)))

    signed = iter(watch(all_of_them(), sum(len(positions) for positions in wanted)))
    for positions in wanted:
        part = joined_signatures([next(signed) for _ in positions])
        if part.unreadable and not source.path.exists():
            raise InputError(f"the images are no longer at {source.path}: bring them back and run again")
        yield part
