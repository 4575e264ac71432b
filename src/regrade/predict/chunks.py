"""Read images in workers, a few at a time, into memory that they share with the process that runs the model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from regrade.core import FINGERPRINT, UNKNOWN_STAMP, Fingerprints, Images, ImageSource
from regrade.executors.shared_memory import SharedMemory
from regrade.predict.prepare import PreparationOptions, Preparer

CHUNK = 32
"""Images that a worker reads at a time."""

_NONE = (0, *UNKNOWN_STAMP)


@dataclass(frozen=True)
class ChunkRequest:
    """Images to read, and the part of the shared memory for them: its first byte and the one after it."""

    positions: range
    start: int
    stop: int


@dataclass(frozen=True)
class Chunk:
    """What a worker has read of some images.

    ``jpegs`` and ``pixels`` map positions to places in the shared memory, or to bytes that did not fit there: JPEGs
    that a GPU is to decode, and inputs (size, size, channels) that were prepared on the CPU. ``errors`` are of the
    rest.
    """

    positions: range
    fingerprints: Fingerprints
    jpegs: dict[int, slice | bytes] = field(default_factory=dict)
    pixels: dict[int, slice | bytes] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)


class ChunkReader:
    """Reads chunks; sent to another process, it opens the images and the shared memory there."""

    def __init__(self, images: Images, source: ImageSource, options: PreparationOptions, memory: SharedMemory) -> None:
        self._prepare = Preparer(images, source, options)
        self._memory = memory

    def __call__(self, request: ChunkRequest) -> Chunk:
        """Read and, where a GPU cannot do it, preprocess the images."""
        chunk = Chunk(request.positions, np.full(len(request.positions), np.array(_NONE, dtype=FINGERPRINT)))
        place = request.start
        for row, position in enumerate(request.positions):
            prepared = self._prepare(position)
            if prepared.fingerprint is not None:
                chunk.fingerprints[row] = prepared.fingerprint
            if prepared.jpeg is not None:
                content, kind = np.frombuffer(prepared.jpeg, dtype=np.uint8), chunk.jpegs
            elif prepared.input is not None:
                content, kind = np.ascontiguousarray(prepared.input).ravel(), chunk.pixels
            else:
                chunk.errors[position] = prepared.error
                continue
            end = place + len(content)
            if end > request.stop:
                kind[position] = content.tobytes()
                continue
            self._memory.content[place:end] = content
            kind[position] = slice(place, end)
            place = end
        return chunk

    def content(self, stored: slice | bytes) -> NDArray[np.uint8]:
        """The bytes of one image of a chunk."""
        return np.frombuffer(stored, dtype=np.uint8) if isinstance(stored, bytes) else self._memory.content[stored]
