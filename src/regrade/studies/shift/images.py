"""The images that are told apart: their embeddings by a model, the set of each, and which belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import InputError, TestSet
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.unknown_values import is_unknown


@dataclass(frozen=True, eq=False)
class SetEmbeddings:
    """Images of a test set, by their ``positions`` (n,), and the ``embeddings`` (n, d) of a model for them."""

    test_set: TestSet
    positions: IntArray
    embeddings: FloatArray


@dataclass(frozen=True, eq=False)
class PooledEmbeddings:
    """Images of a new and of an original set, the new ones first.

    ``embeddings`` are (n, d), ``positions`` (n,) in their sets. Images of one of the ``clusters`` (n,) belong together.
    Images without finite embeddings, such as those that could not be read, are left out.
    """

    embeddings: FloatArray
    is_new: BoolArray
    clusters: IntArray
    positions: IntArray


def pooled_embeddings(
    model: str, new: SetEmbeddings, original: SetEmbeddings, *, column: str | None
) -> PooledEmbeddings:
    """The images of both sets; those with one value of a group ``column`` belong together.

    Raises if the embeddings of the sets differ in width.
    """
    sides = (new, original)
    widths = [side.embeddings.shape[1] for side in sides]
    if widths[0] != widths[1]:
        raise InputError(
            f"embeddings of {model} have {widths[0]:,} values on {new.test_set.name} and {widths[1]:,} on "
            f"{original.test_set.name}: predict both sets with the same model"
        )
    embeddings = np.concatenate([side.embeddings for side in sides])
    positions = np.concatenate([side.positions for side in sides])
    clusters = np.unique([name for side in sides for name in _cluster_names(side, column)], return_inverse=True)[1]
    is_new, usable = np.arange(len(embeddings)) < len(new.positions), np.isfinite(embeddings).all(axis=1)
    return PooledEmbeddings(embeddings[usable], is_new[usable], clusters[usable], positions[usable])


def _cluster_names(side: SetEmbeddings, column: str | None) -> list[str]:
    """The value of each image; an image without one is on its own."""
    values = side.test_set.group_columns.get(column or "", ("",) * len(side.test_set))
    return [
        f"\0{side.test_set.name} {position}" if is_unknown(values[position]) else values[position]
        for position in side.positions.tolist()
    ]
