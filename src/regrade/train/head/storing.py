"""The predictions of a head, stored as those of any other model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regrade.core import NO_ANSWER, AlreadyStored, InputError, ModelSpec, Predictions, ScoreKind, Ties
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.predictions import STORED_K
from regrade.metrics import ties_across, top_k_classes
from regrade.models.head_model import HeadFile
from regrade.store import PredictionSource, Store, manifest_of
from regrade.train.head.inputs import StoredEmbeddings

_ROWS = 1 << 13  # that are scored at a time


def is_stored(store: Store, test_set: str, spec: ModelSpec) -> bool:
    """Whether the predictions of this version of a head are stored; raise if those of another one are."""
    if not store.predictions.has(test_set, spec.name):
        return False
    if store.predictions.manifest(test_set, spec.name).model.weights_hash != spec.weights_hash:
        raise AlreadyStored(
            f"predictions of another {spec.name} on {test_set} are stored: choose another name, or first "
            f"{store.predictions.removal_command(test_set, spec.name)}"
        )
    return True


def head_scores(file: HeadFile, stored: StoredEmbeddings) -> FloatArray:
    """Shape (n, c): the scores of a head on a set in single precision; NaN for images that could not be read."""
    scores = np.full((len(stored.readable), len(file.class_space)), np.nan, dtype=np.float32)
    places = np.flatnonzero(stored.readable)
    for start in range(0, len(places), _ROWS):
        rows = places[start : start + _ROWS]
        base_scores = None if stored.scores is None else stored.scores[rows]
        scores[rows] = file.head.scores(stored.embeddings[rows], base_scores)
    return scores


def store_scores(
    store: Store, stored: StoredEmbeddings, file: HeadFile, spec: ModelSpec, scores: FloatArray, *, note: str
) -> None:
    """Store the scores (n, c) of a head on a set, with the provenance of the embeddings that they come from."""
    test_set, readable = stored.test_set, stored.readable
    if np.abs(scores[readable]).max(initial=0) > np.finfo(np.float16).max:
        raise InputError(f"{spec.name} has scores too large for half precision on {test_set.name}: give a larger --l2")
    width = min(STORED_K, scores.shape[1])
    classes = np.full((len(scores), width), NO_ANSWER)
    best = np.full((len(scores), width), np.nan, dtype=np.float32)
    classes[readable] = top_k_classes(scores[readable], k=width)
    best[readable] = np.take_along_axis(scores[readable], classes[readable], axis=1)
    predictions = Predictions(
        spec.name, test_set.name, file.class_space.name, classes, best, scores.astype(np.float16), ScoreKind.LOGITS,
        fingerprints=stored.predictions.fingerprints, ties=_ties(scores, classes, readable),
    )  # fmt: skip
    manifest = replace(
        manifest_of(predictions, test_set, file.class_space, PredictionSource()),
        model=spec,
        runtime=f"{stored.manifest.runtime}, head" if stored.manifest.runtime else "head",
        runtime_note=note,
        unreadable=stored.manifest.unreadable,
    )
    store.add_predictions(test_set, [(predictions, manifest)], file.class_space)


def _ties(scores: FloatArray, classes: IntArray, readable: BoolArray) -> Ties | None:
    ties = ties_across(scores[readable], classes[readable])
    return None if ties is None else Ties(np.flatnonzero(readable)[ties.rows], ties.bits)
