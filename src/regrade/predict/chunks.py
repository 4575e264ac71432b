"""Read images in workers, a few at a time, into memory that they share with the process that runs the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from regrade.core import FINGERPRINT, UNKNOWN_STAMP, Fingerprints, Images, ImageSource
from regrade.executors.shared_memory import SharedMemory
from regrade.predict.prepare import PreparationOptions, Preparer, Ways

CHUNK = 32
"""Images that a worker reads at a time."""

Place = slice | bytes
"""Where the content of an image is in the shared memory, or the content itself."""

_NONE = (0, *UNKNOWN_STAMP)


@dataclass(frozen=True)
class ChunkRequest:
    """Images to read, the ways to prepare them, and their room in the shared memory: first byte, byte after it."""

    positions: range
    ways: Ways
    start: int
    stop: int


@dataclass(frozen=True)
class Chunk:
    """What a worker has read of some images.

    ``jpegs`` and ``pixels`` hold places in the shared memory, or bytes that did not fit there: JPEGs that a GPU is to
    decode, by position, and inputs (size, size, channels) that were prepared on the CPU, by way and position.
    ``errors`` are those of images that were to be prepared on the CPU.
    """

    positions: range
    fingerprints: Fingerprints
    jpegs: dict[int, Place] = field(default_factory=dict)
    pixels: dict[tuple[int, int], Place] = field(default_factory=dict)
    errors: dict[tuple[int, int], str] = field(default_factory=dict)


class ChunkReader:
    """Reads chunks; sent to another process, it opens the images and the shared memory there."""

    def __init__(
        self, images: Images, source: ImageSource, options: Sequence[PreparationOptions], memory: SharedMemory
    ) -> None:
        self._prepare = Preparer(images, source, options)
        self._memory = memory

    def __call__(self, request: ChunkRequest) -> Chunk:
        """Read and, where a GPU cannot do it, preprocess the images."""
        chunk = Chunk(request.positions, np.full(len(request.positions), np.array(_NONE, dtype=FINGERPRINT)))
        place = request.start
        for row, position in enumerate(request.positions):
            for way, prepared in self._prepare((position, request.ways)).items():
                if prepared.fingerprint is not None:
                    chunk.fingerprints[row] = prepared.fingerprint
                if prepared.jpeg is not None:
                    if position not in chunk.jpegs:
                        content = np.frombuffer(prepared.jpeg, dtype=np.uint8)
                        chunk.jpegs[position], place = self._kept(content, place, request.stop)
                elif prepared.input is not None:
                    content = np.ascontiguousarray(prepared.input).ravel()
                    chunk.pixels[way, position], place = self._kept(content, place, request.stop)
                else:
                    chunk.errors[way, position] = prepared.error
        return chunk

    def _kept(self, content: NDArray[np.uint8], start: int, stop: int) -> tuple[Place, int]:
        """Where some content is from now on, and the next free byte."""
        end = start + len(content)
        if end > stop:
            return content.tobytes(), start
        self._memory.content[start:end] = content
        return slice(start, end), end

    def content(self, stored: Place) -> NDArray[np.uint8]:
        """The bytes of one image of a chunk."""
        return np.frombuffer(stored, dtype=np.uint8) if isinstance(stored, bytes) else self._memory.content[stored]
