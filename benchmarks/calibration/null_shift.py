"""Null checks of the findings of `study shift`: images of both sets have the same distribution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import labeled_set
from regrade.core.arrays import FloatArray
from regrade.studies import Shift
from regrade.studies.shift.analysis import embedding_shift
from regrade.studies.shift.images import SetEmbeddings

_TOLD_APART = "shift: told apart"


@null_check(_TOLD_APART, case="2 models, 60 images of each set, 20 features")
def two_models(rng: np.random.Generator) -> Shift:
    return shift(rng, [rng.normal(size=(120, 20)) for _ in range(2)])


@null_check(_TOLD_APART, case="30 images of each set, 100 features")
def many_features(rng: np.random.Generator) -> Shift:
    return shift(rng, [rng.normal(size=(60, 100))])


@null_check(_TOLD_APART, case="20 similar images of each of 5 authors")
def similar_images_of_authors(rng: np.random.Generator) -> Shift:
    author = np.arange(200) // 20
    return shift(rng, [rng.normal(size=(10, 20))[author] + 0.2 * rng.normal(size=(200, 20))], per_author=20)


def shift(rng: np.random.Generator, models: list[FloatArray], *, per_author: int = 1) -> Shift:
    """The first half of the embeddings (n, d) of each model is the new set, with other authors than the second half."""
    images = len(models[0]) // 2
    sets = []
    for name in ("new", "original"):
        authors = tuple(f"{name} {image // per_author}" for image in range(images))
        sets.append(replace(labeled_set(images, author=authors), name=name))
    places = np.arange(images)
    rows = [
        embedding_shift(
            f"model {number}",
            SetEmbeddings(sets[0], places, embeddings[:images]),
            SetEmbeddings(sets[1], places, embeddings[images:]),
            column="author",
            rng=rng,
            models=len(models),
        )
        for number, embeddings in enumerate(models)
    ]
    return Shift("original", "new", 0, 1, "author", tuple(rows), 1)
