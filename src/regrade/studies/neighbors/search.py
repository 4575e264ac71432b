"""The search for the nearest training images by a model's embeddings, and for duplicates among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regrade.core import Distance, NearPairs, UnreadableImage
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.cores import on_all_cores
from regrade.core.training_neighbors import NO_NEIGHBOR, Duplicate, NeighborQuestion, TrainingNeighbors
from regrade.neighbors import Decoder, Metric, NeighborEngine, nearest, pixel_hash, with_confirmation
from regrade.studies.leakage.signatures import ImageProgress

_BLOCK = 64  # pairs per task


def find_neighbors(
    embeddings: tuple[FloatArray, FloatArray],
    question: NeighborQuestion,
    *,
    decoders: tuple[Decoder, Decoder] | None,
    engine: NeighborEngine,
    progress: ImageProgress,
) -> TrainingNeighbors:
    """Search the training images; the ``embeddings`` are those of the test set (n, d) and of the training set (m, d).

    Pairs within the threshold of the question are compared by their pixels, which the ``decoders`` of both sets read;
    None if a set has no images.
    """
    own, training = embeddings
    result = nearest(
        own,
        training,
        k=question.neighbors,
        metric=Metric.COSINE,
        engine=engine,
        progress=lambda parts: progress(parts, len(parts)),
    )
    duplicates = np.zeros(result.indices.shape, dtype=np.int8)
    if decoders is not None:
        rows, places = np.nonzero((result.indices != NO_NEIGHBOR) & (result.distances <= question.threshold))
        pairs = rows, result.indices[rows, places], result.distances[rows, places]
        duplicates[rows, places] = _duplicates(pairs, len(own), question.threshold, decoders, progress)
    return TrainingNeighbors(question, result.indices, result.distances, duplicates, decoders is not None)


def _duplicates(
    pairs: tuple[IntArray, IntArray, FloatArray],
    images: int,
    threshold: float,
    decoders: tuple[Decoder, Decoder],
    progress: ImageProgress,
) -> NDArray[np.int8]:
    """Shape (p,): the values of `Duplicate` of pairs (p,) of an image and a training image, and their distances."""
    first, second, distances = pairs
    if not len(first):
        return np.zeros(0, dtype=np.int8)
    near = NearPairs(
        Distance.FEATURES,
        threshold,
        first,
        second,
        distances,
        np.zeros(len(first), dtype=bool),
        np.zeros(images, dtype=bool),
        np.full(images, np.nan),
    )
    (confirmed,) = with_confirmation([near], *decoders, progress=progress)
    marks = np.where(np.asarray(confirmed.confirmed), Duplicate.NEAR, Duplicate.NONE).astype(np.int8)
    marks[_have_equal_pixels(first, second, decoders)] = Duplicate.EXACT
    return marks


def _have_equal_pixels(first: IntArray, second: IntArray, decoders: tuple[Decoder, Decoder]) -> NDArray[np.bool_]:
    hashes = [
        _hashes(np.unique(positions), decoder) for positions, decoder in zip((first, second), decoders, strict=True)
    ]
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    equal = [hashes[0][i] is not None and hashes[0][i] == hashes[1][j] for i, j in pairs]
    return np.array(equal, dtype=bool)


def _hashes(positions: IntArray, decode: Decoder) -> dict[int, bytes | None]:
    """The hash of the pixels of each image; None for an unreadable one."""

    def hashed(start: int) -> list[bytes | None]:
        return [_hash(decode, position) for position in positions[start : start + _BLOCK].tolist()]

    blocks = on_all_cores(hashed, range(0, len(positions), _BLOCK))
    return dict(zip(positions.tolist(), (each for block in blocks for each in block), strict=True))


def _hash(decode: Decoder, position: int) -> bytes | None:
    try:
        return pixel_hash(decode(position))
    except UnreadableImage:
        return None
