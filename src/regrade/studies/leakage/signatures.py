"""Signatures of a set's images: computed once, stored in the workspace, and reused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

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
from regrade.core.cores import usable_cores
from regrade.neighbors import Decoder, ImageCollection, compute_signatures
from regrade.store import SignatureKey
from regrade.testsets import decode, open_images, pixels_of

if TYPE_CHECKING:
    from regrade.store import Store

PART_SIZE = 512
"""Images per part; an interrupted run loses at most one part."""


class ImageProgress(Protocol):
    """Iterates over items, given their number, and shows progress."""

    def __call__(self, items: Iterable[Any], total: int, /) -> Iterable[Any]:
        """Yield the items."""


def kept_signatures(store: Store, name: str, source: ImageSource, *, size: int, progress: ImageProgress) -> Signatures:
    """The signatures of a set; those that are not stored are computed and stored.

    Signatures of images at the same location in another version of the set are reused.
    """
    key = SignatureKey(source, size)
    stored = store.signatures.read(name, key)
    partial = store.signatures.unfinished(name, key, part_size=PART_SIZE)
    if stored is not None:
        partial.remove()  # parts left by a process that was killed after storing
    else:
        with partial.locked():
            missing = partial.missing()
            stored_elsewhere = list(store.signatures.reusable(name, key)) if missing else []
            fresh = _signed_parts(source, size, missing, stored_elsewhere, progress)
            for positions, part in zip(missing, fresh, strict=True):
                if positions.start == 0:
                    _check_readable(name, source, part)
                partial.add(positions, part)
            store.signatures.add(partial.parts(), (name, key))
            partial.remove()
        stored = store.signatures.read(name, key)
    if stored is None:
        raise InputError(f"the signatures of {name} were removed by another process: run again")
    return stored


def _check_readable(name: str, source: ImageSource, first: Signatures) -> None:
    """Raise if none of the first images can be read, instead of storing them as unreadable."""
    if len(first.unreadable) == len(first):
        position, reason = next(iter(first.unreadable.items()))
        raise ImageSourceError(
            f"none of the first {len(first):,} images of {name} can be read, for instance "
            f"{source.locations[position]} ({reason}): if {source.path} is not mounted, mount it and run again"
        )


def fresh_signatures(source: ImageSource, *, size: int, progress: ImageProgress) -> Signatures:
    """Compute the signatures of images outside a workspace; nothing is stored."""
    return next(iter(_signed_parts(source, size, [range(len(source.locations))], [], progress)))


def collection_of(image_signatures: Signatures, source: ImageSource) -> ImageCollection:
    """Signatures together with their images."""
    return ImageCollection(image_signatures, _ImageDecoder(source))


def decoder_of(source: ImageSource) -> Decoder:
    """What decodes the image at a position of a source."""
    return _ImageDecoder(source)


class _ImageDecoder:
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
    position_ranges: Sequence[range],
    stored_elsewhere: Sequence[tuple[Signatures, dict[str, int]]],
    progress: ImageProgress,
) -> Iterator[Signatures]:
    """Yield the signatures of each range of positions; images are decoded in parallel."""
    if not position_ranges:
        return
    decoder, workers = _ImageDecoder(source), usable_cores()

    def signatures_at(position: int) -> Signatures:
        for earlier, rows in stored_elsewhere:
            if (row := rows.get(source.locations[position])) is not None and row not in earlier.unreadable:
                return earlier[np.array([row])]
        try:
            return compute_signatures([decoder(position)], size=size)
        except UnreadableImage as error:
            return compute_signatures([error], size=size)

    def all_signatures() -> Iterator[Signatures]:
        with ThreadPoolExecutor(workers) as pool:
            for positions in position_ranges:
                step = 64 * workers  # small enough to bound memory
                for start in range(positions.start, positions.stop, step):
                    yield from pool.map(signatures_at, range(start, min(start + step, positions.stop)))

    signed = iter(progress(all_signatures(), sum(len(positions) for positions in position_ranges)))
    for positions in position_ranges:
        part = joined_signatures([next(signed) for _ in positions])
        if part.unreadable and not source.path.exists():
            raise InputError(f"the images are no longer at {source.path}: restore them and run again")
        yield part
